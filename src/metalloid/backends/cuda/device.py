"""An NVIDIA GPU as a device. Guarded as on the CPU; checked runs are the oracle's and the CPU's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metalloid.backends.backend import Backend, Batch, Checked, Program, Recorded, Span, Stage
from metalloid.backends.base import Guard, Memory, Triple
from metalloid.errors import NotWatched
from metalloid.types import Signature

if TYPE_CHECKING:
    from metalloid.backends.line_table import LineTable
    from metalloid.ir.lines import Lined


class Cuda(Backend):
    name = "cuda"

    def missing(self) -> str:
        from metalloid.backends.cuda import driver

        return driver.missing()

    @property
    def stages(self) -> Mapping[str, Stage]:
        return {"ptx": _ptx, "sass": _sass}

    def lined(self, stage: str, ir: str, size: Triple) -> Lined:
        from metalloid.backends.line_table import LineTable

        if stage == "sass":
            return super().lined(stage, ir, size)
        table = LineTable()
        return table.machine_code(_ptx(ir, size, table))

    @property
    def multiprocessors(self) -> int:
        from metalloid.backends.cuda.program import memory

        return memory().gpu.processors

    unified = False

    def adopt(self, array: Memory) -> Memory:
        from metalloid.backends.cuda.program import memory

        return memory().adopt(array)

    def host(self, array: Memory) -> Memory:
        from metalloid.backends.cuda.program import memory

        return memory().host(array)

    def taken(self, value: object) -> Memory | None:
        from metalloid.backends.cuda.foreign import taken

        return taken(value)

    def exported(self, array: Memory) -> Mapping[str, Any] | None:
        from metalloid.backends.cuda.foreign import exported

        return exported(array)

    def program(self, ir: str, signature: Signature) -> Program:
        from metalloid.backends.cuda.program import CudaProgram

        return CudaProgram(ir, signature)

    def checked(self, ir: str, signature: Signature) -> Checked:
        raise NotWatched("this device runs no checked launches; the interpreter does")

    def batch(self, launches: Sequence[Recorded], guard: Guard, threads: int) -> Batch:
        from metalloid.backends.cuda.graph import Graph, OneByOne, captures
        from metalloid.backends.cuda.program import memory

        return (
            Graph(launches, bool(guard), memory()) if captures(launches, guard) else OneByOne(launches, guard)
        )

    def span(self) -> Span:
        from metalloid.backends.cuda.program import memory
        from metalloid.backends.cuda.span import CudaSpan

        return CudaSpan(memory().gpu)

    def facts(self) -> Mapping[str, object]:
        from metalloid.backends.cuda.program import memory

        gpu = memory().gpu
        return {"processor": f"{gpu.name} ({gpu.processor})", "threads": gpu.threads}


def _ptx(ir: str, size: Triple, table: LineTable | None = None, processor: str = "sm_90") -> str:
    from metalloid.backends.cuda.ptx import compile_ptx
    from metalloid.backends.cuda.variant import Variant

    return compile_ptx(ir, processor, Variant(size, flat=False, apart=True, even=True), table).text


def _sass(ir: str, size: Triple) -> str:
    from metalloid.backends.cuda.driver import missing
    from metalloid.backends.cuda.program import memory
    from metalloid.backends.cuda.sass import disassembled

    processor = "sm_90" if missing() else memory().gpu.processor
    return disassembled(_ptx(ir, size, processor=processor), processor)


BACKEND = Cuda()
