"""What many rounds of a thread's loop load (`transforms/masked_rounds.py`): vectors, under the mask of the rounds that
are there. What lies side by side is one masked load; what a row of indices leads to, x[column[k]], one gather, where
that takes less than as many loads.
"""

from __future__ import annotations

from metalloid.analysis.intervals import is_proved
from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.guard import inside, told_unless
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address, alignment, memory_type, resolve
from metalloid.backends.cpu.lower.access.packs import Pack
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass, field
from metalloid.transforms.masked_rounds import ROUND

WORD = 4  # bytes of an element and of its index: those that a gather takes
_MOST = (1 << 31) - 1  # indices from here on are negative, or may be: those a gather would take for such


@dataclass(frozen=True)
class Lookup:
    """base[index]: the index is loaded, and cast to 64 bits."""

    base: Value
    index: Instruction
    cast: str


def lookup(function: Function, load: Instruction) -> Lookup | None:
    """What a load's address is made of, where that is a lookup of a word."""
    gep = _made(function, load.operands[0], "getelementptr")
    cast = _made(function, gep.operands[-1], "sext", "zext") if gep is not None else None
    index = _made(function, cast.operands[0], "load") if cast is not None else None
    if gep is None or cast is None or index is None or len(gep.operands) != 2 or gep.element != load.type:
        return None
    fits = isinstance(load.type, FloatType | IntType) and load.type.bits == 8 * WORD == index.type.bits  # type: ignore[union-attr]
    return Lookup(gep.operands[0], index, cast.opcode) if fits and cast.type == IntType(64) else None


def _made(function: Function, value: Value, *opcodes: str) -> Instruction | None:
    i = function.definitions.get(value.name) if isinstance(value, Local) else None
    return i if i is not None and i.opcode in opcodes else None


