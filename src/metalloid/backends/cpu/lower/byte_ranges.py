"""Sets of bytes, as ranges in order: (first, one behind the last)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Range = tuple[int, int]


def union(ranges: Iterable[Range], near: int = 0) -> list[Range]:
    """In order; those that touch, or lie no more than `near` apart, as one."""
    found: list[Range] = []
    for start, end in sorted(r for r in ranges if r[0] < r[1]):
        if found and start <= found[-1][1] + near:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def less(ranges: Iterable[Range], taken: Sequence[Range]) -> list[Range]:
    """What is left of the ranges without those that are taken."""
    left = list(ranges)
    for start, end in taken:
        pieces = []
        for a, b in left:
            pieces += [(a, min(b, start)), (max(a, end), b)]
        left = [r for r in pieces if r[0] < r[1]]
    return union(left)
