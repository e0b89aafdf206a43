"""Watch a launch on the vector engine and on the oracle, and compare what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.cpu.build import checked_program
from metalloid.backends.cpu.checked.program import CheckedProgram
from metalloid.backends.observe import Observation, Record
from metalloid.compile import scalar
from metalloid.source import Source
from tests.engine.both import HEADER as METAL
from tests.engine.both import launch

HEADER = f"""{METAL}#define THREAD uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]
"""
LINES = HEADER.count("\n")
RACES = ("race in threadgroup memory", "race in device memory")


@cache
def checked_ir(text: str, name: str = "k"):
    return scalar(Source(HEADER + text, math="safe"), name, checked=True)


@cache
def program(text: str, name: str = "k", width: int = 0) -> CheckedProgram:
    return checked_program(*checked_ir(text, name), width=width)


def line(record_side) -> int:
    return record_side.location.line - LINES if record_side and record_side.location else 0


def keys(records: Sequence[Record]) -> set[tuple[str, int, int]]:
    """(kind, line, other line), counted from the kernel's first line.

    Which of two comes first is the schedule's, and which of many lanes are named differs: a pair that races
    across SIMD-groups may or may not be told of lanes of one SIMD-group as well, and a read that races with the
    write that would define it may or may not come before it.
    """
    found = set()
    for r in records:
        first, second = sorted((line(r.access), line(r.other))) if r.other else (line(r.access), 0)
        found.add((r.kind, first, second))
    raced = {n for kind, *lines in found if kind in (*RACES, "lockstep", "flags do not cover") for n in lines}
    found = {k for k in found if k[0] != "lockstep" or not any((kind, *k[1:]) in found for kind in RACES)}
    return {k for k in found if k[0] != "threadgroup read before write" or k[1] not in raced}


def watch(
    text: str,
    arrays: Sequence[np.ndarray],
    grid,
    threadgroup,
    *,
    local: Mapping[int, int] | None = None,
    undefined: Sequence[int] = (),
    width: int = 0,
    timeout: float | None = 20.0,
) -> Observation:
    made: Launch = launch(arrays, grid, threadgroup, local)
    return program(text, "k", width).run(replace(made, undefined=frozenset(undefined)), timeout=timeout)


def copies(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Copies; what was the same array twice is again."""
    made = {id(a): a.copy() for a in arrays}
    return [made[id(a)] for a in arrays]


def both(
    text: str,
    arrays: Sequence[np.ndarray],
    grid,
    threadgroup,
    *,
    local: Mapping[int, int] | None = None,
    undefined: Sequence[int] = (),
    widths: Sequence[int] = (0,),
) -> Observation:
    """What the engine saw; the oracle must have seen the same, and both must leave the same in memory."""
    theirs = copies(arrays)
    made = replace(launch(theirs, grid, threadgroup, local), undefined=frozenset(undefined))
    oracle = interpret.observe(checked_ir(text)[0], made)
    for width in widths:
        ours = copies(arrays)
        engine = watch(text, ours, grid, threadgroup, local=local, undefined=undefined, width=width)
        assert keys(engine.records) == keys(oracle.records), (
            f"{width or 'chosen'} lanes: engine only {keys(engine.records) - keys(oracle.records)}, "
            f"oracle only {keys(oracle.records) - keys(engine.records)}"
        )
        assert {r.memory for r in engine.records} == {r.memory for r in oracle.records}, "memory"
        if not oracle.records:
            for a, b in zip(theirs, ours, strict=True):
                np.testing.assert_array_equal(a, b)
        assert stored(engine) == stored(oracle), f"stores {stored(engine)} and {stored(oracle)}"
        assert engine.threads == oracle.threads
        if len({id(a) for a in arrays}) == len(arrays):  # of one array bound twice the oracle names the first
            assert engine.read == oracle.read, f"read {engine.read} and {oracle.read}"
            compare_writers(engine, oracle)
    return engine


def stored(seen: Observation) -> dict[int, int]:
    """Stores by line."""
    found: dict[int, int] = {}
    for place, count in seen.stores.items():
        found[place.line - LINES] = found.get(place.line - LINES, 0) + count
    return found


def compare_writers(a: Observation, b: Observation) -> None:
    """Who wrote what, byte by byte: granules may differ."""
    for index in b.writers:
        sides = []
        for seen in (a, b):
            sides.append(np.repeat(seen.writers[index] != 0, seen.granules[index]))
        length = min(len(s) for s in sides)
        np.testing.assert_array_equal(sides[0][:length], sides[1][:length])
