"""The function that runs one threadgroup whose gangs are coroutines: each goes on from where it waits.

A barrier counts SIMD-groups that still run, whichever barrier each has come to: when every gang waits or has ended,
those that wait go on. That always comes to an end; but a gang that goes on to a barrier which the last does not lead to
has lanes at both, and those can never meet (M204).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.byte_ranges import Range
from metalloid.backends.cpu.lower.coroutine import declare
from metalloid.backends.cpu.lower.driver import (
    ENTRY_NAME,
    FIRST,
    LAUNCH,
    PLACE,
    cleared_memory,
    direction,
    gang_count,
    group_phis,
    next_group,
    thread_count,
)
from metalloid.backends.cpu.lower.output import Output
from metalloid.backends.cpu.lower.private_arrays import Scratch
from metalloid.ir import Function, Instruction
from metalloid.ir.cfg import graph
from metalloid.records import dataclass

MOST = 32  # gangs: SIMD-groups of the largest threadgroup
_NEAR = "mt_near"  # a table: whether of two barriers one leads to the other


@dataclass(frozen=True)
class Turns:
    """What the function is made of."""

    out: Output
    function: Function
    barriers: Sequence[Instruction]
    scratch: Scratch
    reverse: bool  # gangs from the last to the first
    cleared: Mapping[str, list[Range]]

    @cached_property
    def near(self) -> list[list[int]]:
        return _near(self.function, self.barriers)

    @property
    def apart(self) -> bool:
        """Whether there are two barriers of which neither leads to the other."""
        return any(0 in row for row in self.near)

    def write(self) -> str:
        out = self.out
        declare(out)
        out.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        out.declare(abi.FAULT, f"declare void @{abi.FAULT}(ptr, i32, i64, i32, i32, i32, i32) cold")
        if self.apart:
            side = len(self.barriers) + 1
            rows = ", ".join(f"i8 {flag}" for row in self.near for flag in row)
            out.declare(_NEAR, f"@{_NEAR} = internal constant [{side * side} x i8] [{rows}]")
        return "\n".join([*self._begin(), *self._make(), *self._meet(), *self._go_on(), *self._end()])

    def _begin(self) -> list[str]:
        out, cleared = self.out, self.cleared
        return [
            f"define void @{ENTRY_NAME}({LAUNCH}, ptr %tables, ptr noalias %tg, ptr noalias %scratch, "
            f"{FIRST}, i32 %groups) alignstack(64) nounwind {{",
            "start:",
            f"  %waits = alloca [{MOST} x i32]",
            f"  %frames = alloca [{MOST} x ptr]",
            "  %xy = mul i32 %sx, %sy",
            "  %count.real = mul i32 %xy, %sz",
            *gang_count(out.lanes),
            *direction(),
            "  br label %group",
            "group:",
            *group_phis("next"),
            *cleared_memory(out, cleared),
            "  br label %make",
        ]

    def _make(self) -> list[str]:
        """Each gang runs up to its first barrier."""
        out, scratch, reverse = self.out, self.scratch, self.reverse
        given = "ptr %launch, ptr %tables, ptr %tg, ptr %own, ptr %own, i32 %j"
        passed = f"({given}, {PLACE}, i32 {thread_count(out.lanes)}, ptr %my.waits)"
        return [
            "make:",
            "  %n = phi i32 [ 0, %group ], [ %n.next, %made ]",
            *(
                ["  %back = sub i32 %instances, %n", "  %j = sub i32 %back, 1"]
                if reverse
                else ["  %j = add i32 %n, 0"]
            ),
            "  %wide = zext i32 %j to i64",
            f"  %at = mul i64 %wide, {scratch.stride}",
            "  %own = getelementptr i8, ptr %scratch, i64 %at",
            *(
                [f"  call void @llvm.memset.p0.i64(ptr align 16 %own, i8 0, i64 {scratch.size}, i1 false)"]
                if out.private
                else []
            ),
            "  %my.waits = getelementptr i32, ptr %waits, i32 %n",
            f"  %handle = call ptr @segment0{passed}",
            "  %my.frame = getelementptr ptr, ptr %frames, i32 %n",
            "  store ptr %handle, ptr %my.frame",
            "  %n.next = add i32 %n, 1",
            "  %told = load i32, ptr %my.waits",
            "  %broke = icmp eq i32 %told, -1",
            "  br i1 %broke, label %halt, label %made, !prof !2",
            "made:",
            "  %more = icmp ult i32 %n.next, %instances",
            "  br i1 %more, label %make, label %meet",
        ]

    def _meet(self) -> list[str]:
        """All wait or have ended; where nobody waits, the threadgroup is done."""
        return [
            "meet:",
            "  br label %look",
            "look:",
            "  %k = phi i32 [ 0, %meet ], [ %k.next, %look ]",
            "  %first = phi i32 [ 0, %meet ], [ %one, %look ]",
            "  %k.at = getelementptr i32, ptr %waits, i32 %k",
            "  %k.waits = load i32, ptr %k.at",
            "  %none = icmp eq i32 %first, 0",
            "  %one = select i1 %none, i32 %k.waits, i32 %first",
            "  %k.next = add i32 %k, 1",
            "  %looked = icmp ult i32 %k.next, %instances",
            "  br i1 %looked, label %look, label %all",
            "all:",
            "  %over = icmp eq i32 %one, 0",
            "  br i1 %over, label %done, label %on",
        ]

    def _go_on(self) -> list[str]:
        """Those that wait run up to their next barrier."""
        out, barriers, apart = self.out, self.barriers, self.apart
        return [
            "on:",
            "  %m = phi i32 [ 0, %all ], [ %m.next, %went ]",
            "  %m.at = getelementptr i32, ptr %waits, i32 %m",
            "  %m.waits = load i32, ptr %m.at",
            "  %m.runs = icmp ne i32 %m.waits, 0",
            "  br i1 %m.runs, label %resume, label %went",
            "resume:",
            "  %m.frame = getelementptr ptr, ptr %frames, i32 %m",
            "  %m.handle = load ptr, ptr %m.frame",
            "  call void @llvm.coro.resume(ptr %m.handle)",
            "  %m.told = load i32, ptr %m.at",
            "  %m.broke = icmp eq i32 %m.told, -1",
            "  br i1 %m.broke, label %halt, label %fine, !prof !2",
            "fine:",
            *_leads(out, len(barriers), apart),
            "went:",
            "  %m.next = add i32 %m, 1",
            "  %m.more = icmp ult i32 %m.next, %instances",
            "  br i1 %m.more, label %on, label %meet",
        ]

    def _end(self) -> list[str]:
        """The next threadgroup; or, where a gang was stopped, none."""
        apart = self.apart
        return [
            *_free("done", "next", "%instances", ["[ 0, %all ]"]),
            "next:",
            *next_group(),
            "  br i1 %again, label %group, label %stopped",
            "halt:",
            "  %made.so.far = phi i32 [ %n.next, %make ], [ %instances, %resume ]"
            + (", [ %instances, %far ]" if apart else ""),
            "  br label %halt.free",
            *_free("halt.free", "stopped", "%made.so.far", ["[ 0, %halt ]"]),
            "stopped:",
            "  ret void",
            "}",
        ]


def _leads(out: Output, barriers: int, apart: bool) -> list[str]:
    """M204 where the barrier that a gang waits at does not lead to the one it comes to."""
    if not apart:
        return ["  br label %went"]
    return [
        f"  %row = mul i32 %m.waits, {barriers + 1}",
        "  %cell = add i32 %row, %m.told",
        f"  %near.at = getelementptr i8, ptr @{_NEAR}, i32 %cell",
        "  %near = load i8, ptr %near.at",
        "  %far.flag = icmp eq i8 %near, 0",
        "  br i1 %far.flag, label %far, label %went, !prof !2",
        "far:",
        "  %site = sub i32 %m.told, 1",
        "  %number = zext i32 %m.told to i64",
        f"  %thread = mul i32 %m, {out.lanes.step}",
        f"  call void @{abi.FAULT}(ptr %launch, i32 %site, i64 %number, i32 %thread, i32 %gx, i32 %gy, i32 %gz)",
        "  br label %halt",
    ]


def _free(label: str, on: str, count: str, source: list[str]) -> list[str]:
    """Give the frames back."""
    v = label.replace(".", "")
    return [
        f"{label}:",
        f"  %{v}.n = phi i32 {', '.join([*source, f'[ %{v}.next, %{label} ]'])}",
        f"  %{v}.at = getelementptr ptr, ptr %frames, i32 %{v}.n",
        f"  %{v}.handle = load ptr, ptr %{v}.at",
        f"  call void @llvm.coro.destroy(ptr %{v}.handle)",
        f"  %{v}.next = add i32 %{v}.n, 1",
        f"  %{v}.more = icmp ult i32 %{v}.next, {count}",
        f"  br i1 %{v}.more, label %{label}, label %{on}",
    ]


def _near(function: Function, barriers: Sequence[Instruction]) -> list[list[int]]:
    """Of each two barriers, whether one leads to the other; number 0 is nowhere, which hinders nobody."""
    flow = graph(function)
    home = {id(i): b.name for b in function.blocks for i in b.instructions}
    places = [home[id(i)] for i in barriers]
    behind = [flow.reachable_from(place) | {place} for place in places]
    near = [[1] * (len(barriers) + 1)]
    for n, one in enumerate(places):
        near.append([1, *(int(other in behind[n] or one in behind[m]) for m, other in enumerate(places))])
    return near
