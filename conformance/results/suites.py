"""Every case there is."""

from __future__ import annotations

from conformance.results.case import Case
from conformance.results.ggml import FAMILIES as GGML


def all_cases() -> list[Case]:
    return [case for family in GGML for case in family.cases()]
