"""Both engines say the same of threads that store what others have stored: who agrees, and who collides."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.cpu.build import checked_program
from metalloid.backends.interpret import Schedule
from metalloid.backends.observe import Observation
from metalloid.compile import scalar
from metalloid.source import Source
from tests.checker_engine.both import HEADER, both, keys
from tests.checker_engine.uniform_programs import skeleton, table
from tests.engine.both import launch

SIZES = ((64, 64), (192, 64), (140, 70), (96, 32), (40, 20), (8, 4))
ORDERS = (Schedule(), Schedule("reverse"), Schedule("shuffle", 1), Schedule("shuffle", 2))


def verdict(seen: Observation) -> set[str]:
    """Which memories have a race, inside threadgroups and across them, and what is read before it is written.

    The engines run threads in orders of their own, so of three accesses that collide they may name other pairs.
    """
    apart = ("race across threadgroups", "threadgroup read before write")
    found = {f"{r.kind if r.kind in apart else 'race'} {r.memory.kind}" for r in seen.records}
    return found - {"threadgroup read before write variable"} if "race variable" in found else found


def agreed(fresh: Callable[[], Launch], ir: str, engine) -> tuple[set[str], str]:
    """What the oracle says, and how the engine differs: what one of them sees in its order, the other sees in one of
    several. A store that its own thread has overwritten shows only to those who come between."""
    theirs = verdict(interpret.observe(ir, fresh()))
    ours = verdict(engine.run(fresh(), timeout=120))
    if ours - theirs:
        theirs.update(*(verdict(interpret.observe(ir, fresh(), order)) for order in ORDERS[1:]))
    missed = theirs - ours
    if missed:
        ours.update(*(verdict(engine.run(fresh(), timeout=120, seed=seed)) for seed in (1, 2, 3)))
    different = (theirs ^ ours) if ours - theirs else theirs - ours
    return theirs, f"oracle {theirs}, engine {ours}" if different else ""


def compare(number: int, tables: int) -> int:
    """One skeleton under several tables; how many programs had a race."""
    chance = random.Random(number)
    text, count = skeleton(chance.randint)
    ir, signature = scalar(Source(HEADER + text, math="safe"), "k", checked=True)
    engine, races = checked_program(ir, signature, chance.choice((0, 32, 64)), level=0), 0
    grid, group = chance.choice(SIZES)
    for _ in range(tables):
        rows = table(chance.randint, count)

        def fresh(rows: np.ndarray = rows) -> Launch:
            return launch([np.full(3, 9, np.uint32), np.zeros(grid, np.uint32), rows], grid, group)

        said, wrong = agreed(fresh, ir, engine)
        assert not wrong, (
            f"{wrong}\nskeleton {number}, {grid} threads by {group}\n{text}\n{rows.reshape(count, -1)}"
        )
        races += bool(said)
    return races


@pytest.mark.parametrize("part", range(4))
def test_stores_that_threads_agree_on(part: int):
    races = sum(compare(100 * part + n, 20) for n in (2, 3, 4))
    assert 0 < races < 60  # clean programs and races, both


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(10))
@pytest.mark.timeout(4000)
def test_many_stores_that_threads_agree_on(part: int):
    assert sum(compare(10_000 + 100 * part + n, 20) for n in range(25)) > 50


CASES = {
    "thread 5 of another threadgroup has not stored it": (
        "if (g == 0 && (t == 5 || t == 6)) o[0] = 1; if (g == 1 && t == 5) p[0] = o[0];",
        {("race across threadgroups", 2, 2)},
    ),
    "thread 5 has stored it itself": ("if (t == 5) o[0] = 1; if (t == 5) p[g] = o[0];", set()),
    "one of many stores another value": ("o[0] = t == 7;", {("race in device memory", 2, 2)}),
    "the first of those that agree changes it": (
        "o[0] = 1; threadgroup_barrier(mem_flags::mem_none); if (g == 0 && t == 0) o[0] = 2;",
        {("flags do not cover", 2, 2), ("race across threadgroups", 2, 2)},
    ),
    "a lane in the middle has not stored it": (
        "if (g == 0 && (t == 0 || t == 63)) o[0] = 1; if (g == 0) p[t] = o[0];",
        {("race in device memory", 2, 2), ("lockstep", 2, 2)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_who_agrees(name: str):
    body, expected = CASES[name]
    text = f"""kernel void k(device uint* o, device uint* p, THREAD, uint g [[threadgroup_position_in_grid]]) {{
        {body}
    }}"""
    seen = both(text, [np.zeros(1, np.uint32), np.zeros(64, np.uint32)], 128, 64, widths=(0, 64))
    folded = {k for k in expected if k[0] != "lockstep" or len(expected) == 1}
    assert folded <= keys(seen.records) and bool(seen.records) == bool(expected)
