"""Loads of lanes at equal distances of a few elements, where some lanes are idle: every second element of a row at the
end of it.

A gather takes as long as sixteen loads, narrow elements twice that. What lies between the first lane that is there and
the last is inside memory, since both are; so a masked load brings all of it, and lanes pick theirs out.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.contiguous import concat
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.access.patterns import address_of
from metalloid.backends.cpu.lower.access.plan import AccessPlan, step_of
from metalloid.backends.cpu.lower.emitter import Emitter


def load_steps(e: Emitter, place: MemRef, plan: AccessPlan, kind: str, size: int, align: int) -> str:
    """Idle lanes get anything."""
    assert e.mask is not None
    step = step_of(plan.spots, size)
    first, last, far = e.first(e.mask), e.last(e.mask), abs(step)
    if step < 0:
        first, last = e.put(f"sub i32 {e.width - 1}, {last}"), e.put(f"sub i32 {e.width - 1}, {first}")
    low = e.put(f"mul i32 {first}, {far}")
    between = e.put(f"sub i32 {last}, {first}")
    room = e.put(f"add i32 {e.put(f'mul i32 {between}, {far}')}, 1")
    lowest = min(plan.spots, key=lambda s: s.offset)
    lanes = min(e.width, max(1, e.out.target.vector_bytes // max(size, 4)))
    columns = []
    for begin in range(0, e.width, lanes):
        count = lanes * far
        start = lowest.beyond(begin * far * size)
        there = _between(e, begin * far, count, low, room, max(size, 2))
        row = masked.load(e, address_of(e, place, start), there, kind, align, count)
        picks = ", ".join(f"i32 {n * far}" for n in range(lanes)[:: 1 if step > 0 else -1])
        vector = f"<{count} x {kind}>"
        columns.append(e.put(f"shufflevector {vector} {row}, {vector} poison, <{lanes} x i32> <{picks}>"))
    return concat(e, kind, columns if step > 0 else columns[::-1], lanes)


def _between(e: Emitter, begin: int, count: int, low: str, room: str, size: int) -> str:
    """Which of `count` elements from number `begin` on are among the `room` from number `low` on."""
    number = f"i{8 * min(size, 4)}"
    numbers = e.constants(number, list(range(begin, begin + count)))
    small, many = (
        (low, room) if number == "i32" else (e.put(f"trunc i32 {x} to {number}") for x in (low, room))
    )
    above = e.put(f"sub <{count} x {number}> {numbers}, {e.splat(number, small, count)}")
    return e.put(f"icmp ult <{count} x {number}> {above}, {e.splat(number, many, count)}")
