"""M106, M305: what of the outputs was never written."""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.checker.case import Case
from metalloid.findings import Finding


def unwritten(case: Case) -> Iterator[Finding]:
    return iter(())
