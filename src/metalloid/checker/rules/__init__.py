"""The rules, one file per family.

A rule is a function from a Case (kernel, launch, observation) to findings. A new one is a function in its
family's file and a word in `RULES`. `AFTERWARDS` are rules about a whole block of launches: they get the
report when `mt.checked()` ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from metalloid.checker.case import Case
from metalloid.checker.rules import cost, coverage, lanes, memory, numerics, synchronisation
from metalloid.findings import Finding

if TYPE_CHECKING:
    from metalloid.checker.report import Report

Rule = Callable[[Case], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    memory.accesses,
    synchronisation.races,
    synchronisation.flags,
    synchronisation.barriers,
    lanes.inactive,
    lanes.partial_results,
    coverage.unwritten,
    cost.cost,
    numerics.numbers,
    numerics.tested_under_fast_math,
)
AFTERWARDS: tuple[Callable[[Report], Iterable[Finding]], ...] = ()
