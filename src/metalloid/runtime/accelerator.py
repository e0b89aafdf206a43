"""An asynchronous form: allocate, compile, execute and read without holding up the event loop.

async with mt.Accelerator() as accelerator:
    x = await accelerator.allocate(array)
    double = await accelerator.compile(mt.KernelDefinition("double_it", source))
    await accelerator.execute(double, 1024, 256, x)
    result = await accelerator.read(x)
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metalloid.errors import DeviceError
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.device import Device, device
from metalloid.runtime.kernel import Kernel, Local
from metalloid.runtime.sizes import Size
from metalloid.source import Constant, MathMode


@dataclass(frozen=True)
class KernelDefinition:
    """What to compile: a kernel's name and the MSL text it is in."""

    name: str
    source: str
    math: MathMode = "fast"
    constants: Mapping[str | int, Constant] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<definition of kernel {self.name}, {len(self.source.splitlines())} lines>"


class Accelerator:
    """A device and one queue of it. Buffers that it made are released when the block is left."""

    def __init__(self, target: Device | str = "") -> None:
        self.device = target if isinstance(target, Device) else device(target)
        self._queue = self.device.queue("accelerator")
        self._buffers: list[Buffer] = []
        self._open = False

    def __repr__(self) -> str:
        return f"<accelerator on {self.device.name}, {'open' if self._open else 'not open'}>"

    async def __aenter__(self) -> Accelerator:
        self._open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._queue.wait_until_idle)
        for buffer in self._buffers:
            buffer.release()
        self._buffers.clear()
        self._open = False

    async def allocate(self, data: Any, dtype: Any = np.float32) -> Buffer:
        """A buffer: with a copy of an array's contents, or of a shape and filled with zeros."""
        self._must_be_open()
        shape = data if isinstance(data, int | tuple) else None
        made = self.device.buffer(data, copy=True) if shape is None else self.device.zeros(shape, dtype)
        self._buffers.append(made)
        return made

    async def compile(self, definition: KernelDefinition) -> Kernel:
        """A kernel, compiled beside the event loop."""
        self._must_be_open()

        def work() -> Kernel:
            library = self.device.library(
                definition.source, math=definition.math, name=f"{definition.name}.metal"
            )
            return library.kernel(definition.name, definition.constants)

        return await asyncio.to_thread(work)

    async def execute(
        self,
        compiled: Kernel,
        grid: Size,
        threadgroup: Size,
        *arguments: object,
        threadgroup_memory: Local | None = None,
    ) -> float:
        """Run to the end; returns how many seconds the kernel took."""
        self._must_be_open()
        commands = self._queue.command_buffer(compiled.name)
        with commands.compute_encoder() as encoder:
            encoder.dispatch(
                compiled,
                *arguments,
                grid=grid,
                threadgroup=threadgroup,
                threadgroup_memory=threadgroup_memory,
            )
        commands.commit()
        await commands
        return commands.gpu_time

    async def read(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """A copy of the contents."""
        self._must_be_open()
        return buffer.copy_to()

    def _must_be_open(self) -> None:
        if not self._open:
            raise DeviceError(
                "[accelerator] is not open; use it inside `async with mt.Accelerator() as acc:`."
            )
