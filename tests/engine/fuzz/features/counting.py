"""Whole programs that only count in device memory, as histograms do, and read the counters under a second name.

Nothing is stored: what a thread has read is added to other counters. A threadgroup's part of the counters is its own,
so behind a barrier there is one right result.
"""

from __future__ import annotations

from tests.engine.fuzz.features import flow
from tests.engine.fuzz.writer import INTS, Place, Writer

PARTS, EACH = 4, 16  # of the counters: threadgroups lie along one axis, and are three at most
ADD = "atomic_fetch_add_explicit(&{array}[{at}], {value}, memory_order_relaxed);"
BARRIERS = (
    "threadgroup_barrier(mem_flags::mem_device);",
    "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
)


def write(w: Writer, threads: int) -> None:
    """`threads`: of the launch. Where each has a counter of its own, it may read it without a barrier."""
    place = Place()
    w.line(place, f"const uint part = ((group.x + group.y + group.z) & {PARTS - 1}u) * {EACH};")
    own = threads <= PARTS * EACH and w.chance(3)
    for _ in range(w.choose(1, 3)):
        if w.chance(3):
            flow.assign(w, place)
        if w.chance(2):
            with w.block(place, f"if {w.condition()}") as within:
                _add(w, within, own)
        elif w.chance(3):
            n = w.fresh("n")
            with w.block(place, f"for (uint {n} = 0; {n} < args[0]; {n}++)", meet=True) as within:
                _add(w, within, own)
                if own:
                    _read(w, within, own)
        else:
            _add(w, place, own)
        if not own:
            w.line(place, w.pick(BARRIERS))
        if not w.chance(4):
            _read(w, place, own)
            if not own:
                w.line(place, w.pick(BARRIERS))
    for _ in range(w.choose(1, 2)):
        at = f"({w.integer(1)} & 63u)" if w.chance(2) else "(t & 31u)"
        w.line(place, ADD.format(array="shared", at=at, value=w.pick(INTS)))


def _at(w: Writer, own: bool) -> str:
    return "i & 63u" if own else f"part + ({w.pick((w.integer(1), 't'))} & {EACH - 1}u)"


def _add(w: Writer, place: Place, own: bool) -> None:
    w.line(place, ADD.format(array="counts", at=_at(w, own), value=w.integer(1)))


def _read(w: Writer, place: Place, own: bool) -> None:
    w.line(place, f"{w.pick(INTS)} {w.pick(('+=', '^='))} again[{_at(w, own)}];")
