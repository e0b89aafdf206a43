"""Events of a checked run: before each marked access, a test in vector code.

Bounds first, then the words of the shadow: where every lane is plainly fine the words are written and that is all.
Any doubt goes to the runtime, which looks at each lane exactly (`mt_check_lanes`), unless the site is muted. A lane
outside stops the launch, which is run again with care: then every access is carried out lane by lane.
"""

from __future__ import annotations

import itertools

from metalloid.ir import Instruction
from metalloid.ir.values import Int
from metalloid.passes import abi
from metalloid.passes.emit.core import Emitter, Output, Val
from metalloid.passes.emit.guard import bounds, inside
from metalloid.passes.emit.inactive import inactive
from metalloid.passes.emit.patterns import contiguous
from metalloid.passes.emit.places import Place, frame_size, memory_type, to_memory, where
from metalloid.passes.emit.pointers import start_of
from metalloid.passes.emit.shadow import (
    FIRST,
    OTHER,
    WRITER,
    Layout,
    Lot,
    check,
    constant_field,
    layout,
    moment,
    shadow_number,
    shadow_offset,
    words,
)
from metalloid.passes.instrument import Checks, CheckSite

SLOW = "mt_check_lanes"


def event(e: Emitter, i: Instruction) -> None:
    """Write what a marker asks for."""
    checks, number = e.out.check, i.operands[0]
    assert checks is not None and isinstance(number, Int)
    site = checks.sites[number.value]
    if site.operation:
        inactive(e, i, site.operation)
        return
    place = where(e, i.operands[1], site.size)
    if i.called.endswith("_matrix"):
        from metalloid.passes.emit.matrix import element_offsets

        for check_at, offset in element_offsets(e, i, place, site.size):
            moved = Place(
                place.root,
                place.ptr,
                Val("i64", vec=check_at),
                place.limit,
                Val("i64", vec=offset),
                place.search,
            )
            Event(e, checks, number.value, site, moved, None).write()
        return
    if len(i.operands) > 2:
        value = i.operands[2]
        kind = memory_type(value.type)[0]
        made = e.get(value)
        vector = made.vec or e.expand(made) if e.width > 1 else e.scalar(value)
        ref = to_memory(e, value.type, kind, vector, e.width > 1)
        Event(e, checks, number.value, site, place, (kind, ref)).write()
        return
    Event(e, checks, number.value, site, place, None).write()


def barrier(e: Emitter, i: Instruction) -> None:
    """All threads of the group are here."""
    e.out.declare("mt_check_barrier", "declare void @mt_check_barrier(ptr, i32)")
    e.do(f"call void @mt_check_barrier(ptr %launch, i32 {flags_of(i)})")


def driver_checks(out: Output, barrier: Instruction | None) -> list[str]:
    """Lines of the function that runs a threadgroup: at its start, or behind a barrier."""
    if out.check is None:
        return []
    if barrier is None:
        out.declare("mt_check_group", "declare void @mt_check_group(ptr, i32, i32, i32)")
        return ["  call void @mt_check_group(ptr %launch, i32 %gx, i32 %gy, i32 %gz)"]
    out.declare("mt_check_barrier", "declare void @mt_check_barrier(ptr, i32)")
    return [f"  call void @mt_check_barrier(ptr %launch, i32 {flags_of(barrier)})"]


def flags_of(i: Instruction) -> int:
    return i.operands[0].value if isinstance(i.operands[0], Int) else 3


def simd_barrier(e: Emitter, i: Instruction) -> None:
    e.out.declare("mt_check_simd_barrier", "declare void @mt_check_simd_barrier(ptr, i32, i32)")
    for start in range(0, e.width, 32):
        thread = e.put(f"add i32 %first, {start}") if start else "%first"
        e.do(f"call void @mt_check_simd_barrier(ptr %launch, i32 {flags_of(i)}, i32 {thread})")


def fence(e: Emitter, i: Instruction) -> None:
    flags, order, scope = (o.value if isinstance(o, Int) else 0 for o in i.operands)
    if flags & 1 and order and scope == 3:
        e.out.declare("mt_check_fence", "declare void @mt_check_fence(ptr)")
        e.do("call void @mt_check_fence(ptr %launch)")


