"""Launches recorded once and run again and again, with one call.

A loop that launches the same small kernels over the same memory spends its time on launching. A recording keeps
the launches ready to run; what changes from run to run (a position, a token) lies in arrays that the kernels
read. Under the eyes of watchers each launch is made on its own, as if it had been called.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np

from metalloid import config
from metalloid.backends.backend import Batch, Recorded
from metalloid.backends.base import Guard, Launch
from metalloid.runtime.arguments import matched, refuse
from metalloid.runtime.kernel import Kernel, Local
from metalloid.runtime.sizes import Size
from metalloid.runtime.watch import watchers

# Bytes of a launch, on average, below which one thread is quicker than several that wait for each other: about 50
# microseconds of work, where a thread that is called away costs a thousand.
_WORTH_SHARING = 1 << 20


class Recording:
    """Add launches as you would make them, then `run` as often as needed. Not for several threads at once."""

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard: Guard = config.guard() if guard is None else guard
        self._launches: list[tuple[Kernel, Launch, set[int]]] = []  # with arguments that may change
        self._ready: list[Batch] = []  # one for each stretch of launches on one device

    def __len__(self) -> int:
        return len(self._launches)

    def add(
        self,
        kernel: Kernel,
        *arguments: object,
        grid: Size | None = None,
        threadgroup: Size | None = None,
        threadgroups: Size | None = None,
        threadgroup_memory: Local | None = None,
        overlap: bool = False,
        **named: object,
    ) -> None:
        """Record a call of a kernel. Numbers are kept as they are now; arrays are read at each run."""
        launch = kernel.launch(
            *arguments,
            grid=grid,
            threadgroup=threadgroup,
            threadgroups=threadgroups,
            threadgroup_memory=threadgroup_memory,
            overlap=overlap,
            **named,
        )
        values = matched(kernel.signature, arguments, named)
        for p in kernel.signature.buffers:
            given = values[p.index]
            if (
                isinstance(given, np.ndarray)
                and given.size
                and not np.may_share_memory(given, launch.buffers[p.index])
            ):
                refuse(
                    kernel.signature,
                    f"'{p.name}' is an array of {given.dtype} that is converted now, and each run would read it as it"
                    f" is now.\nPass it as it lies in memory ({p.type}; a matrix flat, by columns), or as a tuple"
                    " where it does not change.",
                )
        live = {
            index
            for index, value in values.items()
            if not isinstance(value, int | float | dict | tuple | bytes)
        }
        self._launches.append((kernel, launch, live))
        self._ready = []

    def run(self) -> None:
        """All launches in their order, each after the one before it has ended."""
        if watchers or not self._launches:
            for kernel, launch, _ in self._launches:
                kernel.run(launch, self._guard)
            return
        self.prepare()
        for batch in self._ready:
            batch.run()

    def prepare(self) -> None:
        """Compile what has to be compiled; `run` does it where this was not called."""
        if self._ready:
            return
        moved = sum(memory.nbytes for _, launch, _ in self._launches for memory in launch.buffers.values())
        threads = config.threads() if moved >= _WORTH_SHARING * len(self._launches) else 1
        for device, stretch in groupby(self._launches, key=lambda one: one[0].device):
            launches = [Recorded(k.program, launch, live, k.on_log) for k, launch, live in stretch]
            self._ready.append(device.backend.batch(launches, self._guard, threads))
