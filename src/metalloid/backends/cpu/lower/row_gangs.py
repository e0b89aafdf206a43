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
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.free_shape import DEEPEST, ROUNDS
from metalloid.backends.cpu.lower.instructions import instruction
from metalloid.backends.cpu.lower.output import Output
from metalloid.backends.cpu.lower.sliding_gangs import MOST, gangs, width_text
from metalloid.ir import Function
from metalloid.ir.intrinsics import BARRIER, PRIVATE, THREADGROUP, among_lanes
from metalloid.ir.layout import DataLayout
from metalloid.records import dataclass, replace
from metalloid.targets import TargetInfo
from metalloid.transforms.given_rows import Pair, divided, given_rows, needed
from metalloid.transforms.one_row import DIVISIONS

# Cycles of a lane: one that is looked up, and a division; and vector instructions of a call.
LOOKUP, DIVISION, CALL = 2, 1, 10
_ELSEWHERE = frozenset({BARRIER, PRIVATE, THREADGROUP})
_MOST_NUMBER = {"i32": (1 << 31) - 1, "i64": (1 << 63) - 1}  # of signed numbers as well

Write = Callable[[Output, Function, Uniformity], str]  # a gang as a function


@dataclass(frozen=True)
class RowGangs:
    """A kernel, its divisions, and the same for gangs inside of one row."""

    lanes: LaneLayout
    whole: Function
    pairs: tuple[Pair, ...]
    inner: Function
    known: Uniformity  # of the whole
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
    pairs = divided(known, bool(guard), target.lanes32)
    if not pairs:
        return None
    inner = given_rows(function, pairs)
    inside = _known(inner, sliding, layout)
    if not target.masks_memory and inside.divergence.branches:
        return None
    return RowGangs(sliding, function, pairs, inner, known, _least(known, inside, target, len(pairs)))


def _least(known: Uniformity, inside: Uniformity, target: TargetInfo, pairs: int) -> int:
    """The threads of a row from which on gangs inside of it are worth their idle lanes, half a gang's in the mean.

    They save divisions, and that lanes are looked up one by one; each idle lane costs what others do.
    """
    work, saved, flow = 0, DIVISION * pairs, inside.flow
    for block in flow.function.blocks:
        weight = ROUNDS ** min(flow.forest.depth(block.name), DEEPEST)
        for i in block.instructions:
            if i.opcode in ("load", "store"):
                pointer = i.operands[-1]
                apart = known.shape(pointer) is None and inside.shape(pointer) is not None
                saved += weight * LOOKUP * apart
            elif i.name and inside.shape(i.value) is None:
                work += weight * (CALL if i.opcode == "call" else 1)
    idle = inside.lanes.width // 2 * work // target.lanes32
    return max(target.lanes32, idle // saved)


def _known(function: Function, lanes: LaneLayout, layout: DataLayout) -> Uniformity:
    return Uniformity(Flow(function), UnderlyingObjects(function), lanes, layout)


def written(out: Output, made: RowGangs, arguments: str, plain: str, write: Write) -> str:
    """All functions of the kernel. The one that is called runs a threadgroup; `plain` runs a gang as others do."""
    types = [str(number.type) for number, _ in made.pairs]
    told = "".join(f", {t} %row.{n}" for n, t in enumerate(types))
    whole, own = made.lanes, replace(out, lanes=made.lanes)
    if out.target.masks_memory:
        widths = {"all": whole, "some": replace(whole, short=True)}
    else:
        widths = {
            "all": whole,
            "few": replace(whole, width=out.target.lanes32),
            "one": replace(whole, width=1),
        }
    texts = [
        width_text(own, lanes, made.inner, f"row.{name}", write, f"i32 %lanes{told}")
        for name, lanes in widths.items()
    ]
    texts += [plain.replace("@segment0(", "@segment0.plain("), _plain_row(out, arguments)]
    return "\n".join([*texts, _threadgroup(own, made, widths, arguments, types)])


def _given(arguments: str) -> str:
    return arguments.replace("noalias ", "")


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
        f"  %got = call i32 @segment0.plain({_given(arguments).replace('i32 %j,', 'i32 %u,')})",
        "  %bad = icmp eq i32 %got, -1",
        "  br i1 %bad, label %stopped, label %fine",
        "fine:",
        "  %u.next = add i32 %u, 1",
        "  %more = icmp ult i32 %u.next, %gangs",
        "  br i1 %more, label %one, label %done",
        "done:",
        "  ret i32 0",
        "stopped:",
        "  ret i32 -1",
        "}",
    ]
    return "\n".join(lines)


def _threadgroup(
    out: Output, made: RowGangs, widths: dict[str, LaneLayout], arguments: str, types: list[str]
) -> str:
    """Row after row: how far the threads are in it, its gangs, and on to the next."""
    e = Emitter(out, made.whole, made.known.roots, made.known)
    for i in needed(made.known.flow, made.pairs):
        e.block = made.whole.home[i.name]
        instruction(e, i)
    numbers = [(e.get(number).base, e.get(by).base) for number, by in made.pairs]
    flags = [
        _fits(e, str(number), str(by), t, made.least) for (number, by), t in zip(numbers, types, strict=True)
    ]
    e.do(f"br i1 {_all(e, flags)}, label %first.row, label %odd, !prof !1")
    e.label("first.row")
    starts = [_start(e, str(number), str(by), t) for (number, by), t in zip(numbers, types, strict=True)]
    _rows(e, starts, types, _row(widths, _call(arguments, types)))
    lines = [
        f"define internal i32 @segment0({arguments}) alwaysinline nounwind {{",
        "start:",
        "  %at = add i32 0, 0",
        f"  %first = mul i32 %j, {made.lanes.row}",
        *e.allocas,
        *e.prologue,
        "  br label %rows",
        "rows:",
        *e.lines,
        "odd:",
        f"  %other = call i32 @segment0.odd({_given(arguments)})",
        "  ret i32 %other",
        "done:",
        "  ret i32 0",
        "stopped:",
        "  ret i32 -1",
        "}",
    ]
    return "\n".join(lines)