class Event:
    """One access of all lanes."""

    def __init__(
        self,
        e: Emitter,
        checks: Checks,
        number: int,
        site: CheckSite,
        place: Place,
        value: tuple[str, str] | None,
    ) -> None:
        self.e, self.checks, self.number, self.site, self.place, self.value = (
            e,
            checks,
            number,
            site,
            place,
            value,
        )
        self.local = place.root.space == 3
        self.words: Layout = layout(checks, e.out.lanes.count)
        self.slow, self.fine, self.done = (
            e.fresh_label(x) for x in ("check.slow", "check.fine", "check.done")
        )
        granule = checks.local_granule if self.local else checks.granules.get(place.root.index, 4)
        self.shift = granule.bit_length() - 1
        self.parts = max(1, site.size // granule)

    def write(self) -> None:
        e, site, place = self.e, self.site, self.place
        if site.write and place.root.space != 5:
            self._count()
        shared = place.root.kind not in ("constant", "private") and place.root.space != 5
        if place.search or (site.atomic and site.races):
            self._exactly()
        elif not shared or not site.races:
            if shared and site.reads and place.root.kind == "buffer":
                self._touch()
            if e.out.careful or site.align:
                self._bounds_only()
        else:
            if site.reads and place.root.kind == "buffer":
                self._touch()
            self._tested()

    def _count(self) -> None:
        """How many lanes store."""
        e = self.e
        number = "1" if e.width == 1 else str(e.width)
        if e.range is not None:
            number = str(e.range[1] - e.range[0])
        elif e.mask is not None:
            lot = Lot(e, self.words, e.width, "", None, e.mask)
            number = lot.number(e.put(f"freeze {e.vt('i1')} {e.mask}"))
        counts = constant_field(e, abi.COUNTS, "ptr")
        at = e.at_start(f"count{self.number}", f"getelementptr i64, ptr {counts}, i64 {self.number}")
        had = e.put(f"load i64, ptr {at}")
        e.do(f"store i64 {e.put(f'add i64 {had}, {number}')}, ptr {at}")

    # ---- parts --------------------------------------------------------------------------------------------

    def _touch(self) -> None:
        e = self.e
        base = check(e)
        at = e.at_start(
            f"touch{self.place.root.index}",
            f"getelementptr i8, ptr {base}, i64 {abi.TOUCHED + shadow_number(self.place.root)}",
        )
        e.do(f"store i8 1, ptr {at}")

    def _exactly(self) -> None:
        e = self.e
        e.do(f"br label %{self.slow}")
        self._slow_block()
        e.label(self.fine)
        e.do(f"br label %{self.done}")
        e.label(self.done)

    def _bounds_only(self) -> None:
        e = self.e
        e.do(f"br i1 {self._inside()}, label %{self.fine}, label %{self.slow}, !prof !1")
        self._slow_block()
        e.label(self.fine)
        e.do(f"br label %{self.done}")
        e.label(self.done)

    def _tested(self) -> None:
        e, site = self.e, self.site
        inside = self._inside()
        near = e.fresh_label("check.near")
        e.do(f"br i1 {inside}, label %{near}, label %{self.slow}, !prof !1")
        e.label(near)
        only_defined = site.defined and not (site.writer or site.readers or site.write)
        if only_defined and self.local and self._local_number() is not None:
            full = e.put(f"icmp eq i64 {self._missing()}, 0")
            look = e.fresh_label("check.look")
            e.do(f"br i1 {full}, label %{self.done}, label %{look}")
            e.label(look)
        if e.width == 1 or self.place.check.uniform:
            self._uniform()
        else:
            self._vector()
        self._slow_block()
        e.label(self.done)

    def _local_number(self) -> int | None:
        root = self.place.root
        found = self.checks.locals.index(root) if root in self.checks.locals else None
        return found if found is not None and found < abi.LOCALS else None

    def _missing(self) -> str:
        number = self._local_number()
        assert number is not None
        return moment(self.e, abi.MISSING + 8 * number, "i64")

    def _doubt(self, bad: str) -> None:
        """On where nothing is wrong; else the exact way, unless the site is muted."""
        e = self.e
        doubt = e.fresh_label("check.doubt")
        e.do(f"br i1 {bad}, label %{doubt}, label %{self.fine}, !prof !2")
        e.label(doubt)
        muted = constant_field(e, abi.MUTED, "ptr")
        at = e.put(f"getelementptr i8, ptr {muted}, i64 {self.number}")
        quiet = e.put(f"icmp ne i8 {e.put(f'load i8, ptr {at}')}, 0")
        e.do(f"br i1 {quiet}, label %{self.fine}, label %{self.slow}")
        e.label(self.fine)

    def _slow_block(self) -> None:
        """The exact way, for all lanes, written at its own label."""
        e = self.e
        kept = dict(e.values), dict(e.built)
        e.label(self.slow)
        self._note_length()
        w = e.width
        mask = e.mask_ref()
        if w > 1 and self.place.check.uniform and self.place.check.vec is None:
            mask = self._ends(e.mask)
        offsets = e.expand(self.place.check) if w > 1 else str(self.place.check.base)
        name = _slow_helper(e, self.value[0] if self.value else "")
        # A mask among many vector arguments goes on the stack, where LLVM 22 mistakes its bytes for bits.
        bits = "true" if w == 1 else e.put(f"bitcast {e.vt('i1')} {mask} to i{w}")
        arguments = (
            f"ptr %launch, i32 {self.number}, i32 %first, {'i64' if w == 1 else e.vt('i64')} {offsets}, "
            f"i{w} {bits}, ptr {self.place.ptr}"
        )
        if self.value:
            arguments += f", {self.value[0] if w == 1 else e.vt(self.value[0])} {self.value[1]}"
        got = e.put(f"call i32 @{name}({arguments})")
        if e.out.careful:
            e.do(f"br label %{self.done}")
        else:
            stop = e.put(f"icmp ne i32 {got}, 0")
            e.do(f"br i1 {stop}, label %stopped, label %{self.done}, !prof !2")
        e.values, e.built = kept

    def _note_length(self) -> None:
        e, root = self.e, self.place.root
        if root.kind == "private":
            e.out.check_lengths[self.number] = e.out.private[root.index].size
        elif root.space == 5:
            e.out.check_lengths[self.number] = frame_size(e)
        elif root.kind == "variable":
            e.out.check_lengths[self.number] = e.out.local_sizes[root.name]
        elif root.kind == "constant":
            e.out.check_lengths[self.number] = e.out.layout.size(e.out.module.variable[root.name].type)

    def _ends(self, mask: str | None) -> str:
        """The first and the last set lane: where all go to one place, two tell the tale."""
        e = self.e
        iota = e.constants("i32", list(range(e.width)))
        ends = [
            e.put(f"icmp eq {e.vt('i32')} {iota}, {e.splat('i32', lane)}")
            for lane in (e.first(mask), e.last(mask))
        ]
        return e.put(f"or {e.vt('i1')} {ends[0]}, {ends[1]}")

    # ---- bounds ---------------------------------------------------------------------------------------------

    def _inside(self) -> str:
        """A flag: all lanes that run are inside, and aligned."""
        e, place, val = self.e, self.place, self.place.check
        limit = place.limit
        flags: list[str] = []
        if limit is not None and (e.width == 1 or val.uniform):
            flags.append(e.put(f"icmp ult i64 {val.base}, {limit}"))
        elif limit is not None and val.base is not None and self._edges():
            flags += [e.put(f"icmp ult i64 {at}, {limit}") for at in self._edge_offsets()]
        elif limit is not None and val.base is not None:
            flags.append(inside(e, *bounds(e, val), limit))
        elif limit is not None:
            outside = e.put(f"icmp uge {e.vt('i64')} {val.vec}, {e.splat('i64', limit)}")
            bad = e.put(f"freeze {e.vt('i1')} {e.both(e.mask, outside)}")
            flags.append(e.put(f"xor i1 {e.any(bad)}, true"))
        if self.site.align:
            flags.append(self._aligned())
        result = "true"
        for flag in flags:
            result = flag if result == "true" else e.put(f"and i1 {result}, {flag}")
        return result

    def _edges(self) -> bool:
        """Whether the first and last lane that run decide: neighbours in order."""
        return (self.e.mask is not None or self.e.range is not None) and contiguous(
            self.place.check.terms, self.site.size
        )

    def _edge_offsets(self) -> list[str]:
        e, val = self.e, self.place.check
        pattern = dict(val.terms)[""]
        if e.range is not None:
            first, last = e.range
            return [e.put(f"add i64 {val.base}, {pattern[lane]}") for lane in (first, last - 1)]
        found = []
        for lane in (e.first(e.mask), e.last(e.mask)):
            wide = e.put(f"sext i32 {lane} to i64")
            step = e.put(f"mul i64 {wide}, {self.site.size}")
            found.append(e.put(f"add i64 {e.put(f'add i64 {val.base}, {pattern[0]}')}, {step}"))
        return found

    def _aligned(self) -> str:
        e, val, rest = self.e, self.place.check, self.site.align - 1
        if e.width == 1 or val.uniform:
            at = e.put(f"add i64 {val.base}, {self.site.bias}")
            return e.put(f"icmp eq i64 {e.put(f'and i64 {at}, {rest}')}, 0")
        places = e.put(f"add {e.vt('i64')} {e.expand(val)}, splat (i64 {self.site.bias})")
        low = e.put(f"and {e.vt('i64')} {places}, splat (i64 {rest})")
        odd = e.put(f"icmp ne {e.vt('i64')} {low}, zeroinitializer")
        some = e.any(e.put(f"freeze {e.vt('i1')} {e.both(e.mask, odd)}"))
        return e.put(f"xor i1 {some}, true")

    # ---- words ------------------------------------------------------------------------------------------------

    def _moments(self) -> tuple[str, str, str]:
        """now, group, from."""
        t = self.words.type
        start = abi.FROM + (8 if self.local else 0)
        return moment(self.e, abi.NOW, t), moment(self.e, abi.GROUP, t), moment(self.e, start, t)

    def _start(self) -> str:
        return constant_field(self.e, abi.START, self.words.type)

    def _own(self, now: str) -> str:
        """The word of lane 0, as a scalar."""
        e, t = self.e, self.words.type
        first = "%first" if t == "i32" else e.at_start("first.wide", "zext i32 %first to i64")
        named = e.put(f"add {t} {now}, {self.number << self.words.thread_bits}")
        return e.put(f"add {t} {named}, {first}")

    def _array(self, which: int) -> str:
        return words(self.e, self.place.root, which)

    def _vector(self) -> None:
        """One word per lane and granule."""
        e, site, val = self.e, self.site, self.place.check
        lanes = list(range(e.width))
        mask = e.mask
        near = val.base is not None and contiguous(val.terms, site.size)
        now, group, since = self._moments()
        own = self._own(now)
        lots: list[tuple[Lot, str]] = []
        if near:
            if e.range is not None:
                lanes, mask = list(range(*e.range)), None
            pattern = dict(val.terms)[""]
            start = shadow_offset(e, self.place.root, e.put(f"add i64 {val.base}, {pattern[lanes[0]]}"))
            index = e.put(f"lshr i64 {start}, {self.shift}")
            numbers = [lane for lane in lanes for _ in range(self.parts)]
            if mask is not None and self.parts > 1:
                picks = ", ".join(f"i32 {n}" for n in numbers)
                mask = e.put(
                    f"shufflevector {e.vt('i1')} {mask}, {e.vt('i1')} poison, <{len(numbers)} x i32> <{picks}>"
                )
            lot = Lot(e, self.words, len(numbers), index, None, mask)
            lots.append((lot, self._mine(lot, own, numbers)))
        else:
            offsets = e.expand(val)
            root = self.place.root
            start = "0" if root.kind in ("buffer", "unknown") else start_of(e, root)
            if start != "0":
                offsets = e.put(f"add {e.vt('i64')} {offsets}, {e.splat('i64', start)}")
            first = e.put(f"lshr {e.vt('i64')} {offsets}, splat (i64 {self.shift})")
            for n in range(self.parts):
                indices = e.put(f"add {e.vt('i64')} {first}, splat (i64 {n})") if n else first
                lot = Lot(e, self.words, e.width, "", indices, mask)
                lots.append((lot, self._mine(lot, own, lanes)))
        distinct = near or self._distinct()
        found = [self._look(lot, me, group, since) for lot, me in lots]
        bad = self._any_of([f.bad for f in found], lots)
        self._doubt(bad)
        for (lot, me), seen in zip(lots, found, strict=True):
            if site.write:
                self._write_words(lot, me, seen, group, distinct)
            elif site.readers:
                self._read_words(lot, me, seen, group, since, distinct)
        if site.write and not distinct:
            self._twice(lots)
            return
        e.do(f"br label %{self.done}")

    def _mine(self, lot: Lot, own: str, numbers: list[int]) -> str:
        table = self.e.constants(self.words.type, numbers)
        return self.e.put(f"add {lot.vt} {lot.splat(own)}, {table}")

    def _distinct(self) -> bool:
        """Whether no two lanes can go to the same granule: known distances."""
        val = self.place.check
        if val.base is None or len(val.terms) != 1 or val.terms[0][0]:
            return False
        order = sorted(val.terms[0][1])
        return all(b - a >= self.site.size for a, b in itertools.pairwise(order))

    def _any_of(self, flags: list[str], lots: list[tuple[Lot, str]]) -> str:
        result = "false"
        for flag, (lot, _) in zip(flags, lots, strict=True):
            one = lot.any(lot.masked(flag))
            result = one if result == "false" else self.e.put(f"or i1 {result}, {one}")
        return result

    def _unordered(self, lot: Lot, word: str, me: str, group: str, since: str) -> tuple[str, str]:
        """Flags: nothing puts this word in order with now; and it is another thread's as well."""
        e = self.e
        differs = e.put(f"xor {lot.vt} {word}, {me}")
        differs = e.put(f"and {lot.vt} {differs}, splat ({self.words.type} {self.words.thread_mask})")
        other = lot.compare("ne", differs, "zeroinitializer")
        recent = lot.compare("uge", word, lot.splat(since))
        if self.local:
            if self.checks.simd_barriers:
                recent = lot.both(recent, self._not_in_order(lot, word, differs))
            return recent, lot.both(recent, other)
        old = lot.both(
            lot.compare("ult", word, lot.splat(group)), lot.compare("uge", word, lot.splat(self._start()))
        )
        if self.checks.simd_barriers:
            recent = lot.both(recent, self._not_in_order(lot, word, differs))
        return lot.either(recent, old), lot.either(old, lot.both(recent, other))

    def _not_in_order(self, lot: Lot, word: str, differs: str) -> str:
        """Not of the own SIMD-group before its last barrier. Such kernels run a SIMD-group at a time."""
        e, t = self.e, self.words.type
        base = check(e)
        simd = e.put(f"zext i32 {e.put('lshr i32 %first, 5')} to i64")
        table = abi.SIMD_FROM + (256 if self.local else 0)
        at = e.put(f"getelementptr i8, ptr {base}, i64 {table}")
        at = e.put(f"getelementptr i64, ptr {at}, i64 {simd}")
        since = e.put(f"load {t}, ptr {at}")
        foreign = lot.compare("ugt", differs, lot.splat("31"))
        return lot.either(foreign, lot.compare("uge", word, lot.splat(since)))

    def _look(self, lot: Lot, me: str, group: str, since: str) -> _Seen:
        site = self.site
        word = lot.load(self._array(WRITER)) if site.writer or site.defined or site.write else ""
        bad = "zeroinitializer"
        if site.writer:
            bad = self._unordered(lot, word, me, group, since)[1]
        if site.defined:
            undefined = (
                lot.compare("ult", word, lot.splat(group))
                if self.local
                else lot.compare("ult", word, lot.splat(self._start()))
            )
            bad = undefined if bad == "zeroinitializer" else lot.either(bad, undefined)
        first = other = fresh = ""
        if site.readers:
            first, other = lot.load(self._array(FIRST)), lot.load(self._array(OTHER))
            fresh, clash = self._unordered(lot, first, me, group, since)
            if site.write:
                bad = lot.either(bad, clash)
                bad = lot.either(bad, self._unordered(lot, other, me, group, since)[1])
        return _Seen(word, first, other, fresh, bad)

    def _write_words(self, lot: Lot, me: str, seen: _Seen, group: str, distinct: bool) -> None:
        e = self.e
        if self.local and distinct and self._local_number() is not None:
            left = self._missing()
            some, count, after = e.put(f"icmp ne i64 {left}, 0"), *(e.fresh_label(x) for x in ("new", "old"))
            e.do(f"br i1 {some}, label %{count}, label %{after}")
            e.label(count)
            stale = lot.masked(lot.compare("ult", seen.word, lot.splat(group)))
            less = e.put(f"sub i64 {left}, {lot.number(stale)}")
            base = check(e)
            number = self._local_number()
            assert number is not None
            at = e.at_start(
                f"check.at:{abi.MISSING + 8 * number}",
                f"getelementptr i8, ptr {base}, i64 {abi.MISSING + 8 * number}",
            )
            e.do(f"store i64 {less}, ptr {at}")
            e.do(f"br label %{after}")
            e.label(after)
        lot.store(self._array(WRITER), me)
        if self.site.readers:
            lot.store(self._array(FIRST), "zeroinitializer")
            lot.store(self._array(OTHER), "zeroinitializer")

    def _read_words(self, lot: Lot, me: str, seen: _Seen, group: str, since: str, distinct: bool) -> None:
        e = self.e
        first = e.put(f"select {lot.vb} {seen.fresh}, {lot.vt} {seen.first}, {lot.vt} {me}")
        lot.store(self._array(FIRST), first)
        there = first if distinct else lot.load(self._array(FIRST))
        differs = e.put(f"xor {lot.vt} {there}, {me}")
        differs = e.put(f"and {lot.vt} {differs}, splat ({self.words.type} {self.words.thread_mask})")
        other = lot.compare("ne", differs, "zeroinitializer")
        if not self.local:
            other = lot.either(other, lot.compare("ult", there, lot.splat(group)))
        lot.store(self._array(OTHER), me, lot.masked(other))

    def _twice(self, lots: list[tuple[Lot, str]]) -> None:
        """Lanes whose word is not there any more met another lane at the same place."""
        e = self.e
        lost = "false"
        for lot, me in lots:
            differs = lot.compare("ne", lot.load(self._array(WRITER)), me)
            one = lot.any(lot.masked(differs))
            lost = one if lost == "false" else e.put(f"or i1 {lost}, {one}")
        again, muted = e.fresh_label("check.twice"), constant_field(e, abi.MUTED, "ptr")
        e.do(f"br i1 {lost}, label %{again}, label %{self.done}, !prof !2")
        e.label(again)
        at = e.put(f"getelementptr i8, ptr {muted}, i64 {self.number}")
        quiet = e.put(f"icmp ne i8 {e.put(f'load i8, ptr {at}')}, 0")
        e.do(f"br i1 {quiet}, label %{self.done}, label %{self.slow}")

    # ---- one place for all lanes -----------------------------------------------------------------------------------

    def _uniform(self) -> None:
        e, site, val = self.e, self.site, self.place.check
        t = self.words.type
        assert val.base is not None
        now, group, since = self._moments()
        own = self._own(now)
        ends = [own, own]
        single = "true"
        if e.width > 1:
            lanes = [e.first(e.mask), e.last(e.mask)]
            single = e.put(f"icmp eq i32 {lanes[0]}, {lanes[1]}")
            if t == "i64":
                lanes = [e.put(f"zext i32 {lane} to i64") for lane in lanes]
            ends = [e.put(f"add {t} {own}, {lane}") for lane in lanes]
        start = shadow_offset(e, self.place.root, val.base)
        index = e.put(f"lshr i64 {start}, {self.shift}")
        bad = "false" if not site.write else e.put(f"xor i1 {single}, true")
        updates = []
        for n in range(self.parts):
            at = e.put(f"add i64 {index}, {n}") if n else index
            place = {
                which: e.put(f"getelementptr {t}, ptr {self._array(which)}, i64 {at}")
                for which in ((WRITER, FIRST, OTHER) if site.readers else (WRITER,))
            }
            word = e.put(f"load {t}, ptr {place[WRITER]}") if site.writer or site.defined else ""
            if site.writer:
                bad = self._or(bad, self._alone(word, ends[1], group, since, single)[1])
            if site.defined:
                bad = self._or(bad, e.put(f"icmp ult {t} {word}, {group if self.local else self._start()}"))
            first = fresh = ""
            if site.readers:
                first = e.put(f"load {t}, ptr {place[FIRST]}")
                fresh, clash = self._alone(first, ends[1], group, since, single)
                if site.write:
                    other = e.put(f"load {t}, ptr {place[OTHER]}")
                    bad = self._or(bad, clash)
                    bad = self._or(bad, self._alone(other, ends[1], group, since, single)[1])
            updates.append((place, word, first, fresh))
        self._doubt(bad)
        for place, word, first, fresh in updates:
            if site.write:
                self._stale_one(word, group)
                e.do(f"store {t} {ends[1]}, ptr {place[WRITER]}")
                if site.readers:
                    e.do(f"store {t} 0, ptr {place[FIRST]}")
                    e.do(f"store {t} 0, ptr {place[OTHER]}")
            elif site.readers:
                e.do(
                    f"store {t} {e.put(f'select i1 {fresh}, {t} {first}, {t} {ends[0]}')}, ptr {place[FIRST]}"
                )
                several = e.put(f"xor i1 {single}, true")
                tell = e.put(f"or i1 {fresh}, {several}")
                old = e.put(f"load {t}, ptr {place[OTHER]}")
                e.do(f"store {t} {e.put(f'select i1 {tell}, {t} {ends[1]}, {t} {old}')}, ptr {place[OTHER]}")
        e.do(f"br label %{self.done}")

    def _or(self, a: str, b: str) -> str:
        return b if a == "false" else self.e.put(f"or i1 {a}, {b}")

    def _alone(self, word: str, me: str, group: str, since: str, single: str) -> tuple[str, str]:
        """Flags: nothing puts this word in order; and it is not that of the only lane here."""
        e, t = self.e, self.words.type
        recent = e.put(f"icmp uge {t} {word}, {since}")
        differs = e.put(f"and {t} {e.put(f'xor {t} {word}, {me}')}, {self.words.thread_mask}")
        same = e.put(f"and i1 {e.put(f'icmp eq {t} {differs}, 0')}, {single}")
        clash = e.put(f"and i1 {recent}, {e.put(f'xor i1 {same}, true')}")
        if self.local:
            return recent, clash
        here, since_start = f"icmp ult {t} {word}, {group}", f"icmp uge {t} {word}, {self._start()}"
        old = e.put(f"and i1 {e.put(here)}, {e.put(since_start)}")
        return e.put(f"or i1 {recent}, {old}"), e.put(f"or i1 {clash}, {old}")

    def _stale_one(self, word: str, group: str) -> None:
        if not self.local or self._local_number() is None:
            return
        e, number = self.e, self._local_number()
        assert number is not None
        stale = e.put(f"icmp ult {self.words.type} {word}, {group}")
        left = self._missing()
        base = check(e)
        at = e.at_start(
            f"check.at:{abi.MISSING + 8 * number}",
            f"getelementptr i8, ptr {base}, i64 {abi.MISSING + 8 * number}",
        )
        one = e.put(f"zext i1 {stale} to i64")
        e.do(f"store i64 {e.put(f'sub i64 {left}, {one}')}, ptr {at}")


class _Seen:
    """What the words of an event said."""

    def __init__(self, word: str, first: str, other: str, fresh: str, bad: str) -> None:
        self.word, self.first, self.other, self.fresh, self.bad = word, first, other, fresh, bad


def _slow_helper(e: Emitter, kind: str) -> str:
    """Puts the lanes into memory and calls the runtime."""
    name = f"check.lanes.{kind or 'none'}"
    if name in e.out.helpers:
        return name
    w = e.width
    vi, vk = ("i64", kind) if w == 1 else (e.vt("i64"), e.vt(kind))
    e.out.declare(SLOW, f"declare i32 @{SLOW}(ptr, i32, i32, i32, ptr, ptr, ptr, ptr)")
    bits = max(64, -(-w // 64) * 64)
    values = ["  %values = alloca " + vk, f"  store {vk} %value, ptr %values"] if kind else []
    lines = [
        f"define internal i32 @{name}(ptr %launch, i32 %site, i32 %first, {vi} %offset, i{w} %mask, ptr %base"
        f"{f', {vk} %value' if kind else ''}) noinline cold {{",
        f"  %offsets = alloca {vi}",
        f"  %masks = alloca i{bits}",
        *values,
        f"  store {vi} %offset, ptr %offsets",
        f"  %bits = zext i{w} %mask to i{bits}" if w < bits else f"  %bits = or i{w} %mask, 0",
        f"  store i{bits} %bits, ptr %masks",
        f"  %got = call i32 @{SLOW}(ptr %launch, i32 %site, i32 %first, i32 {w}, ptr %offsets, ptr %masks, "
        f"ptr %base, ptr {'%values' if kind else 'null'})",
        "  ret i32 %got",
        "}",
    ]
    e.out.helpers[name] = "\n".join(lines) + "\n"
    return name
