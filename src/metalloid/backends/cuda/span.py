"""What one command buffer launches: kernels follow each other on the GPU, and the host waits once, at the end.

The GPU's own events say how long it took. A fault of any of the launches is found when the host waits; the place for
it is the span's, so that the number of the launch in it says which.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from metalloid.backends.base import Launch
from metalloid.backends.cuda.code import Loaded
from metalloid.backends.cuda.driver import Gpu, Told
from metalloid.backends.cuda.launch import Room, Shape
from metalloid.errors import KernelFault

Finish = Callable[[Told, Loaded, Launch, float | None], None]
MOST = 1024  # launches that nobody has waited for


@dataclass(frozen=True)
class _Started:
    code: Loaded
    launch: Callable[[], Launch]  # keeps the memory alive that it is made of
    finish: Finish


class CudaSpan:
    """From the first launch of a thread to when it asks."""

    def __init__(self, gpu: Gpu) -> None:
        gpu.enter()
        self._gpu = gpu
        self._told: Told | None = None
        self._started: list[_Started] = []
        self._begin: Any = None
        gpu.span = self

    def begins(self) -> None:
        """Called before each launch."""
        if self._begin is None:
            self._begin = self._gpu.mark()

    @property
    def told(self) -> Told:
        if self._told is None:
            self._told = self._gpu.told()
        return self._told

    def start(
        self, room: Room, shape: Shape, code: Loaded, launch: Callable[[], Launch], finish: Finish
    ) -> None:
        """Launch, and do not wait."""
        if len(self._started) == MOST:
            self.settle()
        room.tell(self.told, len(self._started))
        self._gpu.launch(code.handle, code.sizes(shape.sizes), room.pointers_at)
        room.tell(room.told, 0)
        self._started.append(_Started(code, launch, finish))

    def settle(self) -> None:
        """Wait for all that was launched; raise what stopped the first that was stopped."""
        self._gpu.wait()
        started, self._started = self._started, []
        if self._told is not None and self._told.fault.taken:
            one = started[self._told.fault.number]
            one.finish(self._told, one.code, one.launch(), None)

    def end(self) -> float | None:
        """Seconds on the GPU, all waited for; None where nothing was launched."""
        self._gpu.span = None
        seconds = None
        if self._begin is not None:
            seconds = self._gpu.between(self._begin, self._gpu.mark())
        if self._told is not None:
            with suppress(KernelFault):  # it came after one that was raised already
                self.settle()
            self._gpu.untold(self._told)
        return seconds
