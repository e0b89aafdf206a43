"""Launches as Metal makes them: memory is bytes, and nobody compares it with what the kernel declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.runtime.arguments import WRITES, argument, unshared
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.places import place
from metalloid.runtime.sizes import local_memory, sizes
from metalloid.runtime.watch import refusals, watchers

if TYPE_CHECKING:
    from metalloid.runtime.kernel import Kernel


def raw_launch(
    kernel: Kernel,
    arguments: Sequence[object],
    local: Mapping[int, int],
    grid: object = None,
    threadgroup: object = None,
    threadgroups: object = None,
) -> Launch:
    """The launch over these arguments, in the order of the kernel's buffers; None leaves one unbound."""
    with refusals(kernel):
        kernel.refuse_undefined()
        limits = kernel.device.backend.limits
        threads, size = sizes(kernel.signature, limits, grid, threadgroup, threadgroups)
        lengths = local_memory(kernel.signature, limits, local)
        memory: dict[int, Any] = {}
        written_by: dict[int, int] = {}
        resources: list[tuple[int, Any]] = []
        for parameter, value in zip(kernel.signature.buffers, arguments, strict=True):
            if isinstance(value, Buffer):
                memory[parameter.index] = _plain(value.memory())
                if value.launches >= 0:
                    written_by[parameter.index] = value.launches
                    value.launches += parameter.access in WRITES
            elif isinstance(value, bytes):
                memory[parameter.index] = np.frombuffer(bytearray(value), np.uint8)
            elif isinstance(value, np.ndarray):
                memory[parameter.index] = _plain(value)
            elif value is not None:
                memory[parameter.index] = argument(
                    kernel.signature, parameter, value, resources, kernel.device
                )
    return Launch(
        threads,
        size,
        memory,
        lengths,
        resources=resources,
        kernel=kernel.name,
        undefined=frozenset(i for i, launches in written_by.items() if not launches),
        launched={i: launches for i, launches in written_by.items() if launches},
        inputs=unshared(kernel.inputs, memory),
        place=place() if watchers else "",
    )


def _plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Memory whose type Python's buffers know: bfloat16 as 16-bit words."""
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array
