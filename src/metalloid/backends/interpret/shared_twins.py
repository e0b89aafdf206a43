"""Twins of what lanes do together: a shuffle hands on another lane's twin, a sum adds up those of all lanes.

Shuffles move bits, so a half goes through them as an integer: the twin of the number that was made bits goes along,
and is found again where the bits become a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from metalloid.backends.interpret import simd
from metalloid.backends.interpret.follow import born
from metalloid.backends.interpret.twins import LOST_ULPS, MOST_ADDS, Real, belongs, real, ulp
from metalloid.ir.floats import to_float
from metalloid.ir.intrinsics import Collective, collective
from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import FloatType
from metalloid.ir.values import Local

NARROW = ("half", "bfloat")
Lanes = Mapping[int, Any]


def shared(function: Function, i: Instruction, threads: Lanes, arrived: Lanes) -> dict[int, Real]:
    """The twin of what each lane gets, by lane; none where it is not a number that twins follow."""
    found = collective(i.called)
    brought = _brought(function, i)
    if found is None or brought is None:
        return {}
    name, type = brought
    twins = {lane: _twin(threads[lane], name, type, values[0]) for lane, values in arrived.items()}
    if found.what in simd.SHUFFLES:
        return _moved(i.called, twins, arrived)
    if found.what == "sum" and isinstance(i.type, FloatType):
        return _sums(found, i, threads, twins, arrived)
    if found.what in ("max", "min") and isinstance(i.type, FloatType):
        return _taken(found, i, twins, arrived)
    return {}


def _brought(function: Function, i: Instruction) -> tuple[str, FloatType] | None:
    """The number that lanes bring along, and its type: behind a cast to bits where it is moved as such."""
    value = i.operands[0] if i.operands else None
    made = function.definitions.get(value.name) if isinstance(value, Local) else None
    if made is not None and made.opcode == "bitcast":
        value = made.operands[0]
    if isinstance(value, Local) and isinstance(value.type, FloatType):
        return value.name, value.type
    return None


def _twin(thread: Any, name: str, type: FloatType, bits: int) -> Real:
    if thread.entering:  # values of a loop that comes round here
        thread.twins.update(thread.entering)
        thread.entering.clear()
    had = thread.twins.get(name)
    return had if isinstance(had, Real) and belongs(had, bits) else real(type, bits)


def _moved(name: str, twins: Mapping[int, Real], arrived: Lanes) -> dict[int, Real]:
    """Lanes' own numbers are moved in place of what they brought: whose is it that each gets?"""
    fills = len(next(iter(arrived.values()))) > 2
    marks = {
        lane: (lane, -1 - lane, *values[2:]) if fills else (lane, *values[1:])
        for lane, values in arrived.items()
    }
    sources = simd.operation(name)(marks)
    return {lane: twins[source] for lane, source in sources.items() if source in twins}


def _taken(found: Collective, i: Instruction, twins: Mapping[int, Real], arrived: Lanes) -> dict[int, Real]:
    """The twin of the number that was taken; of several that are equal, one that remembers an overflow."""
    made: dict[int, Real] = {}
    for lane, bits in simd.operation(i.called)(dict(arrived)).items():
        start = lane - lane % found.lanes
        fits = [t for other, t in twins.items() if start <= other < start + found.lanes and t.actual == bits]
        if fits:
            made[lane] = next((t for t in fits if t.birth), fits[0])
    return made


def _sums(
    found: Collective, i: Instruction, threads: Lanes, twins: Mapping[int, Real], arrived: Lanes
) -> dict[int, Real]:
    assert isinstance(i.type, FloatType)
    results = simd.operation(i.called)(dict(arrived))
    made: dict[int, Real] = {}
    for lane, bits in results.items():
        start = lane - lane % found.lanes
        parts = [twin for other, twin in twins.items() if start <= other < start + found.lanes]
        if math.isfinite(result := to_float(i.type, bits)):
            made[lane] = _sum(i, i.type, bits, parts)
        elif math.isinf(result) and all(math.isfinite(to_float(i.type, p.actual)) for p in parts):
            birth = born(threads[lane], i, i.type, (), result)
            made[lane] = Real(bits, sum(p.exact for p in parts), birth=birth)
        elif birth := next(
            (p.birth for p in parts if p.birth), None
        ):  # 1 / sum may be finite again, and wrong
            made[lane] = Real(bits, sum(p.exact for p in parts), birth=birth)
    return made


def _sum(i: Instruction, type: FloatType, bits: int, parts: list[Real]) -> Real:
    result, exact = to_float(type, bits), sum(p.exact for p in parts)
    birth = next((p.birth for p in parts if p.birth), None)
    longest = max(parts, key=lambda p: p.adds)
    narrow = type if type.name in NARROW else longest.narrow
    if narrow is None:
        return Real(bits, exact, birth=birth)
    own = type.name in NARROW
    adds = sum(p.adds for p in parts) + (len(parts) - 1 if own else 0)
    largest = max([abs(result), *(p.largest for p in parts)])
    lost = abs(result - exact) / ulp(narrow, largest) if math.isfinite(exact) else 0.0
    worst = max(parts, key=lambda p: p.lost)
    summed = i if own and worst.lost <= LOST_ULPS else worst.summed or longest.summed
    return Real(bits, exact, min(adds, MOST_ADDS), narrow, largest, lost, summed, birth)
