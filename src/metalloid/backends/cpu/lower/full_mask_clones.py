"""Copies of code for the case that no lane is idle.

Masks turn pattern loads into gathers and cost a blend per value, yet most gangs have idle lanes only at the end
of the grid or in the last round of a loop. So the branch that a gang takes as a whole, and the rounds of a loop
that all lanes make, get a copy without masks. When some lane leaves such a loop the others go on in the masked one:
values and masks are in slots that both share.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metalloid.analysis.divergence import Divergence, Flow
from metalloid.analysis.lane_sets import every, lanes_of
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.lane_tests import all_lanes
from metalloid.ir import Block
from metalloid.ir.intrinsics import is_marker
from metalloid.ir.values import Local, Value

MAX_COPY = 400  # instructions; code that is written twice is compiled twice


class Copies:
    """The part of `Control` that decides on copies and writes them."""

    e: Emitter
    flow: Flow
    order: tuple[str, ...]
    mask_head: dict[str, str]
    labels: dict[str, str]
    parts: frozenset[str]
    ends: dict[str, list[str]]
    entry_mask: str | None
    next: str

    def __init__(self) -> None:
        self.copying = ""  # the first block of the copy that is being written
        self.copied_next = ""  # where the block behind the current one gets a copy: what follows all of that
        self.skip_check = ""  # a block whose check was written with its copy
        self.masked: _Masked | None = None  # where lanes go on when they part in a loop's copy

    def leads(self, block: str) -> bool:
        raise NotImplementedError

    def waiting(self, block: str) -> str:
        raise NotImplementedError

    def current(self, head: str) -> str:
        raise NotImplementedError

    def _write_block(self, n: int, following: str) -> None:
        raise NotImplementedError

    def write_range(self, start: int, end: int, last: str, copies: bool) -> None:
        """Blocks from `start` to before `end`; what follows them is at the label `last`."""
        n = start
        while n < end:
            size = self._copied(n, end) if copies else 0
            self._look_ahead(n, end, last, copies and not size)
            if size:
                if not self.never_all(self.order[n]):
                    self._write_copy(n, size, self._after(n + size, end, last))
                self.copied_next = ""
                for m in range(n, n + size):
                    self._write_block(m, self._after(m + 1, end, last))
                n += size
            else:
                self._write_block(n, self._after(n + 1, end, last))
                n += 1

    def _look_ahead(self, n: int, end: int, last: str, copies: bool) -> None:
        size = self._copied(n + 1, end) if copies and n + 1 < end else 0
        self.copied_next = self._after(n + 1 + size, end, last) if size else ""

    def _after(self, n: int, end: int, last: str) -> str:
        return f"{self.labels[self.order[n]]}.check" if n < end else last

    def _copied(self, n: int, end: int) -> int:
        """How many blocks from here on get a copy; 0 for none."""
        name = self.order[n]
        if self.e.width == 1 or self.e.out.brief or self.entry_mask is not None or not self.leads(name):
            return 0
        loop = self.flow.forest.loops.get(name)
        if loop:
            size = len(loop.blocks)
            if not self._loop_leaders(name):
                return 0
        else:
            size = 1
            while n + size < end and self.flow.dominators.dominates(name, self.order[n + size]):
                size += 1
        inside = self.order[n : n + size]
        code = [i for b in inside for i in self.flow.function.block[b].instructions]
        reads = any(i.opcode in ("load", "store", "call") for i in code)
        whole = all(
            self.flow.forest.loops[h].blocks <= set(inside) for b in inside for h in self.ends.get(b, ())
        )
        length = sum(not is_marker(i.called) for i in code)
        return size if reads and whole and length <= MAX_COPY else 0

    def never_all(self, name: str) -> bool:
        """Whether a block is known to run with some lanes only."""
        bounds = lanes_of(self.e.u, self.e.width, name, self.mask_head, every(self.e.width)).bounds
        return bounds is not None and bounds != (0, self.e.width)

    def _loop_leaders(self, header: str) -> dict[str, str] | None:
        """Who leads whom in a loop that all lanes go round together; None where lanes part in other ways as well."""
        loop = self.flow.forest.loops[header]
        exits = {b for b, _ in loop.exits}
        without = Divergence(self.flow, self.e.u.divergence.branches - exits)
        if header in without.loops:
            return None
        head = without.mask_head[header]
        first = self.order[0]
        return {b: first if without.mask_head[b] == head else without.mask_head[b] for b in loop.blocks}

    def _write_copy(self, n: int, size: int, following: str) -> None:
        """The blocks as they run with all lanes: those of the first one's mask belong to everybody's."""
        e, name = self.e, self.order[n]
        inside = self.order[n : n + size]
        loop = name in self.flow.forest.loops
        mask_head, labels, masked = self.mask_head, self.labels, self.masked
        e.label(f"{labels[name]}.check")
        slot = self.waiting(name)
        mask = e.put(f"load {e.vt('i1')}, ptr {slot}")
        full = e.put(f"icmp eq i{e.width} {self._bits(mask)}, -1")
        e.do(f"br i1 {full}, label %{labels[name]}.all, label %{labels[name]}.some")
        e.label(f"{labels[name]}.all")
        e.do(f"store {e.vt('i1')} zeroinitializer, ptr {slot}")
        if any(mask_head[b] == name and b not in inside for b in self.order):
            # Blocks of this mask that stand behind the copy load it: behind a block that other lanes run too, or
            # behind a return. Never stored, it was whatever the register held.
            e.do(f"store {e.vt('i1')} splat (i1 true), ptr {self.current(name)}")
        e.do(f"br label %{labels[name]}.w")
        if loop:
            found = self._loop_leaders(name)
            assert found is not None
            nexts = {}
            for m in range(n, n + size):
                block = self.order[m]
                after = f"{labels[self.order[m + 1]]}.check" if m + 1 < n + size else following
                nexts[block] = f"{labels[block]}.after" if block in self.ends else after
            self.masked = _Masked(name, mask_head, labels, nexts)
            self.mask_head = {**mask_head, **found}
        else:
            self.mask_head = {b: self.order[0] if mask_head[b] == name else mask_head[b] for b in mask_head}
        self.labels = {b: f"{label}.w" if b in inside else label for b, label in labels.items()}
        before, self.copying = self.copying, name
        self.write_copied(n, n + size, following, not loop)
        self.copying = before
        self.mask_head, self.labels, self.masked = mask_head, labels, masked
        self.skip_check = name

    def write_copied(self, start: int, end: int, last: str, copies: bool) -> None:
        """The first block without a check, then the others."""
        self._look_ahead(start, end, last, copies)
        self._write_block(start, self._after(start + 1, end, last))
        self.write_range(start + 1, end, last, copies)

    def _bits(self, mask: str) -> str:
        return self.e.put(f"bitcast {self.e.vt('i1')} {mask} to i{self.e.width}")

    # ---- leaving a loop's copy -------------------------------------------------------------------------------

    def stays(self, block: Block) -> str:
        """In the copy of a loop, at a branch out of it: the target inside; "" anywhere else."""
        if self.masked is None or block.name not in self.parts:
            return ""
        loop = self.flow.forest.loops[self.masked.header]
        if block.name not in loop.blocks or self.mask_head[block.name] != self.order[0]:
            return ""
        inside = [t for t in block.terminator.labels if t in loop.blocks]
        return inside[0] if len(inside) == 1 and len(set(block.terminator.labels)) == 2 else ""

    def all_stay(self, condition: Value, wanted: bool) -> str:
        """A flag: every lane has the condition (or, where not wanted, none has)."""
        e = self.e
        quick = all_lanes(e, condition, wanted) if self._ordered(condition) else None
        if quick:
            return quick
        flags = e.put(f"freeze {e.vt('i1')} {e.vector(condition)}")
        return e.put(f"icmp eq i{e.width} {self._bits(flags)}, {-1 if wanted else 0}")

    def _ordered(self, condition: Value) -> bool:
        """Whether the scalar test says all there is to say: a loop that fails it once goes on with masks."""
        made = self.flow.function.definitions.get(condition.name) if isinstance(condition, Local) else None
        return made is not None and made.opcode == "icmp" and made.predicate[0] in "us"

    @contextmanager
    def as_masked(self, block: str) -> Iterator[None]:
        """Write edges as the masked loop has them."""
        assert self.masked is not None
        kept = self.mask_head, self.labels, self.next, self.masked
        self.mask_head, self.labels, self.next = (
            self.masked.mask_head,
            self.masked.labels,
            self.masked.nexts[block],
        )
        self.masked = None
        yield
        self.mask_head, self.labels, self.next, self.masked = kept


class _Masked:
    """The masked loop beside the copy that is being written."""

    def __init__(
        self, header: str, mask_head: dict[str, str], labels: dict[str, str], nexts: dict[str, str]
    ) -> None:
        self.header, self.mask_head, self.labels, self.nexts = header, mask_head, labels, nexts
