"""Kernels that find row and column of a flat index: gangs end where a row does, and are told which it is.

`i / width` and `i % width` are a division for each lane, and what they lead to is looked up lane by lane. Where threads
of a threadgroup are one row of the grid, its gangs need not start at multiples of their width: from the first thread's
quotient and rest on, whole gangs run up to the row's end, then one with idle lanes (or a register's lanes at a time and
lane by lane, where loads and stores have no masks), and the next gang begins with the next row. All of it is as in a
grid of two dimensions (`transforms/given_rows.py`). Rows shorter than a register, and numbers that are no rows, run as
they did: that is a function of its own, out of the way.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.base import Guard
from metalloid.backends.cpu.lower.output import Output
from metalloid.backends.cpu.lower.row_batches import given, threadgroup
from metalloid.backends.cpu.lower.row_costs import least_row
from metalloid.backends.cpu.lower.row_passes import NODES, Pass, passes_of, widths
from metalloid.backends.cpu.lower.sliding_gangs import MOST, width_text
from metalloid.backends.cpu.lower.text import ENDS
from metalloid.ir import Function
from metalloid.ir.intrinsics import BARRIER, PRIVATE, THREADGROUP, among_lanes
from metalloid.ir.layout import DataLayout
from metalloid.ir.values import Int
from metalloid.records import dataclass, replace
from metalloid.targets import TargetInfo
from metalloid.transforms.given_rows import Pair, divided, flat, given_rows
from metalloid.transforms.one_row import DIVISIONS

_ELSEWHERE = frozenset({BARRIER, PRIVATE, THREADGROUP})

Write = Callable[[Output, Function, Uniformity], str]  # a gang as a function


@dataclass(frozen=True)
class RowGangs:
    """A kernel, its divisions, and the same for gangs inside of one row."""

    lanes: LaneLayout
    pairs: tuple[Pair, ...]
    inner: Uniformity  # of the function that is told their rows
    passes: tuple[Pass, ...]  # gangs of rows
    least: int  # threads of a row that gains by it


def row_gangs(
    function: Function, lanes: LaneLayout, layout: DataLayout, guard: Guard, target: TargetInfo
) -> RowGangs | None:
    """How a kernel of one region runs in such gangs; None where it does not."""
    x, y, z = lanes.size
    if not 1 < lanes.width <= x or y * z > 1 or lanes.rows or lanes.tables or guard == "robust":
        return None
    code = list(function.instructions())
    if len(code) > MOST or not any(i.opcode in DIVISIONS for i in code):
        return None
    if any(among_lanes(i) or i.called in _ELSEWHERE or i.opcode == "alloca" for i in code):
        return None
    sliding = replace(lanes, rows=True, slides=True)
    known = _known(function, sliding, layout)
    least = 2
    for _ in range(2):  # the second time without rows that are too short in the text
        pairs, inside = _told(known, bool(guard), least, target.lanes32)
        if not pairs or (not target.masks_memory and inside.divergence.branches):
            return None
        passes = passes_of(inside, bool(guard), target)
        least = least_row(known, inside, target, len(pairs), widths(passes))
        divisors = flat(inside.flow.function, pairs)
        if all(not isinstance(by, Int) or by.signed >= least for by in divisors):
            return RowGangs(sliding, pairs, inside, passes, least)
    return None


def _told(known: Uniformity, guard: bool, least: int, register: int) -> tuple[tuple[Pair, ...], Uniformity]:
    """All pairs, and the function that is told their rows. What a row leaves is a number that may be divided again."""
    pairs: tuple[Pair, ...] = ()
    lanes, layout = known.lanes, known.layout
    while more := divided(known, guard, least, register, pairs):
        known = _known(given_rows(known.flow.function, more, len(pairs)), lanes, layout)
        pairs += more
    return pairs, known


def _known(function: Function, lanes: LaneLayout, layout: DataLayout) -> Uniformity:
    return Uniformity(Flow(function), UnderlyingObjects(function), lanes, layout)


def written(out: Output, made: RowGangs, arguments: str, plain: str, write: Write) -> str:
    """All functions of the kernel. The one that is called runs a threadgroup; `plain` runs a gang as others do."""
    types = [str(number.type) for number, _ in made.pairs]
    told = "".join(f", {t} %row.{n}" for n, t in enumerate(types))
    own = replace(out, lanes=made.lanes)
    texts = [
        width_text(own, lanes, made.inner.flow.function, name, write, f"i32 %lanes{told}")
        for rows in made.passes
        for name, lanes in rows.gangs.items()
    ]
    texts += [plain.replace("@segment0(", "@segment0.plain("), _plain_row(out, arguments)]
    texts.append(threadgroup(own, made.inner, made.pairs, made.least, made.passes, arguments))
    return "\n".join([*texts, NODES])


def _plain_row(out: Output, arguments: str) -> str:
    """All gangs of a threadgroup, as they run without rows."""
    width = out.lanes.width
    lines = [
        f"define internal i32 @segment0.odd({arguments}) noinline alignstack(64) nounwind {{",
        "start:",
        f"  %up = add i32 %count, {width - 1}",
        f"  %gangs = udiv i32 %up, {width}",
        "  br label %one",
        "one:",
        "  %u = phi i32 [ 0, %start ], [ %u.next, %fine ]",
        f"  %got = call i32 @segment0.plain({given(arguments).replace('i32 %j,', 'i32 %u,')})",
        "  %bad = icmp eq i32 %got, -1",
        "  br i1 %bad, label %stopped, label %fine",
        "fine:",
        "  %u.next = add i32 %u, 1",
        "  %more = icmp ult i32 %u.next, %gangs",
        "  br i1 %more, label %one, label %done",
        *ENDS,
    ]
    return "\n".join(lines)
