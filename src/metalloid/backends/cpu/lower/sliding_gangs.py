"""Rows of which only the threads from one to another do anything: gangs start at the first of them.

In `if (x == 0 || x >= w - 1) return;` the first and the last gang of each row have idle lanes, and where a processor
has no masked loads and stores, such a gang costs as much as ten others. So the ends of a row are found first
(`guard_ranges`), and what is between them runs without tests and masks: whole gangs, then a register's lanes at a time,
then lane by lane. That is what plain loops from 1 to w - 1 do, and less code than one copy with masks.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.divergence import Flow
from metalloid.analysis.entry_guards import Guard, entry_guards, needed
from metalloid.analysis.intervals import is_proved, streamed
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.guard_ranges import ODD, Ranges
from metalloid.backends.cpu.lower.output import Output
from metalloid.backends.cpu.lower.text import ENDS
from metalloid.ir import Function
from metalloid.ir.intrinsics import OF_ROWS, among_lanes
from metalloid.records import dataclass, replace
from metalloid.transforms.cut_off import is_count
from metalloid.transforms.drop_dead import drop_dead
from metalloid.transforms.prune_edges import prune

MOST = 400  # instructions that are written three times


@dataclass(frozen=True)
class Sliding:
    """A kernel, and what is left of it for threads that pass its first tests."""

    lanes: LaneLayout
    whole: Function
    guards: tuple[Guard, ...]
    inner: Function
    known: Uniformity  # of the whole


Write = Callable[[Output, Function, Uniformity], str]  # a gang as a function


def sliding(out: Output, function: Function, objects: UnderlyingObjects) -> Sliding | None:
    """How a kernel of one region runs in such gangs; None where it does not."""
    if not _may(out):
        return None
    lanes = replace(out.lanes, rows=True, slides=True)
    code = list(function.instructions())
    if len(code) > MOST or any(among_lanes(i) or streamed(i) or lanes.looks_up(i) for i in code):
        return None
    known = Uniformity(Flow(function), objects, lanes, out.layout)
    guards = entry_guards(known)
    if not guards or known.flow.forest.loops or (out.guard and not _proved(function, guards)):
        return None
    inner = drop_dead(prune(function, {(g.block, g.end) for g in guards}))
    if _known(out, inner, lanes).divergence.branches or not _rows_hold(out, inner, lanes):
        return None
    return Sliding(lanes, function, guards, inner, known)


def _rows_hold(out: Output, inner: Function, lanes: LaneLayout) -> bool:
    """Whether numbers of which rows are asked for (`transforms/one_row`) still count up from lane to lane. `i & 65535`
    does where gangs start at multiples of their width, and goes round inside of one that starts anywhere."""
    asked = [i.operands[0] for i in inner.instructions() if i.called in OF_ROWS]
    if not asked:
        return True
    widths = (lanes.width, out.target.lanes32)
    known = [_known(out, inner, replace(lanes, width=width)) for width in widths]
    return all(is_count(k.shape(number)) for k in known for number in asked)


def _proved(function: Function, guards: tuple[Guard, ...]) -> bool:
    """Whether no test can fault: which thread would be told of is not known here."""
    names = needed(function, guards)
    return all(i.opcode != "load" or is_proved(i) for i in function.instructions() if i.name in names)


def _may(out: Output) -> bool:
    lanes, target = out.lanes, out.target
    if target.masks_memory or lanes.width <= target.lanes32 or lanes.rows or lanes.tables:
        return False
    if out.check is not None or out.brief or out.robust or out.suspends or out.barriers:
        return False
    return lanes.size[0] >= lanes.width and not (out.private or out.local_sizes)


def _known(out: Output, function: Function, lanes: LaneLayout) -> Uniformity:
    return Uniformity(Flow(function), UnderlyingObjects(function), lanes, out.layout)


def written(out: Output, made: Sliding, arguments: str, write: Write) -> str:
    """All functions of the kernel. The one that is called runs the row j."""
    arguments = arguments.replace("i32 %j,", "i32 %j, i32 %at,")
    few = replace(made.lanes, width=out.target.lanes32)
    one = replace(made.lanes, width=1)
    texts = [
        width_text(out, lanes, function, name, write)
        for lanes, function, name in (
            (made.lanes, made.inner, "all"),
            (few, made.inner, "few"),
            (one, made.whole, "one"),
        )
    ]
    return "\n".join(
        [*texts, _range(out, made, arguments), _odd(made, arguments), _row(made, few.width, arguments)]
    )


def width_text(
    out: Output, lanes: LaneLayout, function: Function, name: str, write: Write, more: str = ""
) -> str:
    """Gangs of one width, and the functions that they call: each takes vectors of that width. `more`: arguments."""
    own = replace(out, lanes=lanes, helpers={})
    made = [write(own, function, _known(out, function, lanes)), *own.helpers.values()]
    for called in own.helpers:
        made = [text.replace(f"@{called}(", f"@{called}.{name}(") for text in made]
    out.helpers |= {f"{n}.{name}": text for n, text in zip(own.helpers, made[1:], strict=True)}
    text = made[0].replace("@segment0(", f"@segment0.{name}(", 1)
    text = text.replace("i32 %j,", "i32 %j, i32 %at,", 1)
    return text.replace("i32 %count)", f"i32 %count, {more})", 1) if more else text


def _range(out: Output, made: Sliding, arguments: str) -> str:
    e = Emitter(replace(out, lanes=made.lanes), made.whole, made.known.roots, made.known)
    ranges = Ranges(e)
    ranges.write(made.guards)
    e.label("end")
    lines = [
        f"define internal {{ i32, i32 }} @segment0.range({arguments}) alwaysinline nounwind {{",
        "start:",
        f"  %first = mul i32 %j, {made.lanes.row}",
        *e.allocas,
        *e.prologue,
    ]
    ends = ranges.result()
    return "\n".join([*lines, "  br label %tests", "tests:", *e.lines, *ends, "}"])


def _given(arguments: str, at: str) -> str:
    return arguments.replace("noalias ", "").replace("i32 %at", f"i32 {at}")


def _odd(made: Sliding, arguments: str) -> str:
    """A row whose threads that pass are no neighbours: each looks for itself."""
    lines = [
        f"define internal i32 @segment0.odd({arguments}) noinline nounwind {{",
        "start:",
        "  br label %one",
        "one:",
        "  %u = phi i32 [ 0, %start ], [ %u.next, %fine ]",
        f"  %got = call i32 @segment0.one({_given(arguments, '%u')})",
        "  %bad = icmp eq i32 %got, -1",
        "  br i1 %bad, label %stopped, label %fine",
        "fine:",
        "  %u.next = add i32 %u, 1",
        f"  %more = icmp ult i32 %u.next, {made.lanes.row}",
        "  br i1 %more, label %one, label %done",
        *ENDS,
    ]
    return "\n".join(lines)


def _row(made: Sliding, few: int, arguments: str) -> str:
    plain = arguments.replace("i32 %j, i32 %at,", "i32 %j,")
    steps = (("all", made.lanes.width), ("few", few), ("one", 1))
    lines = [
        f"define internal i32 @segment0({plain}) alwaysinline nounwind {{",
        "start:",
        f"  %range = call {{ i32, i32 }} @segment0.range({_given(arguments, '0')})",
        "  %low = extractvalue { i32, i32 } %range, 0",
        "  %high = extractvalue { i32, i32 } %range, 1",
        "  %odd = icmp slt i32 %high, 0",
        "  br i1 %odd, label %alone, label %before.all, !prof !2",
    ]
    start = "[ %low, %start ]"
    for n, (name, step) in enumerate(steps):
        after = f"before.{steps[n + 1][0]}" if n + 1 < len(steps) else "done"
        lines += gangs(name, step, start, after, _given(arguments, f"%{name}.at"), "%high")
        start = f"[ %{name}.from, %before.{name} ], [ %{name}.next, %on.{name} ]"
    odd = [
        "alone:",
        f"  %told = icmp ne i32 %high, {ODD}",
        "  br i1 %told, label %stopped, label %each",
        "each:",
        f"  %row = call i32 @segment0.odd({_given(arguments, '0')})",
        "  ret i32 %row",
    ]
    return "\n".join([*lines, "done:", "  ret i32 0", "stopped:", "  ret i32 -1", *odd, "}"])


def gangs(name: str, step: int, start: str, after: str, given: str, end: str) -> list[str]:
    """Gangs of one width, as many as there are whole ones before an end."""
    return [
        f"before.{name}:",
        f"  %{name}.from = phi i32 {start}",
        f"  %{name}.last = sub i32 {end}, {step}",
        f"  %{name}.any = icmp sle i32 %{name}.from, %{name}.last",
        f"  br i1 %{name}.any, label %loop.{name}, label %{after}",
        f"loop.{name}:",
        f"  %{name}.at = phi i32 [ %{name}.from, %before.{name} ], [ %{name}.next, %on.{name} ]",
        f"  %{name}.got = call i32 @segment0.{name}({given})",
        f"  %{name}.bad = icmp eq i32 %{name}.got, -1",
        f"  br i1 %{name}.bad, label %stopped, label %on.{name}, !prof !2",
        f"on.{name}:",
        f"  %{name}.next = add nuw nsw i32 %{name}.at, {step}",
        f"  %{name}.more = icmp sle i32 %{name}.next, %{name}.last",
        f"  br i1 %{name}.more, label %loop.{name}, label %{after}",
    ]
