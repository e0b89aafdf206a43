"""Memory behind pointers of a launch: a run that only looks must leave it as it was.

Whoever runs a launch again over copies of its buffers cannot copy what pointers inside argument buffers lead to: the
addresses in there are those of the memory itself. So its bytes are kept, put back before a run that starts again, and
put back after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.records import dataclass


@dataclass(frozen=True)
class Behind:
    """Bytes as they were, by the memory they are of."""

    kept: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def put_back(self) -> None:
        for memory, copy in self.kept:
            memory[...] = copy


NOTHING = Behind()


def behind(launch: Launch) -> Behind:
    """What pointers lead to, as it is now."""
    views = [_bytes(memory) for _, memory in launch.resources]
    return Behind(tuple((view, view.copy()) for view in views if view.flags.writeable))


def size_behind(launch: Launch) -> int:
    """Bytes that `behind` copies."""
    return sum(_bytes(memory).nbytes for _, memory in launch.resources)


@contextmanager
def unchanged_behind(launch: Launch) -> Iterator[None]:
    """What pointers lead to is afterwards what it is now."""
    now = behind(launch)
    try:
        yield
    finally:
        now.put_back()


def _bytes(memory: Any) -> np.ndarray[Any, Any]:
    if isinstance(memory, np.ndarray):
        return memory.reshape(-1).view(np.uint8)
    return np.frombuffer(memory, np.uint8)
