"""simdgroup_matrix: 8x8 elements, two neighbours in each lane of a SIMD-group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metalloid.backends.interpret.memory import Pointer
from metalloid.backends.interpret.numbers import signed
from metalloid.ir.intrinsics import MATRIX_PRODUCT, matrix_access_name

Arrived = dict[int, tuple[Any, ...]]
Results = dict[int, Any]
Threads = Mapping[int, Any]  # by lane
Floats = NDArray[np.float32]


def place(lane: int) -> tuple[int, int]:
    """Row and first column of the two elements that a lane holds."""
    return (lane >> 4 & 1) * 4 + (lane >> 1 & 3), (lane >> 3 & 1) * 4 + (lane & 1) * 2


def _addresses(size: int, lane: int, pointer: Pointer, stride: int, transpose: int) -> list[Pointer]:
    row, column = place(lane)
    cells = [(row, column), (row, column + 1)]
    if transpose:
        cells = [(c, r) for r, c in cells]
    return [pointer.moved(size * (r * signed(stride, 64) + c)) for r, c in cells]


def _load_b32(threads: Threads, arrived: Arrived) -> Results:
    return {
        lane: tuple(threads[lane].load(p, 4) for p in _addresses(4, lane, *o)) for lane, o in arrived.items()
    }


def _load_b16(threads: Threads, arrived: Arrived) -> Results:
    results = {}
    for lane, operands in arrived.items():
        low, high = (threads[lane].load(p, 2) for p in _addresses(2, lane, *operands))
        results[lane] = low | high << 16
    return results


def _store(size: int, threads: Threads, arrived: Arrived) -> Results:
    for lane, (pointer, stride, transpose, *elements) in arrived.items():
        for target, value in zip(_addresses(size, lane, pointer, stride, transpose), elements, strict=True):
            threads[lane].store(target, size, value)
    return dict.fromkeys(arrived)


def _whole(arrived: Arrived, first: int) -> list[list[int]]:
    """The 8x8 matrix whose elements are operands `first` and `first`+1; zero where a lane is missing."""
    matrix = [[0] * 8 for _ in range(8)]
    for lane, operands in arrived.items():
        row, column = place(lane)
        matrix[row][column : column + 2] = operands[first : first + 2]
    return matrix


def _multiply_accumulate(threads: Threads, arrived: Arrived) -> Results:
    """A * B + C in float: eight fused steps per element, in the order of k, starting from C."""
    a, b, total = (np.array(_whole(arrived, first), np.uint32).view(np.float32) for first in (0, 2, 4))
    for k in range(8):
        total = _fused(a[:, k, None], b[k], total)
    bits = total.view(np.uint32)
    bits = np.where(np.isnan(total), bits & 0x80000000 | 0x7FC00000, bits).tolist()
    return {lane: tuple(bits[row][column : column + 2]) for lane in arrived for row, column in [place(lane)]}


def _fused(a: Floats, b: Floats, c: Floats) -> Floats:
    """a * b + c rounded once: `numbers.fma` on arrays, the inexact sums rounded to odd on the way."""
    with np.errstate(all="ignore"):
        product = a.astype(np.float64) * b
        total = product + c
        part = total - product
        lost = (product - (total - part)) + (c - part)
        even = total.view(np.uint64) & 1 == 0
        away = np.nextafter(total, np.copysign(np.inf, lost))
        return np.where((lost != 0) & even & np.isfinite(total), away, total).astype(np.float32)


ACCESSES: dict[tuple[str, int], Callable[[Threads, Arrived], Results]] = {
    ("load", 4): _load_b32,
    ("load", 2): _load_b16,
    ("store", 4): partial(_store, 4),
    ("store", 2): partial(_store, 2),
}
OPERATIONS: dict[str, Callable[[Threads, Arrived], Results]] = {
    MATRIX_PRODUCT: _multiply_accumulate,
    **{
        matrix_access_name(what, size, space): run
        for (what, size), run in ACCESSES.items()
        for space in ("device", "threadgroup")
    },
}
