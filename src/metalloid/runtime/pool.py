"""Memory that is used again.

Fresh memory costs a page fault for every 4096 bytes; memory that was used before costs nothing. Blocks are kept
by size class, up to a capacity. A pool owns memory and nothing else: no device, no buffer. A block finds its
way back when the last array that looks into it is gone.
"""

from __future__ import annotations

import mmap
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from metalloid.errors import DeviceError
from metalloid.records import dataclass

PAGE = mmap.PAGESIZE
DEFAULT_CAPACITY = 1 << 30
_HUGE = 4 << 20  # from here on large pages pay


@dataclass(frozen=True)
class PoolStats:
    """What a pool has done and what it holds, in bytes and counts."""

    hits: int  # blocks that were used again
    misses: int  # blocks that were made
    bytes_in_use: int
    bytes_held: int  # free, kept for later
    peak: int  # most bytes in use at once
    capacity: int  # most bytes to hold

    @property
    def hit_rate(self) -> float:
        return self.hits / max(1, self.hits + self.misses)


def size_class(nbytes: int) -> int:
    """Bytes a block really has: whole pages, four sizes per doubling."""
    pages = max(1, -(-nbytes // PAGE))
    if pages <= 4:
        return pages * PAGE
    step = 1 << (pages - 1).bit_length() - 3
    return -(-pages // step) * step * PAGE


def _pages(size: int) -> mmap.mmap:
    """Fresh memory that a forked child does not share."""
    if hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, size)


class Block(np.ndarray[Any, Any]):
    """Bytes of a pool. Every array made of it keeps it alive."""

    pool: Pool | None

    def __array_finalize__(self, other: object) -> None:
        self.pool = None

    def __del__(self) -> None:
        pool = self.pool
        if pool is not None:
            pool._take_back(self.base)


class Pool:
    """Page-aligned blocks, used again by size class."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._free: OrderedDict[int, list[mmap.mmap]] = OrderedDict()
        self._lock = (
            threading.RLock()
        )  # a block may come back while the lock is held: collection runs anywhere
        self._hits = self._misses = self._used = self._held = self._peak = 0

    def allocate(self, nbytes: int) -> np.ndarray[Any, Any]:
        """At least `nbytes` bytes that start on a page, exactly `nbytes` of them to see; contents are arbitrary."""
        size = size_class(nbytes)
        with self._lock:
            waiting = self._free.get(size)
            memory = waiting.pop() if waiting else None
            if memory is None:
                self._misses += 1
            else:
                self._hits += 1
                self._held -= size
            self._used += size
        if memory is None:
            try:
                memory = _pages(size)
            except (OSError, OverflowError, ValueError):
                with self._lock:
                    self._used -= size
                raise DeviceError(
                    f"[buffer] out of memory: the system has no {nbytes} bytes. {self._used} are in use, and"
                    f" {self._held} are kept for later (pool.clear() gives those back)."
                ) from None
            if size >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
                memory.madvise(mmap.MADV_HUGEPAGE)
        self._peak = max(self._peak, self._used)
        block = Block((size,), np.uint8, memory)
        block.pool = self
        return block.view(np.ndarray)[:nbytes]

    def _take_back(self, memory: Any) -> None:
        size = len(memory)
        with self._lock:
            self._used -= size
            if size <= self._capacity:
                self._free.setdefault(size, []).append(memory)
                self._free.move_to_end(size)
                self._held += size
                self._shrink()

    def _shrink(self) -> None:
        """Let go of the sizes that were not asked for longest."""
        while self._held > self._capacity:
            size, waiting = next(iter(self._free.items()))
            if waiting:
                waiting.pop()
                self._held -= size
            if not waiting:
                del self._free[size]

    @property
    def capacity(self) -> int:
        return self._capacity

    @capacity.setter
    def capacity(self, nbytes: int) -> None:
        with self._lock:
            self._capacity = nbytes
            self._shrink()

    def clear(self) -> None:
        """Give all free memory back to the system."""
        with self._lock:
            self._free.clear()
            self._held = 0

    def stats(self) -> PoolStats:
        with self._lock:
            return PoolStats(self._hits, self._misses, self._used, self._held, self._peak, self._capacity)

    def __repr__(self) -> str:
        s = self.stats()
        return f"<pool {s.bytes_in_use} bytes in use, {s.bytes_held} held, {s.hits} hits, {s.misses} misses>"
