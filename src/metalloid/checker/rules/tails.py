"""Parts of an output that are left out in a pattern which says why: the end of every row, axes that changed places.

A loop over a row in whole rounds (`for (k = 0; k < n / 32; k++)`) leaves the same few elements of each; a grid of
(9, 30) before a condition for (30, 9) lets only the square through that both have.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from metalloid.checker.case import Case
from metalloid.checker.rules import meant

_SIMDGROUP = 32

Marks = np.ndarray[Any, Any]


def row_hint(case: Case, touched: Marks, memory: Any) -> str:
    """What to do where every row of a fresh output ends with a rest that is too short for one more round; else ""."""
    total, each = len(touched), prod(case.launch.threadgroup)
    if total not in meant.inputs(case):
        return ""
    named = {*meant.numbers(case), *meant.inputs(case)}
    for length in sorted(n for n in named if 1 < n < total and total % n == 0):
        rows = touched.reshape(-1, length)
        written = int(rows[0].sum())
        rounds = next((w for w in (each, _SIMDGROUP) if 1 < w <= each and length // w * w == written > 0), 0)
        alike = bool(rounds and rows[0][:written].all() and (rows == rows[0]).all())
        if alike and written < length and written not in meant.numbers(case) and meant.fresh(touched, memory):
            return f"every row of {length} ends with {length - written} that nobody writes: " + (
                f"the loop makes whole rounds of {rounds} only; let it go on while the index is below {length}"
                if case.kernel.loops
                else f"a row has {written} threads; launch {length} for each"
            )
    return ""


def crossed_hint(case: Case, written: int, total: int) -> str:
    """What to say where a condition lets through no more than the square that two axes have in common; else ""."""
    wide, high, deep = case.launch.grid
    if wide == high or wide * high * deep != total or written != min(wide, high) ** 2 * deep:
        return ""
    return (
        f"the grid is ({wide}, {high}), and the condition stops at {min(wide, high)} along both axes: two sizes, or the"
        " axes of the grid, have changed places"
    )
