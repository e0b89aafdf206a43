"""M207, M208: what SIMD-groups share among their lanes."""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.checker.case import Case
from metalloid.findings import Finding


def inactive(case: Case) -> Iterator[Finding]:
    """M207: a shuffle or broadcast from a lane that is not there."""
    for record in case.records("M207"):
        lane, read = record.detail.get("lane", 0), record.detail.get("read", 0)
        if record.detail.get("exists", True):
            why, hint = (
                "which took another branch",
                "do the SIMD-group operation outside the branch, in all lanes",
            )
        else:
            why = "which this SIMD-group does not have"
            hint = "make the threadgroup a multiple of 32 threads, or read only lanes that exist"
        yield case.finding(record, f"lane {lane} reads lane {read}, {why}: the value is undefined", hint)


def partial_results(case: Case) -> Iterator[Finding]:
    """M208: the result of a SIMD-group is stored as if it were the threadgroup's."""
    return iter(())
