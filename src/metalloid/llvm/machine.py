"""A processor that LLVM writes code for."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from metalloid.llvm.library import Owned, call, keep_at_exit, told
from metalloid.llvm.module import Module


def set_option(text: str) -> None:
    """One of LLVM's options, as on a command line."""
    call("SetCommandLine", "metalloid", text)


@cache
def start() -> None:
    """This machine's own processor."""
    call("InitializeNativeTarget")
    call("InitializeNativeAsmPrinter")
    keep_at_exit()  # once more: LLVM has made objects of its own meanwhile


@cache
def start_all() -> None:
    """Every processor that LLVM knows."""
    for part in ("TargetInfos", "Targets", "TargetMCs", "AsmPrinters"):
        call(f"InitializeAll{part}")


class _Layout(Owned):
    dispose = "DisposeTargetData"


class Machine(Owned):
    """`start` or `start_all` comes before."""

    dispose = "DisposeTargetMachine"

    def __init__(
        self, triple: str, cpu: str = "", features: str = "", level: int = 2, loaded: bool = False
    ) -> None:
        """`loaded` code goes into this process, wherever there is room."""
        target, why = told("GetTargetFromTriple", triple)
        if not target:
            raise RuntimeError(why)
        kind = "-elf" if os.name == "nt" else ""  # what MCJIT can load
        where = "pic" if loaded else "default"
        named = triple + kind, cpu, features, level, where, "jitdefault"
        super().__init__(call("CreateTargetMachine", target, *named, 0, int(loaded), ""))

    @property
    def triple(self) -> str:
        return told("GetTargetMachineTriple", self)[1]

    @property
    def layout(self) -> str:
        """How data lies in memory, in a module's words."""
        return told("CopyStringRepOfTargetData", _Layout(call("CreateTargetMachineData", self)))[1]

    def emit_object(self, module: Module) -> bytes:
        return self._emit(module, 1)

    def emit_assembly(self, module: Module) -> str:
        return self._emit(module, 0).decode()

    def _emit(self, module: Module, kind: int) -> bytes:
        buffer, why = told("TargetMachineEmitToMemory", self, module, kind)
        if not buffer:
            raise RuntimeError(why)
        try:
            return ctypes.string_at(call("GetBufferStart", buffer), call("GetBufferSize", buffer))
        finally:
            call("DisposeMemoryBuffer", buffer)
