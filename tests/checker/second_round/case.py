"""A case of the second round: a kernel with one mistake, or its clean twin, and how it is launched.

`find` is the rule that has to be found; where it is empty, nothing but notes may be. A case that needs more than one
launch has a `call` that makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import metalloid as mt
from metalloid.checker import Report
from metalloid.runtime.kernel import Kernel
from tests.checker.triplet import HEADER, blank, compiled, floats

__all__ = ["Case", "blank", "floats", "halves", "ints", "pair", "report_of", "twin"]


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    arguments: Callable[[], list[Any]] = list
    sizes: Mapping[str, Any] = field(default_factory=dict)
    find: str = ""
    says: str = ""  # in the text of that finding
    math: str = "fast"
    call: Callable[[Kernel], None] | None = None  # instead of one launch
    slow: bool = False  # for the oracle
    seconds: float | None = None  # after which a launch of `call` is stopped


def pair(
    name: str,
    wrong: str,
    right: str,
    arguments: Callable[[], list[Any]],
    sizes: Mapping[str, Any],
    find: str,
    says: str = "",
    math: str = "fast",
) -> tuple[Case, Case]:
    """The same launch of a kernel and of its twin."""
    return (
        Case(name, wrong, arguments, sizes, find, says, math),
        Case(f"{name}, mended", right, arguments, sizes, math=math),
    )


def twin(case: Case, **changed: Any) -> Case:
    """The same kernel in a launch that is right."""
    made = {**case.__dict__, "name": f"{case.name}, mended", "find": "", "says": "", **changed}
    return Case(**made)


def report_of(case: Case) -> Report:
    kernel = compiled(HEADER + case.text, case.math)
    if case.call is None:
        return mt.check(kernel, *case.arguments(), **case.sizes)
    with mt.checked(timeout=case.seconds) as report:
        case.call(kernel)
    return report


def halves(count: int, value: float = 1.0) -> np.ndarray:
    return np.full(count, value, np.float16)


def ints(count: int, kind: type = np.int32) -> np.ndarray:
    return np.arange(count).astype(kind)
