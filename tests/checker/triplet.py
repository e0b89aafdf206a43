"""A triplet: a kernel, a launch, and what the checker must find. A twin is the same, mended, with nothing to find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import metalloid as mt
from metalloid.checker import Report
from metalloid.runtime.kernel import Kernel

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"


@dataclass(frozen=True)
class Triplet:
    """`find` is (rule, line) of each finding, lines counted in `text`; arguments are made anew for every run."""

    name: str
    text: str
    arguments: Callable[[], list[Any]]
    sizes: Mapping[str, Any]
    find: tuple[tuple[str, int], ...] = ()
    math: str = "fast"


@cache
def compiled(text: str, math: str = "fast") -> Kernel:
    library = mt.device().library(text, name="kernel.metal", math=math)
    return library[library.kernels[0]]


def run(triplet: Triplet) -> Report:
    return mt.check(compiled(HEADER + triplet.text, triplet.math), *triplet.arguments(), **triplet.sizes)


def found(report: Report) -> list[tuple[str, int]]:
    """(rule, line in the text below the header) of all findings but notes about cost."""
    return sorted(
        (f.rule, f.location.line - HEADER.count("\n") if f.location else 0)
        for f in report.findings
        if f.severity != "note"
    )


def floats(count: int) -> np.ndarray:
    """Numbers that are neither zero nor equal."""
    return (np.arange(count) % 37 + 1).astype(np.float32)


def blank(*shape: int) -> np.ndarray:
    """An output whose old contents show."""
    return np.full(shape, 777, np.float32)
