"""Machine code in this process."""

from __future__ import annotations

import platform

from metalloid.llvm.library import Owned, call, told
from metalloid.llvm.machine import Machine
from metalloid.llvm.module import empty


class _Object(Owned):
    dispose = "DisposeObjectFile"


class Engine(Owned):
    """The code of one object file, which must stay as long: LLVM reads it where it is."""

    dispose = "DisposeExecutionEngine"

    def __init__(self, machine: Machine, code: bytes) -> None:
        arm = platform.machine().lower() in (
            "arm64",
            "aarch64",
        )  # llvmlite's memory keeps code together there
        module = empty()
        made, why = told("CreateMCJITCompiler", module, machine, arm)
        if not made:
            raise RuntimeError(why)
        super().__init__(made)
        module.owned = machine.owned = False  # the engine has them
        call("MCJITAddObjectFile", self, _Object(call("CreateObjectFile", code, len(code))))
        call("FinalizeObject", self)

    def function(self, name: str) -> int:
        """Its address."""
        return int(call("GetFunctionAddress", self, name))

    def variable(self, name: str) -> int:
        return int(call("GetGlobalValueAddress", self, name))


def add_symbol(name: str, address: int) -> None:
    """Make a native function known to code that is loaded later."""
    call("AddSymbol", name, address)
