"""What all parts of an event share: the access, its labels, the moment, the arrays of words."""

from __future__ import annotations

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.shadow.memory import Layout, check, constant_field, layout, moment, words
from metalloid.transforms.instrument import Checks, CheckSite


class ShadowAccess:
    """One access of all lanes. Code goes on at `fine` where nothing is wrong so far, at `slow` where something may
    be, and at `done` in the end."""

    def __init__(
        self,
        e: Emitter,
        checks: Checks,
        number: int,
        site: CheckSite,
        place: MemRef,
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

    def _local_number(self) -> int | None:
        root = self.place.root
        found = self.checks.locals.index(root) if root in self.checks.locals else None
        return found if found is not None and found < abi.LOCALS else None

    def _missing(self) -> str:
        number = self._local_number()
        assert number is not None
        return moment(self.e, abi.MISSING + 8 * number, "i64")

    def _missing_at(self) -> str:
        number = self._local_number()
        assert number is not None
        at = abi.MISSING + 8 * number
        return self.e.at_start(f"check.at:{at}", f"getelementptr i8, ptr {check(self.e)}, i64 {at}")

    def _muted(self, least: int = 1) -> str:
        """A flag: this site has told enough; with 2, and nobody asks for its words either."""
        e = self.e
        at = e.put(f"getelementptr i8, ptr {constant_field(e, abi.MUTED, 'ptr')}, i64 {self.number}")
        return e.put(f"icmp uge i8 {e.put(f'load i8, ptr {at}')}, {least}")

    def _unless_hushed(self) -> None:
        """Ends the event where it can neither tell anything nor matter to others."""
        e, heard = self.e, self.e.fresh_label("check.heard")
        e.do(f"br i1 {self._muted(2)}, label %{self.done}, label %{heard}, !prof !2")
        e.label(heard)

    def _doubt(self, bad: str) -> None:
        """On where nothing is wrong; else the exact way, unless the site is muted."""
        e = self.e
        doubt = e.fresh_label("check.doubt")
        e.do(f"br i1 {bad}, label %{doubt}, label %{self.fine}, !prof !2")
        e.label(doubt)
        e.do(f"br i1 {self._muted()}, label %{self.fine}, label %{self.slow}")
        e.label(self.fine)

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
        named = e.put(f"add {t} {now}, {self.number << self.words.thread_bits + 1}")
        return e.put(f"add {t} {named}, {first}")

    def _array(self, which: int) -> str:
        return words(self.e, self.place.root, which)
