"""The function that runs one threadgroup: region after region, each a loop over the gangs."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.analysis.fixed_address import Per
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.byte_ranges import Range
from metalloid.backends.cpu.lower.launch_fields import launch_fields
from metalloid.backends.cpu.lower.output import Output
from metalloid.backends.cpu.lower.private_arrays import Scratch
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import THREADGROUP
from metalloid.records import dataclass

ENTRY_NAME = "mt_threadgroup"
# Regions that each list all others as what may come next. With 300 of them that is 90,000 edges, on which LLVM works
# for minutes: above this they go through one place that lists them once.
MAX_EACH = 16
# All of it may be read at any time: LLVM brings such loads out of the loop over gangs, also those behind a branch.
LAUNCH = f"ptr align 8 dereferenceable({abi.END}) %launch"
PLACE = "i32 %gx, i32 %gy, i32 %gz, i32 %sx, i32 %sy, i32 %sz"
FIRST = PLACE.replace("%gx", "%gx.first").replace("%gy", "%gy.first")


@dataclass(frozen=True)
class Driver:
    """What the function is made of; the names in it end in the number of the region."""

    out: Output
    parts: int  # regions that start at the entry or behind a barrier
    all_parts: int  # and those that start where others meet, which a gang goes on to by itself
    scratch: Scratch
    reverse: bool  # gangs from the last to the first, to see whether the order matters
    cleared: Mapping[str, list[Range]]
    barriers: list[Instruction]
    ends: tuple[int | None, ...]  # where a region goes on to, where that is the same on all of its ways

    @property
    def many(self) -> bool:
        return self.parts > 1

    @property
    def told(self) -> str:
        """The type of what a region tells: the barrier it stopped at, with the rounds of its loops if any matter."""
        return "i64" if self.out.rounds else "i32"

    @property
    def count(self) -> str:
        return thread_count(self.out.lanes)

    def write(self) -> str:
        """Threadgroups side by side along x; for each, region after region."""
        out = self.out
        out.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        # alignstack: registers that are spilled would cross cache lines, wherever the caller's stack happens to
        # stand (32x32 matmul 95 -> 107 GFLOP/s).
        lines = [
            f"define void @{ENTRY_NAME}({LAUNCH}, ptr %tables, ptr noalias{self._readable} %tg, ptr noalias %scratch, "
            f"{FIRST}, i32 %groups) alignstack(64) nounwind {{",
            "start:",
            "  %xy = mul i32 %sx, %sy",
            "  %count.real = mul i32 %xy, %sz",
            *gang_count(out.lanes),
            *direction(),
            *launch_fields(out),
            *self._frame(),
            "  br label %group",
            "group:",
            *group_phis("done"),
            *cleared_memory(out, self.cleared),
            *_checks(out, None),
            "  br label %s0",
        ]
        for n in range(self.parts):
            lines += self._loop(n)
        lines += self._dispatch()
        lines += [
            "done:",
            *self._given_back("threadgroup"),
            *next_group(),
            "  br i1 %again, label %group, label %stopped",
            "stopped:",
            *self._given_back("launch"),
            "  ret void",
            "}",
        ]
        return "\n".join(lines)

    @property
    def _readable(self) -> str:
        """That threadgroup memory may be read at any time: where gangs are passed by, LLVM then brings what the others
        all read out of the loop over gangs, as it does where all of them read it."""
        ends = [at + self.out.local_sizes[name] for name, at in self.out.local_offsets.items()]
        return f" align 64 dereferenceable({max(ends)})" if self.out.passed_by and ends else ""

    def _frame(self) -> list[str]:
        """The sums that gangs hand on."""
        if not self.out.carried.by_key:
            return []
        from metalloid.backends.cpu.lower.ops.carried_sums import frame

        return frame(self.out)

    def _given_back(self, whose: Per) -> list[str]:
        """They are added to memory."""
        sums = self.out.carried.per(whose)
        return [f"  call void @carried.{whose}(ptr %launch, ptr %tg, ptr %sums)"] if sums else []

    def _loop(self, n: int) -> list[str]:
        """One region: a loop over the gangs, then on to the region that all of them told."""
        told, returns = self.told, self.returns
        start, j = self._gang(n)
        place, own = self._own(n, j)
        last = f"%last{n}" if returns else f"%got{n}"
        before = f"%s{n}.go" if n and self.out.guard else f"%s{n}"
        return [
            f"s{n}:",
            *(_checks(self.out, self.barriers[n - 1]) if n else []),
            *self._begin(n),
            f"s{n}.loop:",
            f"  %n{n} = phi i32 [ 0, {before} ], [ %n{n}.next, %s{n}.next ]",
            f"  %seen{n} = phi {told} [ 0, {before} ], [ {last}, %s{n}.next ]",
            *start,
            *place,
            *(self._remain(n, own) if returns and n else []),
            *self._fresh(n, own),
            *self._called(n, j, own),
            f"  %stop{n} = icmp eq {told} %got{n}, -1",
            f"  br i1 %stop{n}, label %stopped, label %s{n}.fine, !prof !2",
            f"s{n}.fine:",
            *self._agreed(n, j),
            f"s{n}.next:",
            *(self._last(n) if returns else []),
            f"  %n{n}.next = add i32 %n{n}, 1",
            f"  %more{n} = icmp ult i32 %n{n}.next, %instances",
            f"  br i1 %more{n}, label %s{n}.loop, label %s{n}.end{self._by_ones}",
            f"s{n}.end:",
            *self._onward(n, last),
        ]

    @property
    def _by_ones(self) -> str:
        """Where threads run alone, their own rows and blocks are for LLVM to fill registers with, not several threads:
        those lie a row apart."""
        return ", !llvm.loop !5" if self.out.lanes.width == 1 else ""

    def _begin(self, n: int) -> list[str]:
        """Behind a barrier a cancelled launch stops: a loop whose rounds all pass a barrier is closed only here."""
        if not n or not self.out.guard:
            return [f"  br label %s{n}.loop"]
        return [
            f"  %cancel.at{n} = getelementptr i8, ptr %launch, i64 {abi.CANCEL}",
            f"  %cancel{n} = load volatile i32, ptr %cancel.at{n}",
            f"  %cancelled{n} = icmp ne i32 %cancel{n}, 0",
            f"  br i1 %cancelled{n}, label %stopped, label %s{n}.go, !prof !2",
            f"s{n}.go:",
            f"  br label %s{n}.loop",
        ]

    @property
    def returns(self) -> bool:
        """Whether threads may return before a barrier."""
        return self.out.remaining is not None

    def _remain(self, n: int, own: str) -> list[str]:
        """A gang whose threads have all returned is left out."""
        kind = f"i{max(8, self.out.lanes.width)}"
        return [
            f"  %left.at{n} = getelementptr i8, ptr {own}, i64 {self.out.remaining}",
            f"  %left{n} = load {kind}, ptr %left.at{n}",
            f"  %gone{n} = icmp eq {kind} %left{n}, 0",
            f"  br i1 %gone{n}, label %s{n}.next, label %s{n}.run",
            f"s{n}.run:",
        ]

    def _last(self, n: int) -> list[str]:
        """Where those stopped that have not returned."""
        skipped = f"[ %seen{n}, %s{n}.loop ], " if n else ""
        return [f"  %last{n} = phi {self.told} {skipped}[ %seen{n}, %s{n}.fine ], [ %got{n}, %s{n}.waits ]"]

    def _called(self, n: int, j: str, own: str) -> list[str]:
        """The gang runs a region, and on through shared tails, up to a barrier or the end."""
        sums = "ptr %sums, " if self.out.carried.by_key else ""
        memory = f"ptr %launch, ptr %tables, ptr %tg, ptr {own}, ptr {own}, {sums}"
        passed = f"({memory}i32 {j}, {PLACE}, i32 {self.count})"
        met = range(self.parts, self.all_parts)
        if not met:
            return [f"  %got{n} = call {self.told} @segment{n}{passed}"]
        ways = [f"[ %m{n}.{k}, %s{n}.meet{k} ]" for k in met]
        cases = " ".join(f"i32 {k}, label %s{n}.meet{k}" for k in met)
        lines = [
            f"  %first{n} = call {self.told} @segment{n}{passed}",
            f"  br label %s{n}.on",
            f"s{n}.on:",
            f"  %got{n} = phi {self.told} {', '.join([f'[ %first{n}, {self._begun(n)} ]', *ways])}",
            *_number(self.out, f"%got{n}", f"%to{n}"),
            f"  switch i32 %to{n}, label %s{n}.told [ {cases} ]",
        ]
        for k in met:
            lines += [
                f"s{n}.meet{k}:",
                f"  %m{n}.{k} = call {self.told} @segment{k}{passed}",
                f"  br label %s{n}.on",
            ]
        return [*lines, f"s{n}.told:"]

    def _begun(self, n: int) -> str:
        """The block in which a gang begins a region."""
        return f"%s{n}.run" if self.returns and n else f"%s{n}.loop"

    def _gang(self, n: int) -> tuple[list[str], str]:
        """The number of the gang in turn."""
        if not self.reverse:
            return [], f"%n{n}"
        return [f"  %back{n} = sub i32 %instances, %n{n}", f"  %j{n} = sub i32 %back{n}, 1"], f"%j{n}"

    def _own(self, n: int, j: str) -> tuple[list[str], str]:
        """The gang's own scratch; where there is one region, all gangs use the same in turn."""
        if not self.many:
            return [], "%scratch"
        lines = [
            f"  %wide{n} = zext i32 {j} to i64",
            f"  %at{n} = mul i64 %wide{n}, {self.scratch.stride}",
            f"  %own{n} = getelementptr i8, ptr %scratch, i64 %at{n}",
        ]
        return lines, f"%own{n}"

    def _fresh(self, n: int, own: str) -> list[str]:
        """Private arrays start as zeros."""
        if n or not self.out.private:
            return []
        return [
            f"  call void @llvm.memset.p0.i64(ptr align 16 {own}, i8 0, i64 {self.scratch.size}, i1 false)"
        ]

    def _agreed(self, n: int, j: str) -> list[str]:
        """All gangs must have stopped at the same barrier."""
        if not self.many or self._end(n) is not None:
            return [f"  br label %s{n}.next"]
        returned = [
            f"  %over{n} = icmp eq {self.told} %got{n}, 0",
            f"  br i1 %over{n}, label %s{n}.next, label %s{n}.waits",
            f"s{n}.waits:",
        ]
        first = f"{self.told} %seen{n}, 0" if self.returns else f"i32 %n{n}, 0"
        return [
            *(returned if self.returns else []),
            f"  %begin{n} = icmp eq {first}",
            f"  %same{n} = icmp eq {self.told} %got{n}, %seen{n}",
            f"  %agree{n} = or i1 %begin{n}, %same{n}",
            f"  br i1 %agree{n}, label %s{n}.next, label %s{n}.apart, !prof !1",
            f"s{n}.apart:",
            *_apart(self.out, n, j),
        ]

    def _end(self, n: int) -> int | None:
        """Where all gangs go on from here; none where it is to be asked."""
        known = not self.returns and self.all_parts == self.parts
        return self.ends[n] if known else None

    def _onward(self, n: int, last: str) -> list[str]:
        if not self.many:
            return ["  br label %done"]
        end = self._end(n)
        if end is not None:
            return [f"  br label %s{end}" if end else "  br label %done"]
        number = _number(self.out, last, f"%next{n}")
        if self.parts > MAX_EACH:
            return [*number, "  br label %dispatch"]
        return [*number, f"  switch i32 %next{n}, label %done [ {self._cases} ]"]

    @property
    def _cases(self) -> str:
        return " ".join(f"i32 {k}, label %s{k}" for k in range(1, self.parts))

    def _dispatch(self) -> list[str]:
        """Where many regions go on from: to the one that all gangs told."""
        asked = [n for n in range(self.parts) if self._end(n) is None]
        if self.parts <= MAX_EACH or not asked:
            return []
        told = ", ".join(f"[ %next{n}, %s{n}.end ]" for n in asked)
        return [
            "dispatch:",
            f"  %next = phi i32 {told}",
            f"  switch i32 %next, label %done [ {self._cases} ]",
        ]


