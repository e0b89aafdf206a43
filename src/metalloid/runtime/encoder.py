"""The compute encoder: says what a command buffer will do. Launches are validated here, at the line that asks."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from metalloid import config
from metalloid.backends.base import Guard, Launch
from metalloid.errors import LaunchError
from metalloid.runtime.arguments import matched, refuse
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.kernel import Kernel, Local
from metalloid.runtime.processor import Processor
from metalloid.runtime.sizes import Size
from metalloid.runtime.watch import refusals

# Takes a launch with its arguments, and how it is guarded.
Encoded = Callable[[Kernel, Launch, list[object], Guard], None]


class ComputeEncoder:
    """Bindings stay from dispatch to dispatch, as in Metal. Each dispatch is handed to `encoded`."""

    def __init__(self, device: Processor, encoded: Encoded, ended: Callable[[ComputeEncoder], None]) -> None:
        self._device, self._encoded, self._when_ended = device, encoded, ended
        self._pipeline: Kernel | None = None
        self._bound: dict[int, object] = {}
        self._below: dict[int, int] = {}  # offsets: what lies before them is of the same allocation
        self._local: dict[int, int] = {}
        self._ended = False
        self.guard: Guard = config.guard()

    def set_pipeline(self, kernel: Kernel) -> None:
        self._open("set_pipeline")
        self._belongs(kernel)
        self._pipeline = kernel

    def set_buffer(
        self, buffer: Buffer | np.ndarray[Any, Any] | None, offset: int = 0, index: int = 0
    ) -> None:
        """Bind a buffer from a byte offset on; None unbinds."""
        self._open("set_buffer")
        _index(index)
        if buffer is None:
            self._bound.pop(index, None)
            return
        if isinstance(buffer, Buffer):
            array = buffer.memory()
        elif isinstance(buffer, np.ndarray):
            array = buffer
        else:
            raise LaunchError(
                f"[encoder] M306 set_buffer takes a Buffer; got {buffer!r}.\nUse set_bytes for values."
            )
        if not 0 <= offset <= array.nbytes:
            raise LaunchError(
                f"[encoder] M306 offset {offset} is outside the buffer of {array.nbytes} bytes.\n"
                f"Offsets count bytes, from 0 to {array.nbytes}."
            )
        if offset % array.itemsize:
            raise LaunchError(
                f"[encoder] M103 offset {offset} is in the middle of an element of {array.itemsize} bytes.\n"
                f"Offsets count bytes: element n starts at n * {array.itemsize}."
            )
        self._below[index] = offset
        if not offset:
            self._bound[index] = buffer
        elif isinstance(buffer, Buffer):
            self._bound[index] = buffer.view(array.dtype, offset)
        else:
            self._bound[index] = array.reshape(-1)[offset // array.itemsize :]

    def set_bytes(self, value: object, index: int = 0) -> None:
        """Bind a copy of a value: a number, a tuple, a struct as dict, bytes, an array."""
        self._open("set_bytes")
        _index(index)
        if isinstance(value, Buffer):
            raise LaunchError(
                "[encoder] M306 set_bytes copies values; got a Buffer.\nBind it with set_buffer."
            )
        self._below.pop(index, None)
        self._bound[index] = bytes(value) if isinstance(value, bytearray | memoryview) else copy(value)

    def set_threadgroup_memory(self, length: int, index: int = 0) -> None:
        self._open("set_threadgroup_memory")
        self._local[index] = length

    def dispatch_threads(self, grid: Size, threadgroup: Size) -> None:
        """Launch this many threads; the last threadgroup of an axis may be smaller."""
        self._dispatch(grid=grid, threadgroup=threadgroup)

    def dispatch_threadgroups(self, threadgroups: Size, threadgroup: Size) -> None:
        """Launch this many threadgroups."""
        self._dispatch(threadgroups=threadgroups, threadgroup=threadgroup)

    def dispatch(
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
        """Pipeline, arguments and sizes at once, as in calling the kernel; other bindings stay as they are."""
        self._open("dispatch")
        self._belongs(kernel)
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
        ordered = [values[p.index] for p in kernel.signature.buffers]
        self._encoded(kernel, launch, ordered, self.guard)

    def end_encoding(self) -> None:
        self._open("end_encoding")
        self._ended = True
        self._when_ended(self)

    def __enter__(self) -> ComputeEncoder:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if not self._ended:
            self.end_encoding()

    def _dispatch(self, **size: Size) -> None:
        self._open("dispatch")
        kernel = self._pipeline
        if kernel is None:
            raise LaunchError(
                "[encoder] M306 dispatch without a pipeline: there is no kernel to run.\n"
                "Call set_pipeline(library['name']) first."
            )
        indices = {p.index for p in kernel.signature.buffers}
        with refusals(kernel):
            for parameter in kernel.signature.buffers:
                if parameter.index not in self._bound:
                    refuse(
                        kernel.signature,
                        f"index {parameter.index} ('{parameter.name}') was never set.\n"
                        f"Call set_buffer(..., index={parameter.index}) or set_bytes(..., index={parameter.index})"
                        " before the dispatch.",
                    )
        arguments = [self._bound[index] for index in sorted(indices)]
        wanted = {p.index for p in kernel.parameters if p.kind == "threadgroup"}
        local = {i: n for i, n in self._local.items() if i in wanted}
        launch = kernel.launch(*arguments, threadgroup_memory=local, overlap=True, **size)
        below = {index: n for index, n in self._below.items() if n and index in launch.buffers}
        self._encoded(kernel, replace(launch, below=below), arguments, self.guard)

    def _belongs(self, kernel: object) -> None:
        if not isinstance(kernel, Kernel):
            raise LaunchError(
                f"[encoder] M306 a pipeline is a kernel; got {kernel!r}.\nPass library['name']."
            )
        if kernel.device is not self._device:
            raise LaunchError(
                f"[encoder] M306 {kernel} is of {kernel.device}; this queue is of"
                f" {self._device}.\nMake the library and the queue from one device."
            )

    def _open(self, what: str) -> None:
        if self._ended:
            raise LaunchError(
                f"[encoder] M308 {what} after end_encoding: it would never run.\n"
                "Call it before end_encoding(), or ask the command buffer for another encoder."
            )


def _index(index: int) -> None:
    if not 0 <= index < 31:
        raise LaunchError(
            f"[encoder] M306 buffer index {index}; there are 31, from 0 to 30.\n"
            "Pass the number in the kernel's [[buffer(n)]]."
        )
