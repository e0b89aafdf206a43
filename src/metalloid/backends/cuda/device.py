"""An NVIDIA GPU as a device. Guarded as on the CPU; checked runs are the oracle's and the CPU's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.backends.backend import Backend, Batch, Checked, Program, Recorded, Stage
from metalloid.backends.base import Guard, Triple
from metalloid.errors import NotWatched
from metalloid.types import Signature


class Cuda(Backend):
    name = "cuda"

    def missing(self) -> str:
        from metalloid.backends.cuda import driver

        return driver.missing()

    @property
    def stages(self) -> Mapping[str, Stage]:
        return {"ptx": _ptx}

    def program(self, ir: str, signature: Signature) -> Program:
        from metalloid.backends.cuda.program import CudaProgram

        return CudaProgram(ir, signature)

    def checked(self, ir: str, signature: Signature) -> Checked:
        raise NotWatched("this device runs no checked launches; the interpreter does")

    def batch(self, launches: Sequence[Recorded], guard: Guard, threads: int) -> Batch:
        return _OneByOne(launches, guard)

    def facts(self) -> Mapping[str, object]:
        from metalloid.backends.cuda.program import gpu

        return {"processor": f"{gpu().name} ({gpu().processor})", "threads": gpu().threads}


class _OneByOne:
    """Launches in their order."""

    def __init__(self, launches: Sequence[Recorded], guard: Guard) -> None:
        self._launches, self._guard = launches, guard

    def run(self) -> None:
        for one in self._launches:
            one.program.run(one.launch, self._guard, on_log=one.on_log)


def _ptx(ir: str, size: Triple) -> str:
    from metalloid.backends.cuda.ptx import compile_ptx

    return compile_ptx(ir).text


BACKEND = Cuda()