def thread_count(lanes: LaneLayout) -> str:
    """The number of threads, where it is known a number."""
    return str(lanes.count) if lanes.static_size else "%count.real"


def gang_count(lanes: LaneLayout) -> list[str]:
    if lanes.rows:
        line = lanes.size[1] == lanes.size[2] == 1
        return ["  %instances = add i32 1, 0" if line else "  %instances = mul i32 %sy, %sz"]
    rounded = f"  %rounded = add i32 {thread_count(lanes)}, {lanes.width - 1}"
    return [rounded, f"  %instances = udiv i32 %rounded, {lanes.width}"]


def group_phis(last: str) -> list[str]:
    """The threadgroup of a call's loop, whose last block is `last`."""
    return [
        f"  %gx = phi i32 [ %gx.first, %start ], [ %gx.next, %{last} ]",
        f"  %gy = phi i32 [ %gy.first, %start ], [ %gy.next, %{last} ]",
        f"  %group.n = phi i32 [ 0, %start ], [ %group.next, %{last} ]",
    ]


def next_group() -> list[str]:
    return [
        "  %gx.next = add i32 %gx, %across",
        "  %gy.next = add i32 %gy, %down",
        "  %group.next = add i32 %group.n, 1",
        "  %again = icmp ult i32 %group.next, %groups",
    ]


