"""Sets of numbers: whatever a kernel computes from members is a member of what the analysis says."""

from __future__ import annotations

import random

import pytest

from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.branch_facts import refine, refine_summand
from metalloid.analysis.intervals.evaluate import OPERATIONS
from metalloid.analysis.intervals.strided import Span
from metalloid.analysis.intervals.trip_counts import Stepper, count

BITS = 5
SIZE = 1 << BITS


def members(a: Span | None, bits: int = BITS) -> set[int]:
    if a is None:
        return set()
    return {x % (1 << bits) for x in range(a.lo, a.hi + 1, a.step or 1)}


def signed(x: int, bits: int = BITS) -> int:
    x %= 1 << bits
    return x - (1 << bits) if x >> bits - 1 else x


def toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << b % BITS,
    "lshr": lambda a, b: a >> b % BITS,
    "ashr": lambda a, b: signed(a) >> b % BITS,
    "udiv": lambda a, b: a // b if b else 0,
    "urem": lambda a, b: a % b if b else 0,
    "sdiv": lambda a, b: toward_zero(signed(a), signed(b)) if b else 0,
    "srem": lambda a, b: signed(a) - signed(b) * toward_zero(signed(a), signed(b)) if b else 0,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "ult": lambda a, b: a < b,
    "ule": lambda a, b: a <= b,
    "ugt": lambda a, b: a > b,
    "uge": lambda a, b: a >= b,
    "slt": lambda a, b: signed(a) < signed(b),
    "sle": lambda a, b: signed(a) <= signed(b),
    "sgt": lambda a, b: signed(a) > signed(b),
    "sge": lambda a, b: signed(a) >= signed(b),
}


def some(choose: random.Random) -> Span:
    lo = choose.randrange(-SIZE, SIZE)
    if choose.random() < 0.3:
        return S.number(lo)
    step = choose.choice((1, 1, 2, 3, 4, 8))
    return S.fit(S.make(lo, lo + choose.randrange(SIZE), step), BITS)


@pytest.mark.parametrize("opcode", EXACT)
def test_operations_lose_nobody(opcode):
    choose = random.Random(opcode)
    for _ in range(1500):
        a, b = some(choose), some(choose)
        made = members(OPERATIONS[opcode]([a, b], BITS, BITS))
        right = {EXACT[opcode](x, y) % SIZE for x in members(a) for y in members(b)}
        assert right <= made, (opcode, a, b, sorted(right - made))


def test_widening_and_narrowing():
    choose = random.Random(1)
    for _ in range(2000):
        a = some(choose)
        assert members(a) <= members(OPERATIONS["zext"]([a], 8, BITS), 8)
        assert {signed(x) % 256 for x in members(a)} <= members(OPERATIONS["sext"]([a], 8, BITS), 8)
        assert {x % 8 for x in members(a)} <= members(OPERATIONS["trunc"]([a], 3, BITS), 3)


def test_join_and_meet():
    choose = random.Random(2)
    for _ in range(3000):
        a, b = some(choose), some(choose)
        assert members(a) | members(b) <= members(S.join(a, b, BITS))
        assert members(a) & members(b) <= members(S.meet(a, b, BITS)), (a, b)


@pytest.mark.parametrize("predicate", COMPARE)
def test_conditions_keep_those_that_fulfil_them(predicate):
    choose = random.Random(predicate)
    for _ in range(2000):
        a, b = some(choose), some(choose)
        kept = members(refine(a, predicate, b, BITS, BITS))
        right = {x for x in members(a) if any(COMPARE[predicate](x, y) for y in members(b))}
        assert right <= kept, (predicate, a, b, right - kept)


@pytest.mark.parametrize("predicate", COMPARE)
def test_rounds_of_loops(predicate):
    """`while (x < n) x += step`: never more rounds than counted, and no count where it may run for ever."""
    choose = random.Random(predicate)
    counted = 0
    for _ in range(3000):
        start, limit, step = some(choose), some(choose), choose.choice((-4, -3, -1, 1, 2, 3, 5))
        found = count(Stepper(start, step, BITS), predicate, limit)
        if found is None:
            continue
        counted += 1
        for x in members(start):
            for y in members(limit):
                rounds, now = 0, x
                while COMPARE[predicate](now, y) and rounds <= 2 * SIZE:
                    now, rounds = (now + step) % SIZE, rounds + 1
                assert rounds <= found, (start, limit, step, x, y)
    assert counted > 100


def test_what_a_comparison_of_a_sum_says_about_its_summand_holds_for_every_member():
    bits, compare = 4, {"ult": int.__lt__, "ule": int.__le__, "ugt": int.__gt__, "uge": int.__ge__}
    spans = [S.make(lo, hi, step) for lo in range(0, 16, 3) for hi in range(lo, 20, 4) for step in (1, 2, 3)]
    lost = 0
    for a in spans:
        for other in spans:
            for shift in (-8, -3, -1, 1, 2, 7):
                for predicate, holds in compare.items():
                    found = refine_summand(a, predicate, other, shift, bits, bits)
                    kept = members(found, bits)
                    right = {
                        x
                        for x in members(a, bits)
                        if any(holds((x + shift) % 16, y) for y in members(other, bits))
                    }
                    assert right <= kept, (a, other, shift, predicate, found)
                    lost += len(members(a, bits) - kept)
    assert lost > 1000  # it says something
