"""The examples of the pages: the wrong one breaks the rule, the right one breaks none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import metalloid as mt
from metalloid.checker import Report
from metalloid.rules import all_rules, rule
from tests.checker.numerics_triplets import blank_halves, halves
from tests.checker.triplet import blank, compiled, floats

Call = tuple[Callable[[], list[Any]], dict[str, Any]]


def empty(count: int) -> mt.Buffer:
    return mt.device().empty(count)


def indices() -> np.ndarray:
    return (np.arange(64) % 8).astype(np.int32)


def totals() -> np.ndarray:
    x = floats(8)
    x[3] = 0
    return x


LAUNCHES: dict[str, tuple[Call, Call]] = {
    "M101": (
        (lambda: [blank(64), floats(64)], {"grid": 64}),
        (lambda: [blank(64), floats(64), 64], {"grid": 64}),
    ),
    "M102": (
        (lambda: [blank(50), floats(64)], {"grid": 64}),
        (lambda: [blank(50), floats(64), 50], {"grid": 64}),
    ),
    "M103": (
        (lambda: [blank(61), floats(64)], {"grid": 61}),
        (lambda: [blank(61), floats(64)], {"grid": 61}),
    ),
    "M104": (
        (lambda: [blank(1), floats(50), 50], {"grid": 64, "threadgroup": 64}),
        (lambda: [blank(1), floats(50), 50], {"grid": 64, "threadgroup": 64}),
    ),
    "M105": (
        (lambda: [empty(64), floats(64)], {"grid": 64}),
        (lambda: [empty(64), floats(64)], {"grid": 64}),
    ),
    "M106": (
        (lambda: [blank(67), floats(67), 67], {"grid": 17}),
        (lambda: [blank(67), floats(67), 67], {"grid": 17}),
    ),
    "M107": (
        (lambda: [blank(64), floats(64)], {"grid": 64}),
        (lambda: [blank(64), floats(64)], {"grid": 64}),
    ),
    "M108": (
        (lambda: [blank(64), floats(64)], {"grid": 64, "threadgroup": 64}),
        (lambda: [blank(64), floats(64)], {"grid": 64, "threadgroup": 64}),
    ),
    "M109": (
        (lambda: [blank(8), floats(128)], {"grid": 8}),
        (lambda: [blank(8), floats(128)], {"grid": 8}),
    ),
    "M110": (
        (lambda: [blank(8), floats(16), 5], {"grid": 8}),
        (lambda: [blank(8), floats(16), 5], {"grid": 8}),
    ),
    "M622": (
        (lambda: [blank(8), floats(32)], {"grid": 8}),
        (lambda: [blank(8), floats(32)], {"grid": 8}),
    ),
    "M623": (
        (lambda: [blank(8), floats(8)], {"grid": 8}),
        (lambda: [blank(8), floats(8)], {"grid": 8}),
    ),
    "M201": (
        (lambda: [blank(1), floats(128)], {"grid": 128, "threadgroup": 128}),
        (lambda: [blank(1), floats(128)], {"grid": 128, "threadgroup": 128}),
    ),
    "M202": (
        (lambda: [np.zeros(8, np.float32), indices(), floats(64)], {"grid": 64, "threadgroup": 64}),
        (lambda: [np.zeros(8, np.float32), indices(), floats(64)], {"grid": 64, "threadgroup": 64}),
    ),
    "M203": (
        (lambda: [floats(128), 128], {"grid": 128, "threadgroup": 32}),
        (lambda: [floats(128), blank(128)], {"grid": 128, "threadgroup": 32}),
    ),
    "M204": (
        (lambda: [blank(100), floats(100), 100], {"grid": 128, "threadgroup": 64}),
        (lambda: [blank(100), floats(100), 100], {"grid": 128, "threadgroup": 64}),
    ),
    "M205": (
        (lambda: [blank(64), floats(64)], {"grid": 64, "threadgroup": 64}),
        (lambda: [blank(64), floats(64)], {"grid": 64, "threadgroup": 64}),
    ),
    "M206": (
        (lambda: [blank(32), floats(32)], {"grid": 32, "threadgroup": 32}),
        (lambda: [blank(32), floats(32)], {"grid": 32, "threadgroup": 32}),
    ),
    "M207": (
        (lambda: [blank(40), floats(40), 40], {"grid": 64, "threadgroup": 64}),
        (lambda: [blank(40), floats(40), 40], {"grid": 64, "threadgroup": 64}),
    ),
    "M208": (
        (lambda: [blank(2), floats(256)], {"grid": 256, "threadgroup": 128}),
        (lambda: [blank(2), floats(256)], {"grid": 256, "threadgroup": 128}),
    ),
    "M209": (
        (lambda: [np.zeros(1, np.uint32), blank(128)], {"grid": 128, "threadgroup": 32, "timeout": 1}),
        (lambda: [np.zeros(1, np.uint32), blank(128)], {"grid": 128, "threadgroup": 32}),
    ),
    "M210": (
        (lambda: [np.zeros(1, np.uint32), floats(128)], {"grid": 128, "threadgroup": 32}),
        (lambda: [np.zeros(1, np.uint32), floats(128)], {"grid": 128, "threadgroup": 32}),
    ),
    "M401": (
        (lambda: [blank(64), floats(64), totals()], {"grid": 64}),
        (lambda: [blank(64), floats(64), totals()], {"grid": 64}),
    ),
    "M402": (
        (lambda: [blank_halves(3), halves(4096), 1365], {"grid": 3}),
        (lambda: [blank_halves(3), halves(4096), 1365], {"grid": 3}),
    ),
    "M403": (
        (lambda: [blank_halves(64), halves(64, 300), 64], {"grid": 64}),
        (lambda: [blank_halves(64), halves(64, 300), 64], {"grid": 64}),
    ),
    "M404": (
        (lambda: [blank(8), floats(64), 8], {"grid": 8}),
        (lambda: [blank(8), floats(64), 8], {"grid": 8}),
    ),
    "M405": (
        (lambda: [blank(64), floats(64), 40], {"grid": 64}),
        (lambda: [blank(64), floats(64), 40], {"grid": 64}),
    ),
    "M406": (
        (lambda: [np.zeros(1, np.uint32), floats(256)], {"grid": 256, "threadgroup": 64}),
        (lambda: [np.zeros(1, np.uint32), floats(256)], {"grid": 256, "threadgroup": 64}),
    ),
    "M407": (
        (lambda: [np.zeros(64, np.int32), indices() + 9, indices()], {"grid": 64}),
        (lambda: [np.zeros(64, np.int32), indices() + 9, indices()], {"grid": 64}),
    ),
    "M408": (
        (lambda: [np.zeros(8, np.int32), np.full(512, 1000, np.int16)], {"grid": 8}),
        (lambda: [np.zeros(8, np.int32), np.full(512, 1000, np.int16)], {"grid": 8}),
    ),
    "M305": (
        (lambda: [blank(200), floats(200)], {"grid": 100}),
        (lambda: [blank(200), floats(200), 200], {"grid": 100}),
    ),
}


def test_every_example_is_launched():
    """Those of M6 are mistakes that the compiler finds: tests/frontend/test_hints.py."""
    pages = {p.number for p in all_rules() if "```metal wrong" in p.text and p.number[1] != "6"}
    assert pages - set(LAUNCHES) == set(), "say in LAUNCHES how their two examples are launched"


def checked(text: str, call: Call) -> Report:
    arguments, sizes = call
    return mt.check(compiled(text), *arguments(), **sizes)


@pytest.mark.parametrize("number", LAUNCHES)
def test_the_example_of_a_page_breaks_its_rule_and_the_fix_mends_it(number: str):
    page = rule(number)
    wrong, right = LAUNCHES[number]
    report = checked(page.wrong, wrong)
    assert [f.rule for f in report.findings if f.severity != "note"] == [number], report.text()
    mended = checked(page.right, right)
    assert [f.text() for f in mended.findings if f.severity != "note"] == []