def _rows(e: Emitter, starts: list[tuple[str, str, str]], types: list[str], gangs: list[str]) -> None:
    """The loop over rows. A part of the threadgroup ends where a row of any pair does: those go on to their next."""
    e.do("br label %row")
    e.label("row")
    e.do("%row.at = phi i32 [ 0, %first.row ], [ %row.end, %row.next ]")
    for n, t in enumerate(types):
        e.do(f"%row.{n} = phi {t} [ {starts[n][0]}, %first.row ], [ %row.{n}.next, %row.next ]")
        e.do(f"%end.{n} = phi i32 [ {starts[n][1]}, %first.row ], [ %end.{n}.next, %row.next ]")
    end = "%count"
    for n in range(len(types)):
        end = e.put(f"select i1 {e.put(f'icmp ult i32 %end.{n}, {end}')}, i32 %end.{n}, i32 {end}")
    e.do(f"%row.end = add i32 {end}, 0")
    e.do("br label %before.row.all")
    e.lines += gangs
    e.label("row.next")
    for n, t in enumerate(types):
        over, more = "true", starts[n][2]
        if len(types) > 1:  # of one pair, a row has ended wherever the threadgroup has not
            over = e.put(f"icmp eq i32 %end.{n}, %row.end")
            more = e.put(f"select i1 {over}, i32 {more}, i32 0")
        e.do(f"%row.{n}.next = add {t} %row.{n}, {e.put(f'zext i1 {over} to {t}')}")
        e.do(f"%end.{n}.next = add i32 %end.{n}, {more}")
    e.do(f"br i1 {e.put('icmp ult i32 %row.end, %count')}, label %row, label %done")


def _call(arguments: str, types: list[str]) -> Callable[[str, str], str]:
    """A gang's arguments, from where it starts on."""
    told = "".join(f", {t} %row.{n}" for n, t in enumerate(types))
    return lambda at, lanes: (
        f"{_given(arguments).replace('i32 %j,', f'i32 %j, i32 {at},')}, i32 {lanes}{told}"
    )


def _row(widths: dict[str, LaneLayout], call: Callable[[str, str], str]) -> list[str]:
    """All gangs of a row: `gangs` goes up to %high."""
    lines: list[str] = []
    start, names = "[ %row.at, %row ]", list(widths)
    for n, name in enumerate(names):
        after = f"before.row.{names[n + 1]}" if n + 1 < len(names) else "row.next"
        name = f"row.{name}"
        if widths[names[n]].short:
            lines += _short(name, start, call(f"%{name}.from", f"%{name}.lanes"))
        else:
            step = widths[names[n]].width
            lines += gangs(name, step, start, after, call(f"%{name}.at", str(step)), "%row.end")
        start = f"[ %{name}.from, %before.{name} ], [ %{name}.next, %on.{name} ]"
    return lines


def _short(name: str, start: str, given: str) -> list[str]:
    """What is left of a row, if anything is, as one gang."""
    return [
        f"before.{name}:",
        f"  %{name}.from = phi i32 {start}",
        f"  %{name}.lanes = sub i32 %row.end, %{name}.from",
        f"  %{name}.any = icmp ne i32 %{name}.lanes, 0",
        f"  br i1 %{name}.any, label %loop.{name}, label %row.next",
        f"loop.{name}:",
        f"  %{name}.got = call i32 @segment0.{name}({given})",
        f"  %{name}.bad = icmp eq i32 %{name}.got, -1",
        f"  br i1 %{name}.bad, label %stopped, label %row.next, !prof !2",
    ]


def _all(e: Emitter, flags: list[str]) -> str:
    total = flags[0]
    for flag in flags[1:]:
        total = e.put(f"and i1 {total}, {flag}")
    return total


def _fits(e: Emitter, number: str, by: str, type: str, least: int) -> str:
    """Whether a row is long enough, and neither is negative or goes round."""
    long = e.put(f"icmp sge {type} {by}, {least}")
    count = "%count" if type == "i32" else e.put("zext i32 %count to i64")
    room = e.put(f"sub {type} {_MOST_NUMBER[type]}, {count}")
    return _all(e, [long, e.put(f"icmp ule {type} {number}, {room}")])


def _start(e: Emitter, number: str, by: str, type: str) -> tuple[str, str, str]:
    """The first thread's row, how many threads are left of it, and how many a row has: as far as they matter in one
    threadgroup."""
    row = e.put(f"udiv {type} {number}, {by}")
    end = e.put(f"mul {type} {e.put(f'add {type} {row}, 1')}, {by}")
    left = e.put(f"sub {type} {end}, {number}")
    return row, _threads(e, left, type), _threads(e, by, type)


def _threads(e: Emitter, number: str, type: str) -> str:
    """A number of threads; a very large one is as good as any."""
    if type == "i32":
        return number
    most = _MOST_NUMBER["i32"]
    large = e.put(f"icmp ugt i64 {number}, {most}")
    return e.put(f"trunc i64 {e.put(f'select i1 {large}, i64 {most}, i64 {number}')} to i32")
