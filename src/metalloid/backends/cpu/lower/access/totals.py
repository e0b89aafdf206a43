"""Totals of several lanes together, in the place of one after the other (`in_turn.py`).

A register of a lane's numbers is halved four times until one number is left. Two lanes' registers halved are one
register of both: what is added, and its order, are the same, with a quarter of the instructions, and the totals of
eight lanes stand side by side in the end. Idle lanes read what the first lane that runs reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from metalloid.backends.cpu.lower.access.lane_rows import borrowed
from metalloid.backends.cpu.lower.access.packs import Packs
from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.backends.cpu.lower.ops.partial_total import both

GROUP = 8  # lanes
STRAIGHT = 16  # lanes of a gang that is written without a loop
MOST = 40  # instructions that a lane's numbers are made by: more are written once
_FAULTS = ("udiv", "sdiv", "urem", "srem")


class Part(NamedTuple):
    """A register of several lanes' numbers, so many of each."""

    vector: str
    lanes: int
    numbers: int


def fits(e: Emitter, packs: Packs) -> bool:
    """Whether lanes' totals are made together: the code is not too long, and idle lanes may do it as well."""
    if e.width % GROUP or e.out.brief or len(packs.found) > MOST:
        return False
    if e.mask is None:
        return True
    return e.width <= STRAIGHT and not any(packs.made[pack[0]].opcode in _FAULTS for pack in packs.found)


def of_all(e: Emitter, offset: Val) -> Val:
    """Where lanes read: those that are idle where another does."""
    if e.mask is None or offset.uniform:
        return offset
    return Val(offset.type, vec=borrowed(e, e.expand(offset)))


def written(e: Emitter, fold: str, kind: str, numbers: int, lane: Callable[[str], str]) -> Val:
    """The totals of all lanes; `lane` writes a register of so many numbers of one."""
    if e.width <= STRAIGHT:
        return Val(kind, vec=_totals(e, fold, kind, [str(n) for n in range(e.width)], numbers, lane))
    results = e.alloca(e.vt(kind), "totals")
    for first in _groups(e):
        lanes = [e.put(f"or i32 {first}, {n}") if n else first for n in range(GROUP)]
        made = _totals(e, fold, kind, lanes, numbers, lane)
        place = e.put(f"getelementptr {kind}, ptr {results}, i32 {first}")
        e.do(f"store <{GROUP} x {kind}> {made}, ptr {place}")
    return Val(kind, vec=e.put(f"load {e.vt(kind)}, ptr {results}"))


def _groups(e: Emitter) -> Iterator[str]:
    """Code between the two steps of this iterator runs for each group; yields its first lane."""
    now, (head, done) = e.alloca("i32", "group"), (e.fresh_label(x) for x in ("group", "group.done"))
    e.do(f"store i32 0, ptr {now}")
    e.do(f"br label %{head}")
    e.label(head)
    first = e.put(f"load i32, ptr {now}")
    yield first
    after = e.put(f"add i32 {first}, {GROUP}")
    e.do(f"store i32 {after}, ptr {now}")
    e.do(f"br i1 {e.put(f'icmp ult i32 {after}, {e.width}')}, label %{head}, label %{done}")
    e.label(done)


def _totals(
    e: Emitter, fold: str, kind: str, lanes: list[str], numbers: int, lane: Callable[[str], str]
) -> str:
    part = _part(e, fold, kind, lanes, numbers, lane)
    while part.numbers > 1:
        part = _halved(e, fold, kind, [part])
    return part.vector


def _part(
    e: Emitter, fold: str, kind: str, lanes: list[str], numbers: int, lane: Callable[[str], str]
) -> Part:
    """Lanes by twos, then by fours: no more registers wait than there are such steps."""
    if len(lanes) == 1:
        return Part(lane(lanes[0]), 1, numbers)
    half = len(lanes) // 2
    parts = [_part(e, fold, kind, own, numbers, lane) for own in (lanes[:half], lanes[half:])]
    return _halved(e, fold, kind, parts)


def _halved(e: Emitter, fold: str, kind: str, parts: list[Part]) -> Part:
    """The first half of each lane's numbers with the second."""
    (a, lanes, n), b = parts[0], parts[-1].vector
    rows, count = lanes * len(parts), lanes * n
    if n == 1:
        return Part(_two(e, kind, a, b, count, list(range(rows))), rows, 1)
    half = n // 2
    low, high = (
        _two(e, kind, a, b, count, [r * n + x for r in range(rows) for x in range(start, start + half)])
        for start in (0, half)
    )
    return Part(both(e, fold, kind, rows * half, low, high), rows, half)


def _two(e: Emitter, kind: str, a: str, b: str, count: int, index: list[int]) -> str:
    if a == b:
        return pick(e, kind, a, count, index)
    picks = ", ".join(f"i32 {x}" for x in index)
    return e.put(
        f"shufflevector <{count} x {kind}> {a}, <{count} x {kind}> {b}, <{len(index)} x i32> <{picks}>"
    )