def direction() -> list[str]:
    """Where the next threadgroup of a call lies: along x, or along y where a row is one threadgroup."""
    return [
        f"  %row.at = getelementptr i8, ptr %launch, i64 {abi.GROUPS}",
        "  %row.groups = load i32, ptr %row.at, !invariant.load !0",
        "  %row.one = icmp eq i32 %row.groups, 1",
        "  %down = zext i1 %row.one to i32",
        "  %across = xor i32 %down, 1",
    ]


def cleared_memory(out: Output, cleared: Mapping[str, list[Range]]) -> list[str]:
    """Threadgroup memory starts as zeros; a known size lets LLVM write them in place."""
    sized = any(i.called == THREADGROUP for f in out.module.functions for i in f.instructions())
    if not sized:
        lines = []
        places = [(name, r) for name, ranges in sorted(cleared.items()) for r in ranges]
        for n, (name, (start, end)) in enumerate(places):
            align = 16 if start % 16 == 0 else 1
            lines += [
                f"  %local{n} = getelementptr i8, ptr %tg, i64 {out.local_offsets[name] + start}",
                f"  call void @llvm.memset.p0.i64(ptr align {align} %local{n}, i8 0, i64 {end - start}, i1 false)",
            ]
        return lines
    return [
        f"  %locals = getelementptr i8, ptr %tg, i64 {abi.LOCAL_START}",
        f"  %total.at = getelementptr i8, ptr %launch, i64 {abi.LOCAL_TOTAL}",
        "  %total = load i64, ptr %total.at",
        f"  %length = sub i64 %total, {abi.LOCAL_START}",
        "  call void @llvm.memset.p0.i64(ptr align 64 %locals, i8 0, i64 %length, i1 false)",
    ]


