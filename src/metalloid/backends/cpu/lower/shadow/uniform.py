"""Events of all lanes at one place: the first and the last lane that run stand for the others."""

from __future__ import annotations

from metalloid.backends.cpu.lower.shadow.memory import FIRST, OTHER, WRITER, shadow_offset
from metalloid.backends.cpu.lower.shadow.shadow_access import ShadowAccess


class UniformEvent(ShadowAccess):
    """Scalar tests of one granule, or a few."""

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
        e = self.e
        stale = e.put(f"icmp ult {self.words.type} {word}, {group}")
        left = self._missing()
        one = e.put(f"zext i1 {stale} to i64")
        e.do(f"store i64 {e.put(f'sub i64 {left}, {one}')}, ptr {self._missing_at()}")