@dataclass
class Rounds:
    """The loads and the sums of a block of rounds, by those of the loop; and the vectors that have been written."""

    e: Emitter
    loads: dict[str, list[Instruction]]
    sums: dict[str, list[Instruction]]
    stores: dict[str, list[Instruction]]
    firsts: dict[str, str]  # of the first round's load, that of the loop
    left: str  # name of how many rounds are left behind the first
    whole: frozenset[Pack] = frozenset()  # loads of which nobody wants one alone
    vectors: dict[str, str] = field(default_factory=dict)
    _mask: list[str] = field(default_factory=list)

    def packs(self) -> list[Pack]:
        """The loads of all rounds, by those of the loop."""
        return [tuple(i.name for i in loads) for loads in self.loads.values()]

    def vector(self, pack: Pack) -> str | None:
        """What the rounds have loaded, if that is one vector."""
        return self.vectors.get(self.firsts[pack[0]])

    def write(self, i: Instruction) -> None:
        """All rounds' loads, at that of the first round, and their sums, at that of the last, as far as they can be
        written so: `e.done` has them."""
        if i.opcode == "load" and i.name in self.firsts:
            self._load(self.firsts[i.name])
        elif i.opcode == "select" and self.vectors and (own := _said(i)) is not None:
            self.e.done.add(i.name)  # only the next time asks for it
            if i is self.sums[own[0]][-1]:
                self._sum(self.sums[own[0]])

    def _sum(self, sums: list[Instruction]) -> None:
        """Those of the rounds that are there, and what the others were: LLVM knows that the first is there, and would
        make several vectors of it and the others."""
        e, n, kind = self.e, len(sums), lowered(sums[0].type)
        new, old = ("poison", "poison")
        for m, i in enumerate(sums):
            new = e.put(f"insertelement <{n} x {kind}> {new}, {kind} {e.scalar(i.operands[1])}, i64 {m}")
            old = e.put(f"insertelement <{n} x {kind}> {old}, {kind} {e.scalar(i.operands[2])}, i64 {m}")
        made = e.put(f"select <{n} x i1> {self.mask(n)}, <{n} x {kind}> {new}, <{n} x {kind}> {old}")
        for m, i in enumerate(sums):
            e.set(i.name, Val(kind, e.put(f"extractelement <{n} x {kind}> {made}, i64 {m}")))

    def _load(self, own: str) -> None:
        e = self.e
        loads = self.loads[own]
        kind = lowered(loads[0].type)
        if kind != memory_type(loads[0].type)[0]:
            return
        found = lookup(e.function, loads[0])
        row = self._index_row(found) if found is not None else None
        made = (
            self._looked_up(loads, found, row)
            if found is not None and row is not None
            else self._side_by_side(loads)
        )
        if made is None:
            return
        self.vectors[own] = made
        e.done |= {i.name for i in loads}
        if tuple(i.name for i in loads) in self.whole:
            return
        for n, i in enumerate(loads):
            e.set(i.name, Val(kind, e.put(f"extractelement <{len(loads)} x {kind}> {made}, i64 {n}")))

    def _index_row(self, found: Lookup) -> str | None:
        own = self.firsts.get(found.index.name)
        return self.vectors.get(own) if own is not None else None

    def mask(self, n: int) -> str:
        """The rounds that are there."""
        if not self._mask:
            e, left = self.e, self.e.function.definitions[self.left].value
            kind = lowered(left.type)
            rest = e.scalar(left)
            behind = e.put(
                f"select i1 {e.put(f'icmp ult {kind} {rest}, {n - 1}')}, {kind} {rest}, {kind} {n - 1}"
            )
            most = e.put(f"add {kind} {behind}, 1")
            cast = "zext" if isinstance(left.type, IntType) and left.type.bits < 32 else "trunc"
            count = most if kind == "i32" else e.put(f"{cast} {kind} {most} to i32")
            self._mask[:] = [
                e.put(
                    f"icmp ult <{n} x i32> {e.constants('i32', list(range(n)))}, {e.splat('i32', count, n)}"
                ),
                e.put(f"zext i32 {count} to i64"),
            ]
        return self._mask[0]

    def _side_by_side(self, loads: list[Instruction]) -> str | None:
        e, n, (kind, size) = self.e, len(loads), memory_type(loads[0].type)
        place = self._place(loads, loads[0].operands[0])
        if place is None or (place.limit is not None and e.out.robust):
            return None  # the first may be outside, before 0, where the others are not
        mask = self.mask(n)
        if place.limit is not None:
            span = e.put(f"mul i64 {e.put(f'sub i64 {self._mask[1]}, 1')}, {size}")
            fine = inside(e, place.check.base or "0", span, place.limit)
            good, bad = e.fresh_label("in"), e.fresh_label("out")
            e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
            e.label(bad)
            self._told(loads, place, place.limit, mask, [str(m * size) for m in range(n)])
            e.do(f"br label %{good}")
            e.label(good)
        at = address(e, place.ptr, place.offset.base or "0")
        return masked.load(e, at, mask, kind, alignment(loads[0], size), n)

    def _looked_up(self, loads: list[Instruction], found: Lookup, row: str) -> str | None:
        e, n = self.e, len(loads)
        place = self._place(loads, found.base)
        if place is None:
            return None
        mask = self.mask(n)
        if place.limit is None:
            return self._gather(loads, place, row, found.cast)
        if e.out.robust:
            index = e.put(f"{found.cast} <{n} x i32> {row} to <{n} x i64>")
            far_off = e.put(f"mul <{n} x i64> {index}, {e.splat('i64', str(WORD), n)}")
            return self._gather(
                loads, place, row, found.cast, self._inside(place, place.limit, mask, far_off, n)
            )
        good, slow, last, join = (e.fresh_label(x) for x in ("in", "slow", "last", "join"))
        behind = e.put(f"add i64 {e.put(f'sub i64 {place.limit}, {place.check.base}')}, {WORD - 1}")
        some = e.put(f"select i1 {e.put(f'icmp sgt i64 {behind}, 0')}, i64 {behind}, i64 0")
        room = e.put(f"lshr i64 {some}, {WORD.bit_length() - 1}")
        least = e.put(f"select i1 {e.put(f'icmp ult i64 {room}, {_MOST}')}, i64 {room}, i64 {_MOST}")
        below = e.splat("i32", e.put(f"trunc i64 {least} to i32"), n)
        out = e.put(f"and <{n} x i1> {mask}, {e.put(f'icmp uge <{n} x i32> {row}, {below}')}")
        bits = e.put(f"bitcast <{n} x i1> {out} to i{n}")
        e.do(f"br i1 {e.put(f'icmp eq i{n} {bits}, 0')}, label %{good}, label %{slow}, !prof !1")
        e.label(slow)  # some indices may be fine though negative
        far = []
        for m in range(n):
            index = e.put(f"{found.cast} i32 {e.put(f'extractelement <{n} x i32> {row}, i64 {m}')} to i64")
            far.append(e.put(f"mul i64 {index}, {WORD}"))
        self._told(loads, place, place.limit, mask, far)
        exact = self._gather(loads, place, row, found.cast)
        e.do(f"br label %{last}")
        e.label(last)
        e.do(f"br label %{join}")
        e.label(good)
        quick = self._gather(loads, place, row, "sext")
        e.do(f"br label %{join}")
        e.label(join)
        kind = lowered(loads[0].type)
        return e.put(f"phi <{n} x {kind}> [ {quick}, %{good} ], [ {exact}, %{last} ]")

    def _place(self, loads: list[Instruction], pointer: Value) -> MemRef | None:
        e = self.e
        e.proved = all(is_proved(i) for i in loads)
        place = resolve(e, pointer, memory_type(loads[0].type)[1])
        known = place.offset.base is not None and place.check.base is not None
        return place if place.root.kind == "buffer" and known and not place.search else None

    def _told(self, loads: list[Instruction], place: MemRef, limit: str, mask: str, far: list[str]) -> None:
        """A report for the first round that is there and goes outside."""
        e, n = self.e, len(loads)
        for m, i in enumerate(loads):
            offset = e.put(f"add i64 {place.check.base}, {far[m]}")
            there = e.put(f"extractelement <{n} x i1> {mask}, i64 {m}")
            fine = e.put(f"icmp ult i64 {offset}, {limit}")
            idle = e.put(f"xor i1 {there}, true")
            size = memory_type(i.type)[1]
            told_unless(
                e, e.put(f"or i1 {fine}, {idle}"), e.out.site(i, place.root, size), offset, lambda: "", ""
            )

    def _inside(self, place: MemRef, limit: str, mask: str, far: str, n: int) -> str:
        """The rounds that are there and inside the memory: what is outside reads as zero."""
        e = self.e
        offsets = e.put(f"add <{n} x i64> {e.splat('i64', place.check.base or '0', n)}, {far}")
        fine = e.put(f"icmp ult <{n} x i64> {offsets}, {e.splat('i64', limit, n)}")
        return e.put(f"and <{n} x i1> {mask}, {fine}")

    def _gather(self, loads: list[Instruction], place: MemRef, row: str, cast: str, mask: str = "") -> str:
        e, n, kind = self.e, len(loads), lowered(loads[0].type)
        start = address(e, place.ptr, place.offset.base or "0")
        index = e.put(f"{cast} <{n} x i32> {row} to <{n} x i64>")
        spots = e.put(f"getelementptr {kind}, ptr {start}, <{n} x i64> {index}")
        return masked.gather(e, spots, mask or self.mask(n), kind, WORD, n)


def rounds_of(e: Emitter, block: Block) -> Rounds | None:
    """The loads of a block's rounds; None where there are none, or nobody wants vectors of them."""
    out = e.out
    if e.width > 1 or out.brief or out.check is not None or not out.target.masks_memory:
        return None
    loads: dict[str, list[Instruction]] = {}
    sums: dict[str, list[Instruction]] = {}
    stores: dict[str, list[Instruction]] = {}
    by_kind = {"load": loads, "store": stores}
    firsts, left = {}, ""
    for i in block.body:
        if (said := _said(i)) is None:
            continue
        own, number, left = said
        by_kind.get(i.opcode, sums).setdefault(own, []).append(i)
        firsts.update({i.name: own} if number == "0" else {})
    return Rounds(e, loads, sums, stores, firsts, left) if loads or stores else None


def _said(i: Instruction) -> tuple[str, str, str] | None:
    """Of which one in the loop it is, in which round, and what is left."""
    for kind, text in i.metadata:
        if kind == ROUND:
            own, number, left = text.split(" ")
            return own, number, left
    return None
