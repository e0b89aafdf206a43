"""Oracle and engine say the same about programs nobody wrote, also when a barrier is taken away."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.cpu.build import checked_program
from metalloid.backends.observe import Observation
from metalloid.compile import scalar
from metalloid.errors import NotVectorised
from metalloid.source import Source
from tests.checker_engine.both import keys
from tests.engine.both import HEADER
from tests.engine.programs import program
from tests.engine.test_fuzz import SETTINGS, SIZES, arrays, bound, differing

BARRIER = re.compile(r"threadgroup_barrier\([^;]*\);")


@st.composite
def cases(draw):
    text = program(lambda low, high: draw(st.integers(low, high)))
    size = draw(st.sampled_from(SIZES))
    width = draw(st.sampled_from((32, 64, 8)))
    return text, size, width, draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, 5))


def watched(text: str, size, width: int, number: int) -> tuple[Observation, Observation, np.ndarray]:
    """What the engine and the oracle saw, and which arrays differ."""
    grid, group = size
    before = arrays(int(np.prod(grid)), number)
    ir, signature = scalar(Source(HEADER + text, math="safe"), "k", checked=True)
    theirs, ours = [x.copy() for x in before], [x.copy() for x in before]
    oracle = interpret.observe(ir, bound(theirs, grid, group), step_limit=1_000_000)
    lanes = max(width, 32) if "simd" in text or "quad" in text else width
    launch: Launch = bound(ours, grid, group)
    engine = checked_program(ir, signature, lanes, level=0).run(launch, timeout=60)
    different = [n for n, (a, b) in enumerate(zip(theirs, ours, strict=True)) if differing(a, b).size]
    return engine, oracle, np.array(different)


def check(case) -> None:
    text, size, width, number, _ = case
    try:
        engine, oracle, different = watched(text, size, width, number)
    except NotVectorised:
        return
    if "undefined behaviour" in oracle.stopped:
        return
    told = f"{text}\n{size}, {width} lanes, seed {number}"
    assert keys(engine.records) == keys(oracle.records), told
    assert engine.stopped == oracle.stopped and engine.threads == oracle.threads, told
    if not any(r.rule[:2] in ("M1", "M2") for r in oracle.records):
        assert not different.size, f"{told}\narrays {different}"
        for index, marks in oracle.writers.items():
            touched = np.repeat(marks != 0, oracle.granules[index])
            mine = np.repeat(engine.writers[index] != 0, engine.granules[index])
            np.testing.assert_array_equal(mine[: len(touched)], touched[: len(mine)], err_msg=told)


@pytest.fixture(scope="module", autouse=True)
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """As in tests.engine.test_fuzz: nothing is to be imported under hypothesis."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METALLOID_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        check((program(lambda low, high: low), SIZES[1], 32, 1, 0))


def check_without_barrier(case) -> None:
    """One barrier less: a race that the oracle finds is found, and where it finds none there is none."""
    text, size, width, number, which = case
    places = list(BARRIER.finditer(text))
    if not places:
        return
    start, end = places[which % len(places)].span()
    text = f"{text[:start]};{text[end:]}"
    try:
        engine, oracle, _ = watched(text, size, width, number)
    except NotVectorised:
        return
    if oracle.stopped or engine.stopped:
        return
    races = [any(r.rule in ("M201", "M206") for r in seen.records) for seen in (engine, oracle)]
    assert races[0] == races[1], f"{text}\n{size}, {width} lanes, seed {number}: {races}"


@settings(max_examples=12, derandomize=True, **SETTINGS)
@given(cases())
@pytest.mark.timeout(600)
def test_programs(case):
    check(case)


@settings(max_examples=8, derandomize=True, **SETTINGS)
@given(cases())
@pytest.mark.timeout(600)
def test_programs_that_lack_a_barrier(case):
    check_without_barrier(case)


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(8))
@pytest.mark.timeout(4000)
def test_many_programs(part):
    @seed(part)
    @settings(max_examples=50, **SETTINGS)
    @given(cases())
    def programs(case):
        check(case)
        check_without_barrier(case)

    programs()
