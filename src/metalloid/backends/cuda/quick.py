"""The shortest way to a launch on a GPU: a record that is ready but for its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalloid.backends.backend import NativeLaunch
from metalloid.backends.base import Launch, LogMessage
from metalloid.backends.cuda.code import Loaded
from metalloid.backends.cuda.launch import Bound, Room, Shape, fill, start
from metalloid.backends.cuda.memory import Memory
from metalloid.backends.cuda.span import CudaSpan, Finish
from metalloid.backends.specialize import may_copy


class CudaQuick:
    """One kernel, one size of launch. `pick` chooses code for memory, `finish` raises what stopped a launch."""

    __slots__ = ("_finish", "_memory", "_pick", "_shape", "_written", "parameters")

    def __init__(
        self,
        memory: Memory,
        shape: Shape,
        written: Sequence[bool],
        parameters: tuple[int, ...],
        pick: Callable[[list[int], Sequence[int]], tuple[Loaded, bool]],
        finish: Finish,
    ) -> None:
        self._memory, self._shape, self._written = memory, shape, written
        self.parameters, self._pick, self._finish = parameters, pick, finish

    @property
    def epoch(self) -> int:
        return self._memory.epoch

    def room(self) -> Room:
        self._memory.gpu.enter()
        return Room(self._memory.gpu.told(), self._shape)

    def fits(self, addresses: Sequence[int], lengths: Sequence[int], below: Sequence[int]) -> bool:
        return may_copy(self.parameters, addresses, lengths, below.__getitem__)

    def find(self, room: Room, addresses: list[int], lengths: Sequence[int]) -> tuple[Loaded, bool]:
        return self._pick(addresses, lengths)

    def start(
        self,
        room: Room,
        code: Loaded,
        addresses: list[int],
        lengths: Sequence[int],
        on_log: Callable[[LogMessage], None] | None,
        told: Callable[[], Launch],
        below: Sequence[int] | None = None,
    ) -> None:
        memory = self._memory
        memory.gpu.enter()
        found = memory.resident(addresses, lengths, self._written, code.variant.inlined)
        span = memory.gpu.span
        if found is not None and isinstance(span, CudaSpan):
            fill(room, code, found, addresses, lengths)
            span.start(room, self._shape, code, told, self._finish)
            return
        if found is not None:
            fill(room, code, found, addresses, lengths)
            memory.gpu.launch(code.handle, code.sizes(self._shape.sizes), room.pointers_at)
            memory.gpu.wait()
        else:
            self._slowly(room, code, addresses, lengths)
        if room.told.fault.taken:
            self._finish(room.told, code, told(), None)

    def again(
        self, room: Room, code: Loaded, addresses: list[int], lengths: Sequence[int]
    ) -> Callable[[Callable[[], Launch]], bool] | None:
        """The same launch with the record as it is, for as long as all memory stays where it is. Numbers in the record
        stay; what it has of a buffer may be another in the next launch."""
        memory, version = self._memory, self._memory.version
        if any(memory.find(addresses[index]) is not None for index in code.variant.inlined):
            return None
        if memory.resident(addresses, lengths, self._written, code.variant.inlined) is None:
            return None
        gpu, handle, sizes, pointers, finish = (
            memory.gpu,
            code.handle,
            code.sizes(self._shape.sizes),
            room.pointers_at,
            self._finish,
        )
        fault = room.told.fault

        def start(told: Callable[[], Launch]) -> bool:
            if memory.version != version or not gpu.alone:
                return False
            gpu.launch(handle, sizes, pointers)
            gpu.wait()
            if fault.taken:
                finish(room.told, code, told(), None)
            return True

        return start

    def native(self, code: Loaded) -> NativeLaunch | None:
        """Only Python starts launches here."""
        return None

    def finish(
        self,
        code: Loaded,
        record: int,
        launch: Launch,
        status: int,
        on_log: Callable[[LogMessage], None] | None,
    ) -> None:
        """Nothing native was started."""

    def _slowly(self, room: Room, code: Loaded, addresses: list[int], lengths: Sequence[int]) -> None:
        """With memory that has to be brought."""
        memory = self._memory
        bound = Bound(memory)
        try:
            bound.bind(room, code, addresses, lengths, self._written)
            start(memory, code, self._shape, room)
            memory.gpu.wait()
            bound.finish()
        finally:
            bound.free()