def _apart(out: Output, n: int, j: str) -> list[str]:
    """Gangs stopped at different places: report the barrier that one of them has not reached."""
    out.declare(abi.FAULT, f"declare void @{abi.FAULT}(ptr, i32, i64, i32, i32, i32, i32) cold")
    return [
        *_number(out, f"%got{n}", f"%one{n}"),
        *_number(out, f"%seen{n}", f"%other{n}"),
        f"  %ahead{n} = icmp ugt i32 %one{n}, %other{n}",
        f"  %which{n} = select i1 %ahead{n}, i32 %one{n}, i32 %other{n}",
        f"  %barrier{n} = zext i32 %which{n} to i64",
        f"  %thread{n} = mul i32 {j}, {out.lanes.step}",
        f"  %site{n} = sub i32 %which{n}, 1",
        f"  call void @{abi.FAULT}(ptr %launch, i32 %site{n}, i64 %barrier{n}, i32 %thread{n}, "
        f"i32 %gx, i32 %gy, i32 %gz)",
        "  br label %stopped",
    ]


def _number(out: Output, told: str, name: str) -> list[str]:
    """The barrier's number out of what a region told."""
    return [f"  {name} = trunc i64 {told} to i32" if out.rounds else f"  {name} = add i32 {told}, 0"]


def _checks(out: Output, barrier: Instruction | None) -> list[str]:
    """What a checked run asks for at the start of a threadgroup, or behind a barrier."""
    if out.check is None:
        return []
    from metalloid.backends.cpu.lower.shadow.events import driver_checks

    return driver_checks(out, barrier)
