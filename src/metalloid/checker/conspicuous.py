"""Which results look odd: what overflows in a few rows of many shows as zeros, limits or repeated numbers among others.

Numbers are followed in a sample of threads. Who wrote the largest and the smallest number of an output, a zero among
numbers, or the same number several times in a row where others differ, is looked at before anybody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from metalloid.backends.base import Launch, Triple
from metalloid.backends.interpret.notes import unflattened
from metalloid.backends.observe import Observation

LOOKED_AT = 1 << 24  # bytes of an output
RARE = 8  # what one in so many is, is odd
Numbers = np.ndarray[Any, Any]


def odd_elements(values: Numbers) -> list[int]:
    """Indices of a few elements that are unlike the rest, each for another reason."""
    with np.errstate(all="ignore"):
        sizes = np.abs(values.astype(np.float32))
    if sizes.size < 2:
        return []
    finite = np.where(np.isfinite(sizes), sizes, 0)
    found = [int(np.argmax(finite)), int(np.argmin(sizes))]
    for rare in (sizes == 0, _repeated(sizes)):
        where = np.flatnonzero(rare)
        if 0 < where.size <= sizes.size // RARE:
            found.append(int(where[0]))
    return list(dict.fromkeys(found))


def _repeated(sizes: Numbers) -> Numbers:
    """Elements whose number stands in the next one as well."""
    return np.append((sizes[1:] == sizes[:-1]) & (sizes[1:] != 0), False)


def writers_of(
    launch: Launch, observation: Observation, index: int, elements: list[int], size: int
) -> Iterator[tuple[Triple, int]]:
    """Threadgroup and index in it of those who wrote some elements of a buffer."""
    step = max(1, observation.granules.get(index, 1))
    granules = np.array(elements, np.int64) * size // step
    for number in observation.who(index, granules):
        if number:
            position = unflattened(int(number) - 1, launch.grid)
            width, height, depth = launch.threadgroup
            x, y, z = (p // n for p, n in zip(position, (width, height, depth), strict=True))
            sizes = launch.size_of((x, y, z))
            a, b, c = (p % n for p, n in zip(position, (width, height, depth), strict=True))
            inside = a + sizes[0] * (b + sizes[1] * c)
            assert inside < prod(sizes)
            yield (x, y, z), inside
