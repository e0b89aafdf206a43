"""Regions as functions of vector code: their frame, the lanes that are there at the start, and regions that are written
twice, with a mask for gangs with idle lanes and without one for the others.
"""

from __future__ import annotations

from metalloid.analysis.lane_sets import ANY, LaneSet
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower import coroutine
from metalloid.backends.cpu.lower.access.held import give_back
from metalloid.backends.cpu.lower.control_flow import Control
from metalloid.backends.cpu.lower.driver import PLACE
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.first_gang import held_by_first, is_lone, of_first, of_others
from metalloid.backends.cpu.lower.gang_start import first_thread, present, remaining
from metalloid.backends.cpu.lower.idle_gangs import idle_gangs, written
from metalloid.backends.cpu.lower.kept_values import Part
from metalloid.backends.cpu.lower.output import Output
from metalloid.ir import Function

# Lines of all regions; LLVM takes more than twice as long for a function of twice the size.
MAX_INLINED = 8000
MAX_TWICE = 2000  # lines of all regions, to be written a second time for gangs without idle lanes
MAX_TWICE_RETURNED = 8000  # the same where every gang would have a mask, though hardly ever a thread returns
INLINED = ") alwaysinline nounwind {"
ARGUMENTS = (
    "ptr %launch, ptr %tables, ptr noalias %tg, ptr noalias %kept, ptr noalias %private, i32 %j, "
    f"{PLACE}, i32 %count"
)
WITH_SUMS = ARGUMENTS.replace("i32 %j", "ptr noalias %sums, i32 %j")  # that gangs hand on


def region_texts(out: Output, parts: list[Part], inlined: int) -> list[str]:
    """The regions as functions: inlined into the driver, unless LLVM would take too long over the whole.

    Those from `inlined` on are called at more than one place.
    """
    texts = []
    lone = {n for n, part in enumerate(parts) if is_lone(out, part)}
    for n, part in enumerate(parts):
        out.module = part.module
        texts.append(_by_first(out, part, n) if n in lone else _region_text(out, part, n))
    twice = [n for n in range(len(parts)) if _idle_at_times(out, n) and n not in lone]
    most = MAX_TWICE if out.remaining is None else MAX_TWICE_RETURNED
    if twice and out.check is None and not out.brief and sum(texts[n].count("\n") for n in twice) <= most:
        for n in twice:
            out.module = parts[n].module
            some = _region_text(out, parts[n], n, last=True) if _tail(out).known else texts[n]
            texts[n] = _twice(out, some, _region_text(out, parts[n], n, whole=True), n)
    for n, idle in idle_gangs(out, parts).items():
        if n not in lone:
            out.module, out.passed_by = parts[n].module, True
            texts[n] = written(out, parts[n], idle, n, texts[n], _signature(out), _region_text)
    if out.brief or sum(t.count("\n") for t in texts) > MAX_INLINED:
        inlined = 0
    # Of a region that is written twice, the function that calls either: the last.
    apart = [") noinline alignstack(64) nounwind {".join(t.rsplit(INLINED, 1)) for t in texts[inlined:]]
    return texts[:inlined] + apart


def _idle_at_times(out: Output, number: int) -> bool:
    """Whether some gangs of a region have idle lanes, and others have none: the last one, or those of which a
    thread has returned."""
    lanes = out.lanes
    if out.remaining is not None and number and lanes.width > 1:
        return True
    return lanes.static_size and not (lanes.no_tail or lanes.rows or lanes.single_gang)


def _twice(out: Output, some: str, all_lanes: str, number: int) -> str:
    """A region as two functions, with a mask and without, and one that calls either."""
    name = f"@segment{number}("
    told, arguments = _signature(out)
    given = arguments.replace("noalias ", "")
    last = given.replace("i32 %j", f"i32 {out.lanes.count // out.lanes.width}")  # a number: so are its masks
    fits = [
        f"  %next = mul i32 %j, {out.lanes.width}",
        f"  %end = add i32 %next, {out.lanes.width}",
        "  %fits = icmp ule i32 %end, %count",
    ]
    if out.remaining is not None and number:
        last, fits = given, [*remaining(out), f"  %fits = icmp eq i{out.lanes.width} %left.bits, -1"]
    lines = [
        some.replace(name, f"@segment{number}.some(", 1),
        all_lanes.replace(name, f"@segment{number}.all(", 1),
        f"define internal {told} {name}{arguments}{INLINED}",
        *fits,
        "  br i1 %fits, label %all, label %some",
        "all:",
        f"  %whole = call {told} @segment{number}.all({given})",
        f"  ret {told} %whole",
        "some:",
        f"  %part = call {told} @segment{number}.some({last})",
        f"  ret {told} %part",
        "}",
    ]
    return "\n".join(lines)


