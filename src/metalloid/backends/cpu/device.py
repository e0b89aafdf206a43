"""The CPU as a device."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from metalloid import background, config, garbage
from metalloid.backends.backend import Backend, Batch, Checked, Program, Recorded, Stage
from metalloid.types import Signature

if TYPE_CHECKING:
    from metalloid.backends.base import Guard, Triple
    from metalloid.ir.lines import Lined

_STAGES = (
    "canon.ll",
    "regions.ll",
    "vec.ll",
    "asm",
)  # a table of names: looking at it should load no compiler


class Cpu(Backend):
    name = "cpu"

    def warm_up(self) -> None:
        # Imported here and not in the background, where it would take turns with the front end's own imports: the
        # sooner the runtime's compiler starts, the better.
        from metalloid.backends.cpu import native

        background.begin("runtime", native.runtime)
        if background.may_import():
            # The front end imports these at the same time, and a package that imports its own parts must not be
            # imported by two threads at once: each may wait for the other, and Python lets one of them fail.
            import metalloid.ir.intrinsics  # noqa: F401

            background.begin("passes", _load_passes)

    @property
    def byte_dots(self) -> Collection[str]:
        from metalloid.backends.cpu.codegen import host

        return host().info.dot_signs

    @property
    def stages(self) -> Mapping[str, Stage]:
        return {name: partial(_stage, name) for name in _STAGES}

    def lined(self, stage: str, ir: str, size: Triple) -> Lined:
        from metalloid.backends.cpu import codegen
        from metalloid.backends.cpu.pipeline import LINED

        known = LINED.get(stage)
        return known(ir, size, codegen.host()) if known is not None else super().lined(stage, ir, size)

    def program(self, ir: str, signature: Signature) -> Program:
        with garbage.imports():
            from metalloid.backends.cpu.build import cpu_program, patience

        return cpu_program(ir, signature, patience=patience(ir))

    def checked(self, ir: str, signature: Signature) -> Checked:
        from metalloid.backends.cpu.build import checked_program

        return checked_program(ir, signature)

    def batch(self, launches: Sequence[Recorded], guard: Guard, threads: int) -> Batch:
        from metalloid.backends.cpu.batch import CpuBatch

        return CpuBatch(launches, guard, threads)

    def facts(self) -> Mapping[str, object]:
        from metalloid.backends.cpu.codegen import host

        return {
            "processor": host().cpu,
            "threads": config.threads(),
            "vector_bits": 8 * host().info.vector_bytes,
        }


def _load_passes() -> None:
    with garbage.imports():
        import metalloid.backends.cpu.pipeline  # noqa: F401


def _stage(name: str, ir: str, size: Triple) -> str:
    from metalloid.backends.cpu import codegen
    from metalloid.backends.cpu.pipeline import STAGES

    return STAGES[name](ir, size, codegen.host())


BACKEND = Cpu()
