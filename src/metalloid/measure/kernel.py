"""One kernel, one launch: how long, how much work, how near the machine's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.errors import LaunchError
from metalloid.measure.clock import action
from metalloid.measure.machine import Machine
from metalloid.measure.timing import Timing, shown, timed
from metalloid.runtime.kernel import Kernel
from metalloid.transforms.count_work import COUNTERS, counted

_BUFFERS = 31


@dataclass(frozen=True)
class Work:
    """What a launch does: counted while it ran once, except `moved`."""

    operations: int  # floating-point, as compiled: exp and friends count their polynomials
    read: int  # bytes that threads asked for; caches serve most of what is asked for twice
    written: int
    moved: int  # bytes of each buffer once per direction: the least that must pass through memory

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.operations / max(1, self.moved)


@dataclass(frozen=True)
class Measurement:
    """How long a kernel takes, and what it does in that time."""

    name: str
    timing: Timing
    work: Work

    def __repr__(self) -> str:
        rates = f"{self.bandwidth / 1e9:.1f} GB/s, {self.rate / 1e9:.1f} GFLOP/s"
        return f"<{self.name}: {shown(self.timing.median)}, {rates}>"

    @property
    def bandwidth(self) -> float:
        """Bytes per second."""
        return self.work.moved / self.timing.median

    @property
    def rate(self) -> float:
        """Operations per second."""
        return self.work.operations / self.timing.median

    def share(self, machine: Machine) -> float:
        """Of what the machine could do at this intensity; near 1 is as good as it gets."""
        return max(self.bandwidth / machine.bandwidth, self.rate / machine.peak)

    def bound(self, machine: Machine) -> str:
        """Which limit is the nearer one."""
        return "memory" if self.work.intensity < machine.peak / machine.bandwidth else "arithmetic"


def measure(kernel: Kernel, *arguments: object, seconds: float = 1.0, **launch: Any) -> Measurement:
    """Time a call of a kernel with these arguments (as in `kernel(...)`), and count what it does.

    Buffers that the kernel writes are written again and again.
    """
    work = count(kernel, kernel.launch(*arguments, **launch))
    (timing,) = timed(action(kernel, *arguments, **launch), seconds=seconds)
    return Measurement(kernel.name, timing, work)


def count(kernel: Kernel, launch: Launch) -> Work:
    """Run a launch once, counting, on copies of its buffers."""
    taken = {p.index for p in kernel.signature.buffers} | set(launch.buffers)
    free = next((n for n in reversed(range(_BUFFERS)) if n not in taken), None)
    if free is None:
        raise LaunchError(
            f"[measure {kernel.name}] all {_BUFFERS} buffers are in use; none is left to count in."
        )
    totals = np.zeros(len(COUNTERS), np.uint64)
    program = kernel.device.backend.program(counted(kernel.ir, free), kernel.signature)
    program.run(replace(launch, buffers={**_copies(launch.buffers), free: totals}))
    operations, read, written = (int(n) for n in totals)
    return Work(operations, read, written, _moved(kernel, launch))


def _copies(buffers: Mapping[int, Any]) -> dict[int, Any]:
    """Copies that keep memory bound twice bound twice."""
    made: dict[int, Any] = {}
    for memory in buffers.values():
        if id(memory) not in made:
            made[id(memory)] = np.array(memory)
    return {index: made[id(memory)] for index, memory in buffers.items()}


def _moved(kernel: Kernel, launch: Launch) -> int:
    directions = {"read": 1, "write": 1, "read_write": 2}
    access = {p.index: directions.get(p.access, 0) for p in kernel.signature.buffers}
    return sum(access.get(n, 1) * memoryview(memory).nbytes for n, memory in launch.buffers.items())
