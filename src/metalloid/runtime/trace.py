"""A record of every step of every launch: nothing fails silently.

`with device.trace() as trace: ...` collects steps; METALLOID_TRACE=1 prints them as they happen.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any, TextIO

from metalloid import config
from metalloid.backends.base import Launch
from metalloid.runtime.kernel_code import KernelCode
from metalloid.runtime.sizes import shown
from metalloid.runtime.steps import Step
from metalloid.runtime.watch import Notice, Watcher, watchers


class Trace(Watcher):
    """Steps as they happen; a file gets them as lines."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._steps: list[Step] = []
        self._lock = threading.Lock()

    @property
    def steps(self) -> Sequence[Step]:
        return tuple(self._steps)

    def text(self) -> str:
        return "\n".join(map(str, self._steps))

    def __repr__(self) -> str:
        return f"<trace, {len(self._steps)} steps>"

    def add(self, step: Step) -> None:
        if self._file is not None:
            print(f"metalloid: {step}", file=self._file)
        else:
            with self._lock:
                self._steps.append(step)

    def before(self, kernel: KernelCode, launch: Launch) -> bool:
        for parameter in kernel.signature.buffers:
            self.add(Step("bind", kernel.name, _binding(parameter, launch.buffers.get(parameter.index))))
        groups = launch.threadgroups
        self.add(
            Step(
                "sizes",
                kernel.name,
                f"grid {shown(launch.grid)} threads in threadgroups of {shown(launch.threadgroup)}"
                f" = {shown(groups)} threadgroups",
            )
        )
        local = "".join(f", {n} bytes at index {i}" for i, n in launch.threadgroup_memory.items())
        declared = f"{kernel.threadgroup_memory_length} bytes declared"
        self.add(Step("threadgroup memory", kernel.name, declared + local))
        return False

    def after(self, kernel: KernelCode, launch: Launch, seconds: float, error: BaseException | None) -> None:
        outcome = "completed" if error is None else f"{error.__class__.__name__}: {error}"
        self.add(Step("run", kernel.name, f"pipeline {kernel.name} on {kernel.device}", outcome, seconds))

    def refused(self, kernel: KernelCode, error: BaseException) -> None:
        self.add(Step("refused", kernel.name, "nothing ran", f"{error.__class__.__name__}: {error}"))

    def noticed(self, notice: Notice) -> bool:
        self.add(Step("notice", notice.subject, notice.message, notice.rule))
        return False

    def __enter__(self) -> Trace:
        watchers.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        watchers.remove(self)


def _binding(parameter: Any, memory: Any) -> str:
    if memory is None:
        return f"index {parameter.index} '{parameter.name}' is not bound"
    return (
        f"index {parameter.index} '{parameter.name}' {memory.nbytes} bytes of {parameter.type},"
        f" {memory.dtype}{list(memory.shape)} at {int(memory.ctypes.data):#x}"
    )


if config.trace():
    watchers.append(Trace(sys.stderr))
