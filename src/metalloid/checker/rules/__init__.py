"""The rules, one file per family.

A rule is a function from a Case (kernel, launch, observation) to findings. A new one is a function in its
family's file and a word in `RULES`. What shows over a whole block of launches is `checker/ledger.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from metalloid.checker.case import Case
from metalloid.checker.rules import (
    across,
    barriers,
    cost,
    coverage,
    integers,
    lanes,
    left_out,
    lost,
    memory,
    numerics,
    pointed,
    positions,
    progress,
    swapped,
    synchronisation,
    text,
)
from metalloid.findings import Finding

Rule = Callable[[Case], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    memory.accesses,
    across.read_holes,
    synchronisation.races,
    synchronisation.flags,
    barriers.barriers,
    progress.endless,
    progress.waits,
    lost.lost_updates,
    lanes.inactive,
    lanes.partial_results,
    swapped.swapped,
    positions.narrow,
    coverage.unwritten,
    left_out.left_out,
    pointed.behind_pointers,
    cost.cost,
    numerics.numbers,
    integers.integers,
    numerics.tested_under_fast_math,
    text.warned,
)