def _by_first(out: Output, part: Part, number: int) -> str:
    """A region as two functions, of the first gang and of the others, and one that calls either."""
    name, lanes = f"@segment{number}(", out.lanes
    told, arguments = _signature(out)
    given = arguments.replace("noalias ", "")
    first = of_first(out, part)
    out.lanes, out.held = first.uniformity.lanes, held_by_first(out, first)
    text = _region_text(out, first, number, whole=True)
    out.lanes, out.held = lanes, {}
    lines = [
        text.replace(name, f"@segment{number}.first(", 1),
        _region_text(out, of_others(out, part), number).replace(name, f"@segment{number}.others(", 1),
        f"define internal {told} {name}{arguments}{INLINED}",
        "  %is.first = icmp eq i32 %j, 0",
        "  br i1 %is.first, label %first, label %others",
        "first:",
        f"  %one = call {told} @segment{number}.first({given.replace('i32 %j', 'i32 0')})",
        f"  ret {told} %one",
        "others:",
        f"  %other = call {told} @segment{number}.others({given})",
        f"  ret {told} %other",
        "}",
    ]
    return "\n".join(lines)


def _tail(out: Output) -> LaneSet:
    """The lanes of the last gang that are threads."""
    lanes = out.lanes
    known = lanes.static_size and not lanes.rows and out.check is None and out.remaining is None
    known = known and not out.target.masks_memory  # which needs no help
    return LaneSet(True, 0, lanes.count % lanes.width) if known else ANY


def _region_text(out: Output, part: Part, number: int, whole: bool = False, last: bool = False) -> str:
    """A region as a function; `whole`: for gangs without idle lanes; `last`: only for the threadgroup's last."""
    e = Emitter(out, part.function, part.roots, part.uniformity)
    control = Control(e)
    head: list[str] = []
    if out.remaining is not None and number and not whole and e.width > 1:
        width = out.lanes.width
        head += [*remaining(out), f"  %present = bitcast i{width} %left.bits to <{width} x i1>"]
        control.entry_mask, control.entry_lanes = "%present", ANY
    elif not (out.lanes.no_tail or whole):
        head += present(out.lanes, out.target)
        control.entry_mask = "%present"
        control.entry_lanes = _tail(out) if last or out.lanes.single_gang else ANY
    e.entry_mask = control.entry_mask
    control.write()
    told, arguments = _signature(out)
    if out.suspends:
        return _coroutine(out, e, head)
    lines = [
        f"define internal {told} @segment{number}({arguments}{INLINED}",
        "start:",
        f"  %state = alloca {told}",
        f"  store {told} 0, ptr %state",
        *first_thread(out.lanes),
        *e.allocas,
        *head,
        *e.prologue,
        "  br label %L0.check",
        *e.lines,
        *give_back(e),
        f"  %result = load {told}, ptr %state",
        f"  ret {told} %result",
        "stopped:",
        f"  ret {told} -1",
        "}",
    ]
    return "\n".join(lines)


def without_mask(part: Part, out: Output, function: Function, known: Uniformity) -> str:
    """A kernel of one region, or what is left of it for threads that pass its first tests; without a mask, unless gangs
    are short."""
    whole = not out.lanes.short
    return _region_text(out, Part(part.module, function, known.roots, known), 0, whole=whole)


def _signature(out: Output) -> tuple[str, str]:
    """What a region's function gives back, and its arguments. Of a coroutine that is its frame; and while it waits,
    others write to threadgroup memory."""
    if out.suspends:
        return "ptr", f"{ARGUMENTS.replace('ptr noalias %tg', 'ptr %tg')}, ptr %waits"
    return "i64" if out.rounds else "i32", arguments_of(out)


def arguments_of(out: Output) -> str:
    return WITH_SUMS if out.carried.by_key else ARGUMENTS


def _coroutine(out: Output, e: Emitter, head: list[str]) -> str:
    """The whole kernel as a function that waits at its barriers."""
    told, arguments = _signature(out)
    lines = [
        f"define internal {told} @segment0({arguments}) presplitcoroutine noinline nounwind {{",
        "start:",
        *coroutine.START,
        f"  %first = mul i32 %j, {out.lanes.step}",
        *e.allocas,
        *head,
        *e.prologue,
        "  br label %L0.check",
        *e.lines,
        *coroutine.END,
        "}",
    ]
    return "\n".join(lines)
