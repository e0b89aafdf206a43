"""Where the keys and values of earlier tokens are kept: in rows that grow, or in pages that sequences share."""

from __future__ import annotations

from typing import Any

import numpy as np

from metalloid.kernels.arrays import Array, empty, refuse, taken


class Cache:
    """Keys and values of one layer, (batch, heads, time, dimension); room is doubled when it runs out."""

    def __init__(
        self, batch: int, heads: int, dimension: int, dtype: Any = np.float32, room: int = 256
    ) -> None:
        self.length = 0
        self._keys = empty((batch, heads, room, dimension), dtype)
        self._values = empty((batch, heads, room, dimension), dtype)

    def __repr__(self) -> str:
        batch, heads, room, dimension = self._keys.shape
        return (
            f"<cache of {self.length} tokens, room for {room}: {batch} x {heads} heads of {dimension},"
            f" {self._keys.dtype}>"
        )

    def append(self, keys: Any, values: Any) -> tuple[Array, Array]:
        """Add keys and values of new tokens; gives views of all there are."""
        _, (k, v) = taken("cache", keys, values)
        batch, heads, room, dimension = self._keys.shape
        if k.shape != v.shape or k.shape[:2] != (batch, heads) or k.shape[3:] != (dimension,):
            refuse("cache", f"keys and values ({batch}, {heads}, n, {dimension})", f"{k.shape} and {v.shape}")
        end = self.length + k.shape[2]
        if end > room:
            self._keys, self._values = (_grown(a, end, self.length) for a in (self._keys, self._values))
        self._keys[:, :, self.length : end] = k
        self._values[:, :, self.length : end] = v
        self.length = end
        return self.keys, self.values

    @property
    def keys(self) -> Array:
        return self._keys[:, :, : self.length]

    @property
    def values(self) -> Array:
        return self._values[:, :, : self.length]

    def truncate(self, length: int) -> None:
        """Forget all tokens from `length` on."""
        if not 0 <= length <= self.length:
            refuse("cache", f"a length from 0 to {self.length}", str(length))
        self.length = length


def _grown(array: Array, wanted: int, used: int) -> Array:
    batch, heads, room, dimension = array.shape
    made = empty((batch, heads, max(2 * room, wanted), dimension), array.dtype)
    made[:, :, :used] = array[:, :, :used]
    return made


class PagedCache:
    """Keys and values of many sequences in pages of a fixed size; a sequence that ends gives its pages back."""

    def __init__(self, pages: int, heads: int, size: int, dimension: int, dtype: Any = np.float32) -> None:
        self.keys = empty((pages, heads, size, dimension), dtype)
        self.values = empty((pages, heads, size, dimension), dtype)
        self._free = list(reversed(range(pages)))
        self._pages: dict[int, list[int]] = {}
        self._lengths: dict[int, int] = {}

    def __repr__(self) -> str:
        pages, heads, size, dimension = self.keys.shape
        return (
            f"<paged cache of {len(self._pages)} sequences, {len(self._free)} of {pages} pages of {size} free:"
            f" {heads} heads of {dimension}, {self.keys.dtype}>"
        )

    def append(self, sequence: int, keys: Any, values: Any) -> None:
        """Add keys and values (heads, n, dimension) of new tokens to a sequence."""
        _, (k, v) = taken("paged cache", keys, values)
        _, heads, size, dimension = self.keys.shape
        if k.shape != v.shape or k.ndim != 3 or (k.shape[0], k.shape[2]) != (heads, dimension):
            refuse("paged cache", f"keys and values ({heads}, n, {dimension})", f"{k.shape} and {v.shape}")
        length, pages = self._lengths.get(sequence, 0), self._pages.setdefault(sequence, [])
        needed = -(-(length + k.shape[1]) // size) - len(pages)
        if needed > len(self._free):
            refuse("paged cache", f"{needed} free pages for sequence {sequence}", str(len(self._free)))
        pages += [self._free.pop() for _ in range(needed)]
        end = length + k.shape[1]
        for start in range(length // size * size, end, size):  # what falls into one page
            low, high = max(start, length), min(start + size, end)
            page, slots = pages[start // size], slice(low - start, high - start)
            self.keys[page, :, slots] = k[:, low - length : high - length]
            self.values[page, :, slots] = v[:, low - length : high - length]
        self._lengths[sequence] = end

    def free(self, sequence: int) -> None:
        """Give the pages of a sequence back."""
        self._free += reversed(self._pages.pop(sequence, []))
        self._lengths.pop(sequence, None)

    def table(self, *sequences: int) -> tuple[Array, Array]:
        """The page table and the lengths of these sequences, for `paged_attention`."""
        used = [self._pages.get(s, []) for s in sequences]
        table = np.zeros((len(used), max(map(len, used), default=0) or 1), np.uint32)
        for row, pages in zip(table, used, strict=True):
            row[: len(pages)] = pages
        return table, np.array([self._lengths.get(s, 0) for s in sequences], np.uint32)
