"""LLVM's passes over a module."""

from __future__ import annotations

from metalloid.llvm.library import Owned, call
from metalloid.llvm.machine import Machine
from metalloid.llvm.module import Module


class _Options(Owned):
    dispose = "DisposePipelineTuningOptions"


class Builder(Owned):
    """What passes know of the machine, and of how much is wanted. `vectors` says whether LLVM may make any, where that
    is not to be as LLVM has it."""

    dispose = "DisposePassBuilder"

    def __init__(self, machine: Machine, level: int, vectors: bool | None = None) -> None:
        options = _Options(call("CreatePipelineTuningOptions"))
        if vectors is not None:
            for what in ("SLPVectorization", "LoopVectorization", "LoopInterleaving"):
                call(f"PTOSet{what}", options, vectors)
        super().__init__(call("CreatePassBuilder", machine, options))
        self._level, self._kept = level, (machine, options)  # which the passes look at

    def pipeline(self) -> Passes:
        """LLVM's own sequence of this level."""
        return Passes(made=call("buildPerModuleDefaultPipeline", self, self._level))


class Passes(Owned):
    """A sequence of passes by LLVM's names, `SROA` or `InstCombine`."""

    dispose = "DisposeNewModulePassManger"  # so it is spelled there

    def __init__(self, *names: str, made: int | None = None) -> None:
        super().__init__(made or call("CreateNewModulePassManager"))
        for name in names:
            call(f"module_Add{name}Pass", self)

    def run(self, module: Module, builder: Builder) -> None:
        call("RunNewModulePassManager", self, module, builder)
