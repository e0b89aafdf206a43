"""Events of lanes at their own places: vectors of words, one for each granule that is touched.

neighbours   one vector load and store for each array
pattern      distances are known: each distinct granule once, with the first and the last lane that go there
free         gathers and scatters; two lanes at one place show when a scattered word is read back
"""

from __future__ import annotations

import itertools

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.access.plan import Spot, apart, contiguous, spots
from metalloid.backends.cpu.lower.access.pointers import start_of
from metalloid.backends.cpu.lower.shadow.memory import (
    FIRST,
    OTHER,
    WRITER,
    ShadowVector,
    check,
    shadow_offset,
)
from metalloid.backends.cpu.lower.shadow.recent import Held, none_recent
from metalloid.backends.cpu.lower.shadow.shadow_access import ShadowAccess
from metalloid.records import dataclass


@dataclass(frozen=True)
class Look:
    """Words to look at: by whom (the first and, where there are more, the last lane), and what they said."""

    lot: ShadowVector
    first_lane: str  # its word, in each element
    last_lane: str  # the same where one lane goes to each granule


@dataclass(frozen=True)
class Seen:
    """What the words of an event said."""

    word: str
    first: str
    fresh: str  # the first reader is not in order with now
    bad: str


class PerLaneEvent(ShadowAccess):
    """Vector tests."""

    def _vector(self) -> None:
        """One word per granule."""
        e, site = self.e, self.site
        dear = not self._side_by_side  # gathers and scatters, beside which a test costs nothing
        if self.local and dear:
            self._unless_hushed()
        now, group, since = self._moments()
        looks, distinct = self._looks(self._own(now))
        held = [self._held(look.lot) for look in looks]
        self._unless_recent(looks, held, distinct, group, since)
        if self.local and not dear:
            self._unless_hushed()
        found = [self._look(*one, group, since) for one in zip(looks, held, strict=True)]
        bad = "false"
        for look, seen in zip(looks, found, strict=True):
            one = look.lot.any(look.lot.masked(seen.bad)) if seen.bad else "false"
            bad = one if bad == "false" else e.put(f"or i1 {bad}, {one}")
        self._doubt(bad)
        for look, seen in zip(looks, found, strict=True):
            if site.write:
                self._write_words(look, seen.word, group, distinct, site.readers)
            elif self._remembered:
                kept = f"select {look.lot.vb} {seen.fresh}, {look.lot.vt} {seen.first}, {look.lot.vt} {look.first_lane}"
                self._read_words(look, e.put(kept), group, distinct)
        self._end(looks, distinct)

    def _unless_recent(
        self, looks: list[Look], held: list[Held], distinct: bool, group: str, since: str
    ) -> None:
        """The usual case by itself: nobody has come to these places since the last barrier. Code goes on where
        somebody has."""
        e, site = self.e, self.site
        bounds = (group, since) if self.local else ("", self._start())
        quick = none_recent(e, [look.lot for look in looks], held, bounds, site.defined)
        if not quick:
            return
        kept, usual, near = (dict(e.values), dict(e.built)), e.fresh_label("usual"), e.fresh_label("recent")
        e.do(f"br i1 {quick}, label %{usual}, label %{near}, !prof !1")
        e.label(usual)
        for look, words in zip(looks, held, strict=True):
            if site.write:
                asked = site.readers and not words.first  # whether a reader may be recent
                self._write_words(look, words.word, group, distinct, asked)
            elif self._remembered and distinct and look.last_lane == look.first_lane:
                look.lot.store(self._array(FIRST), look.first_lane)
            elif self._remembered:
                self._read_words(look, look.first_lane, group, distinct)
        self._end(looks, distinct)
        e.values, e.built = kept
        e.label(near)

    def _end(self, looks: list[Look], distinct: bool) -> None:
        if self.site.write and not distinct:
            self._twice(looks)
        else:
            self.e.do(f"br label %{self.done}")

    @property
    def _side_by_side(self) -> bool:
        val = self.place.check
        return val.base is not None and contiguous(val.terms, self.e.width, self.site.size)

    @property
    def _remembered(self) -> bool:
        """Whether readers are looked at, or written down. Of lanes that each change their own place they are not: no
        other lane comes there before the write that forgets them."""
        return self.site.readers and not (self.site.changed and self._side_by_side)

    # ---- which words --------------------------------------------------------------------------------------------

    def _looks(self, own: str) -> tuple[list[Look], bool]:
        """The words, and whether no two lanes write to one."""
        e, val = self.e, self.place.check
        if self._side_by_side:
            return [self._neighbours(own)], True
        groups = self._pattern()
        if groups is not None:
            return self._grouped(own, groups), True
        offsets, root = e.expand(val), self.place.root
        start = "0" if root.kind in ("buffer", "unknown") else start_of(e, root)
        if start != "0":
            offsets = e.put(f"add {e.vt('i64')} {offsets}, {e.splat('i64', start)}")
        first = e.put(f"lshr {e.vt('i64')} {offsets}, splat (i64 {self.shift})")
        looks = []
        for n in range(self.parts):
            indices = e.put(f"add {e.vt('i64')} {first}, splat (i64 {n})") if n else first
            lot = ShadowVector(e, self.words, e.width, "", indices, e.mask)
            me = self._mine(lot, own, list(range(e.width)))
            looks.append(Look(lot, me, me))
        return looks, self._distinct()

    def _neighbours(self, own: str) -> Look:
        e, val = self.e, self.place.check
        assert val.base is not None
        lanes, mask = list(range(e.width)), e.mask
        if e.range is not None:
            lanes, mask = list(range(*e.range)), None
        pattern = dict(val.terms)[""]
        numbers = [lane for lane in lanes for _ in range(self.parts)]
        if mask is not None and self.parts > 1:
            picks = ", ".join(f"i32 {n}" for n in numbers)
            mask = e.put(
                f"shufflevector {e.vt('i1')} {mask}, {e.vt('i1')} poison, <{len(numbers)} x i32> <{picks}>"
            )
        lot = ShadowVector(e, self.words, len(numbers), self._index(val.base, pattern[lanes[0]]), None, mask)
        me = self._mine(lot, own, numbers)
        return Look(lot, me, me)

    def _index(self, base: str, offset: int) -> str:
        """The number of the granule at a scalar offset."""
        e = self.e
        at = e.put(f"add i64 {base}, {offset}") if offset else base
        # Lanes that are off may lie in front of the memory.
        return e.put(f"ashr i64 {shadow_offset(e, self.place.root, at)}, {self.shift}")

    def _pattern(self) -> dict[int, list[int]] | None:
        """Lanes by their distance from the base, where distances are known and tell who meets whom."""
        e, site, found = self.e, self.site, self._spots()
        if not found or e.mask is not None or site.align or not apart(found, site.size):
            return None
        groups: dict[int, list[int]] = {}
        for lane, spot in enumerate(found):
            groups.setdefault(spot.offset, []).append(lane)
        if any(offset % (1 << self.shift) for offset in groups) or (site.write and len(groups) < e.width):
            return None
        return {offset: groups[offset] for offset in sorted(groups)}

    def _spots(self) -> tuple[Spot, ...]:
        """Where the lanes go, as far as that is constants from the base on."""
        val = self.place.check
        known = val.base is not None and val.terms and not any(c for c, _ in val.terms)
        return spots(val.terms, self.e.width) if known else ()

    def _grouped(self, own: str, groups: dict[int, list[int]]) -> list[Look]:
        e, val = self.e, self.place.check
        assert val.base is not None
        order = list(groups)
        ends = [[groups[o][n] for o in order] for n in (0, -1)]
        start = self._index(val.base, order[0])
        if all(b - a == self.site.size for a, b in itertools.pairwise(order)):
            lanes = [[lane for lane in end for _ in range(self.parts)] for end in ends]
            lot = ShadowVector(e, self.words, len(lanes[0]), start, None, None)
            return [Look(lot, *(self._mine(lot, own, end) for end in lanes))]
        looks = []
        for n in range(self.parts):
            steps = e.constants("i64", [(o - order[0] >> self.shift) + n for o in order])
            indices = e.put(f"add <{len(order)} x i64> {e.splat('i64', start, len(order))}, {steps}")
            lot = ShadowVector(e, self.words, len(order), "", indices, None)
            looks.append(Look(lot, *(self._mine(lot, own, end) for end in ends)))
        return looks

    def _mine(self, lot: ShadowVector, own: str, numbers: list[int]) -> str:
        table = self.e.constants(self.words.type, numbers)
        return self.e.put(f"add {lot.vt} {lot.splat(own)}, {table}")

    def _distinct(self) -> bool:
        """Whether no two lanes can go to the same granule: known distances."""
        found = self._spots()
        return len(set(found)) == self.e.width and apart(found, self.site.size)

    # ---- tests ----------------------------------------------------------------------------------------------------

    def _held(self, lot: ShadowVector) -> Held:
        site = self.site
        word = lot.load(self._array(WRITER)) if site.writer or site.defined or site.write else ""
        first = lot.load(self._array(FIRST)) if self._remembered else ""
        other = lot.load(self._array(OTHER)) if self._remembered and site.write else ""
        return Held(word, first, other, site.writer)

    def _look(self, look: Look, held: Held, group: str, since: str) -> Seen:
        site, lot = self.site, look.lot
        bad: list[str] = []
        if site.writer:
            bad.append(self._unordered(look, held.word, group, since)[1])
        if site.defined:
            bad.append(lot.compare("ult", held.word, lot.splat(group if self.local else self._start())))
        fresh = ""
        if held.first:
            fresh, clash = self._unordered(look, held.first, group, since)
            if site.write:
                bad += [clash, self._unordered(look, held.other, group, since)[1]]
        result = ""
        for flags in bad:
            result = flags if not result else lot.either(result, flags)
        return Seen(held.word, held.first, fresh, result)

    def _differs(self, lot: ShadowVector, word: str, me: str) -> str:
        """Not zero where a word is another thread's."""
        bits = self.e.put(f"xor {lot.vt} {word}, {me}")
        return self.e.put(f"and {lot.vt} {bits}, splat ({self.words.type} {self.words.thread_mask})")

    def _unordered(self, look: Look, word: str, group: str, since: str) -> tuple[str, str]:
        """Flags: nothing puts this word in order with now; and it is another thread's as well."""
        lot = look.lot
        differs = self._differs(lot, word, look.first_lane)
        other = lot.compare("ne", differs, "zeroinitializer")
        if look.last_lane != look.first_lane:
            last = lot.compare("ne", self._differs(lot, word, look.last_lane), "zeroinitializer")
            other = lot.either(other, last)
        recent = lot.compare("uge", word, lot.splat(since))
        if self.checks.simd_barriers:
            recent = lot.both(recent, self._not_in_order(lot, word, differs))
        if self.local:
            return recent, lot.both(recent, other)
        before = lot.compare("ult", word, lot.splat(group))
        old = lot.both(before, lot.compare("uge", word, lot.splat(self._start())))
        return lot.either(recent, old), lot.either(old, lot.both(recent, other))

    def _not_in_order(self, lot: ShadowVector, word: str, differs: str) -> str:
        """Not of the own SIMD-group before its last barrier. Such kernels run a SIMD-group at a time."""
        e, t = self.e, self.words.type
        simd = e.put(f"zext i32 {e.put('lshr i32 %first, 5')} to i64")
        table = abi.SIMD_FROM + (256 if self.local else 0)
        at = e.put(f"getelementptr i8, ptr {check(e)}, i64 {table}")
        at = e.put(f"getelementptr i64, ptr {at}, i64 {simd}")
        since = e.put(f"load {t}, ptr {at}")
        foreign = lot.compare("ugt", differs, lot.splat("31"))
        return lot.either(foreign, lot.compare("uge", word, lot.splat(since)))

    # ---- updates --------------------------------------------------------------------------------------------------

    def _write_words(self, look: Look, word: str, group: str, distinct: bool, forget: bool) -> None:
        """`forget`: who read is not to be asked any more."""
        e, lot = self.e, look.lot
        if self.local and distinct and self._local_number() is not None:
            left = self._missing()
            count, after = e.fresh_label("new"), e.fresh_label("old")
            e.do(f"br i1 {e.put(f'icmp ne i64 {left}, 0')}, label %{count}, label %{after}")
            e.label(count)
            stale = lot.masked(lot.compare("ult", word, lot.splat(group)))
            less = e.put(f"sub i64 {left}, {lot.number(stale)}")
            e.do(f"store i64 {less}, ptr {self._missing_at()}")
            e.do(f"br label %{after}")
            e.label(after)
        lot.store(self._array(WRITER), look.first_lane)
        if forget:
            lot.store(self._array(FIRST), "zeroinitializer")
            lot.store(self._array(OTHER), "zeroinitializer")

    def _read_words(self, look: Look, first: str, group: str, distinct: bool) -> None:
        lot = look.lot
        lot.store(self._array(FIRST), first)
        there = first if distinct else lot.load(self._array(FIRST))
        other = lot.compare("ne", self._differs(lot, there, look.last_lane), "zeroinitializer")
        if not self.local:
            other = lot.either(other, lot.compare("ult", there, lot.splat(group)))
        lot.store(self._array(OTHER), look.last_lane, lot.masked(other))

    def _twice(self, looks: list[Look]) -> None:
        """Lanes whose word is not there any more met another lane at the same place."""
        e = self.e
        lost = "false"
        for look in looks:
            differs = look.lot.compare("ne", look.lot.load(self._array(WRITER)), look.first_lane)
            one = look.lot.any(look.lot.masked(differs))
            lost = one if lost == "false" else e.put(f"or i1 {lost}, {one}")
        again = e.fresh_label("check.twice")
        e.do(f"br i1 {lost}, label %{again}, label %{self.done}, !prof !2")
        e.label(again)
        e.do(f"br i1 {self._muted()}, label %{self.done}, label %{self.slow}")
