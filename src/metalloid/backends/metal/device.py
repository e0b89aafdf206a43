"""An Apple GPU as a device: Metal compiles a kernel's own text. Nothing is guarded there, and checks run on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.backends.backend import Backend, Batch, Checked, Program, Recorded, Stage
from metalloid.backends.base import Guard
from metalloid.errors import DeviceError, NotWatched
from metalloid.source import Constant, Source
from metalloid.types import Signature


class Metal(Backend):
    name = "metal"

    def missing(self) -> str:
        from metalloid.backends.metal import objc

        return objc.missing()

    @property
    def stages(self) -> Mapping[str, Stage]:
        return {}

    def from_source(
        self, source: Source, name: str, constants: Mapping[str | int, Constant], signature: Signature
    ) -> Program | None:
        from metalloid.backends.metal.program import MetalProgram

        return MetalProgram(source, name, constants, signature)

    def program(self, ir: str, signature: Signature) -> Program:
        raise DeviceError(f"[launch {signature.name}] an Apple GPU takes a kernel's text; there is only IR.")

    def checked(self, ir: str, signature: Signature) -> Checked:
        raise NotWatched("an Apple GPU has no shadow memory; the interpreter watches")

    def batch(self, launches: Sequence[Recorded], guard: Guard, threads: int) -> Batch:
        return _OneByOne(launches, guard)

    def facts(self) -> Mapping[str, object]:
        from metalloid.backends.metal import objc

        return {"processor": str(objc.gpu().name()), "threads": 1}


class _OneByOne:
    """Launches in their order."""

    def __init__(self, launches: Sequence[Recorded], guard: Guard) -> None:
        self._launches, self._guard = launches, guard

    def run(self) -> None:
        for one in self._launches:
            one.program.run(one.launch, self._guard, on_log=one.on_log)


BACKEND = Metal()
