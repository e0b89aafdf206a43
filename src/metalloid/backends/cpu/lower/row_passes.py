"""The gangs of rows that are alike: the same ones in each row, so what they are is asked before the first.

A row has whole gangs, and one with idle lanes behind them. A row of less than half a gang is a gang of its own, of half
as many lanes or fewer: such rows have a loop for each width, in which nothing is asked and a row costs an addition.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Protocol

from metalloid.analysis.intervals import is_proved
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.sliding_gangs import gangs
from metalloid.records import dataclass, replace
from metalloid.targets import TargetInfo

_ROLLED = 7  # LLVM would write rows twice, which gains nothing
NODES = f'!{_ROLLED} = distinct !{{!{_ROLLED}, !{_ROLLED + 1}}}\n!{_ROLLED + 1} = !{{!"llvm.loop.unroll.disable"}}'


class Call(Protocol):
    """A gang's arguments, by where it starts, how many lanes it has, and its row."""

    def __call__(self, at: str, lanes: str, row: str) -> str: ...


@dataclass(frozen=True)
class Pass:
    """A loop over rows of more than `above` lanes. A row's gangs: whole ones of each width, or one with idle lanes."""

    name: str
    above: int
    gangs: dict[str, LaneLayout]


def passes_of(inside: Uniformity, guard: bool, target: TargetInfo) -> tuple[Pass, ...]:
    """From the longest rows to the shortest. Rounds of a loop wait for each other: there, all gangs are wide, and where
    accesses have guards, whose cold code would be written for each width."""
    whole, few = inside.lanes, target.lanes32
    if not target.masks_memory:
        rest = {"row.few": replace(whole, width=few), "row.one": replace(whole, width=1)}
        return (Pass("long", 0, {"row.all": whole, **rest}),)
    code = inside.flow.function.instructions()
    guarded = guard and any(i.opcode in ("load", "store") and not is_proved(i) for i in code)
    widths, narrow = [0], not (guarded or inside.flow.forest.loops)
    while narrow and max(few, 2 * widths[-1]) < whole.width:
        widths.append(max(few, 2 * widths[-1]))
    short = [
        Pass(f"short{most}", least, {f"row.some{most}": replace(whole, width=most, short=True)})
        for least, most in pairwise(widths)
    ]
    long = {"row.all": whole, "row.some": replace(whole, short=True)}
    return (Pass("long", widths[-1], long), *reversed(short))


def widths(passes: tuple[Pass, ...]) -> tuple[int, ...]:
    """Of the widest gangs in rows of each length, the shortest first."""
    return tuple(max(lanes.width for lanes in made.gangs.values()) for made in reversed(passes))


def write(e: Emitter, passes: tuple[Pass, ...], row: str, type: str, call: Call) -> None:
    """Up to %batch.next: rows of `%length` lanes from `%batch.at` to `%batch.end`; `row` is the first of them."""
    for made in passes:
        if made.above:
            longer = e.put(f"icmp ugt i32 %length, {made.above}")
            e.do(f"br i1 {longer}, label %{made.name}, label %{made.name}.not")
            e.label(f"{made.name}.not")
        else:
            e.do(f"br label %{made.name}")
    for made in passes:
        e.lines += _rows(made, row, type, call)


def _rows(made: Pass, row: str, type: str, call: Call) -> list[str]:
    name, names = made.name, list(made.gangs)
    lines = [
        f"{name}:",
        f"  br label %{name}.row",
        f"{name}.row:",
        f"  %{name}.at = phi i32 [ %batch.at, %{name} ], [ %{name}.end, %{name}.next ]",
        f"  %{name}.given = phi {type} [ {row}, %{name} ], [ %{name}.up, %{name}.next ]",
        f"  %{name}.end = add nuw nsw i32 %{name}.at, %length",
        f"  br label %before.{names[0]}",
    ]
    start = f"[ %{name}.at, %{name}.row ]"
    for gang, after in zip(names, [*(f"before.{n}" for n in names[1:]), f"{name}.next"], strict=True):
        lanes = made.gangs[gang]
        given = partial(call, row=f"%{name}.given")
        if lanes.short:
            lines += _short(gang, start, f"%{name}.end", len(names) == 1, given, after)
        else:
            text = given(f"%{gang}.at", str(lanes.width))
            lines += gangs(gang, lanes.width, start, after, text, f"%{name}.end")
        start = f"[ %{gang}.from, %before.{gang} ], [ %{gang}.next, %on.{gang} ]"
    return [
        *lines,
        f"{name}.next:",
        f"  %{name}.up = add {type} %{name}.given, 1",
        f"  %{name}.more = icmp ult i32 %{name}.end, %batch.end",
        f"  br i1 %{name}.more, label %{name}.row, label %batch.next, !llvm.loop !{_ROLLED}",
    ]


def _short(
    name: str, start: str, end: str, alone: bool, call: Callable[[str, str], str], after: str
) -> list[str]:
    """What is left of a row, if anything is, as one gang. Where it is all of the row, rows have one mask."""
    left = "%length" if alone else f"%{name}.left"
    return [
        f"before.{name}:",
        f"  %{name}.from = phi i32 {start}",
        f"  %{name}.left = sub i32 {end}, %{name}.from",
        f"  %{name}.any = icmp ne i32 {left}, 0",
        f"  br i1 %{name}.any, label %loop.{name}, label %{after}",
        f"loop.{name}:",
        f"  %{name}.got = call i32 @segment0.{name}({call(f'%{name}.from', left)})",
        f"  %{name}.bad = icmp eq i32 %{name}.got, -1",
        f"  br i1 %{name}.bad, label %stopped, label %{after}, !prof !2",
    ]
