"""Lanes as numbers, one after the other.

LLVM stores a whole vector each time a lane is asked for whose number it does not know. So where a loop goes through
the lanes, the vector is stored once before it, and read lane by lane. Lanes with a number are taken out of registers,
which is faster (a histogram on a Xeon with AVX-512: 0.94 ns for each lane, by way of memory 1.13).
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter, Val


class Lanes:
    """The lanes of a value. What they are read from is written where this is made."""

    def __init__(self, e: Emitter, made: Val, numbered: bool) -> None:
        """`numbered`: lanes are asked for by numbers that the text has."""
        self.e, self.kind, self.one, self.slot = e, made.type, "", ""
        if made.uniform:
            self.one = made.base or "0"
            return
        self.vector = e.expand(made)
        if not numbered:
            self.slot = e.alloca(e.vt(self.kind), "lanes")
            e.do(f"store {e.vt(self.kind)} {self.vector}, ptr {self.slot}")

    def __getitem__(self, lane: str) -> str:
        e, kind = self.e, self.kind
        if self.one:
            return self.one
        if not self.slot:
            return e.put(f"extractelement {e.vt(kind)} {self.vector}, i32 {lane}")
        at = e.put(f"getelementptr {kind}, ptr {self.slot}, i32 {lane}")
        return e.put(f"load {kind}, ptr {at}")
