"""Modules: read from text, verified, printed."""

from __future__ import annotations

from metalloid.llvm.library import Owned, call, told


class Context(Owned):
    """Types and constants of modules, so that they need not share them with others."""

    dispose = "ContextDispose"


class Module(Owned):
    """A module and the context that it lives in; None for LLVM's global one, which stays."""

    dispose = "DisposeModule"

    def __init__(self, pointer: int | None, context: Context | None) -> None:
        super().__init__(pointer)
        self._context = context  # goes after the module

    def verify(self) -> None:
        broken, why = told("VerifyModule", self)
        if broken:
            raise RuntimeError(why)

    def __str__(self) -> str:
        return told("PrintModuleToString", self)[1]


def parse(text: str) -> Module:
    """A module in a context of its own: in a shared one LLVM renames struct types that meet a namesake."""
    context = Context(call("ContextCreate"))
    made, why = told("ParseAssembly", context, text)
    if why or not made:
        raise RuntimeError(f"LLVM IR parsing error\n{why}")
    return Module(made, context)


def empty() -> Module:
    """A module without anything, in the global context: an engine holds it for longer than its maker."""
    return Module(told("ParseAssembly", call("GetGlobalContext"), "")[0], None)
