"""Dispatches whose size a kernel has computed: three uint32 in a buffer, read when the dispatch runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from metalloid.backends.base import Launch
from metalloid.errors import LaunchError
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.sizes import triple
from metalloid.runtime.whole import whole

_BYTES = 12


def threadgroups_in(counts: Buffer, offset: int) -> Callable[[Launch], Launch]:
    """What makes a launch of one threadgroup one of as many as the buffer says by then."""
    if not isinstance(counts, Buffer):
        raise LaunchError(f"[indirect dispatch] M306 the counts are {counts!r}; pass a Buffer.")
    start = whole("indirect dispatch", "offset", offset)
    if start % 4 or start + _BYTES > counts.nbytes:
        raise LaunchError(
            f"[indirect dispatch] M306 three uint32 at offset {start} are not inside a buffer of {counts.nbytes}"
            " bytes.\nPass an offset that is a multiple of 4, with 12 bytes behind it."
        )
    words = counts.memory().reshape(-1).view(np.uint8)[start : start + _BYTES].view(np.uint32)

    def sized(launch: Launch, _held: object = counts) -> Launch:  # its room in a heap is not free before
        groups = [int(word) for word in words]
        if 0 in groups:
            return replace(launch, grid=(0, 0, 0))
        grid = triple(
            f"[launch {launch.kernel}]",
            "indirect threadgroups times threadgroup",
            tuple(n * size for n, size in zip(groups, launch.threadgroup, strict=True)),
        )
        return replace(launch, grid=grid)

    return sized
