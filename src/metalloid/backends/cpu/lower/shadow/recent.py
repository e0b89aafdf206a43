"""Whether anybody has come to some places since the last barrier: mostly nobody has, and one comparison tells.

A word grows with its serial, so the largest of all words speaks for them. On registers of 128 bits the exact test of 16
words is a hundred instructions, this one twenty: a checked tree of sums took 14 times its plain run.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.shadow.memory import ShadowVector
from metalloid.records import dataclass


@dataclass(frozen=True)
class Held:
    """Words of an event as they were read; empty where nobody asks for them."""

    word: str
    first: str
    other: str
    judged: bool  # whether the writer may collide, or is only counted


def none_recent(
    e: Emitter, lots: Sequence[ShadowVector], held: Sequence[Held], bounds: tuple[str, str], defined: bool
) -> str:
    """A flag: all words are below the second bound, and, where they must be `defined`, not below the first. Never set
    wrongly: words of lanes that are off may count as well. Empty where that could not be, or would not be quicker."""
    below, bound = bounds
    if lots[0].words.bits != 32 or (defined and not below):
        return ""
    flags: list[str] = []
    for lot, words in zip(lots, held, strict=True):
        tops = [word for word in (words.first, words.other) if word]
        if words.judged and not defined:
            tops.append(words.word)
        if tops:
            flags.append(_some_from(lot, tops, bound))
        if defined:  # word in below..bound: one unsigned comparison of word - below
            shifted = lot.put(f"sub {lot.vt} {words.word}, {lot.splat(below)}")
            if lot.mask is not None:
                shifted = lot.put(f"select {lot.vb} {lot.mask}, {lot.vt} {shifted}, {lot.vt} zeroinitializer")
            flags.append(_some_from(lot, [shifted], lot.put(f"sub i32 {bound}, {below}")))
    if not flags:
        return ""
    some = flags[0]
    for flag in flags[1:]:
        some = e.put(f"or i1 {some}, {flag}")
    return e.put(f"xor i1 {some}, true")


def _some_from(lot: ShadowVector, words: list[str], bound: str) -> str:
    """A flag: some of the words is at the bound or above it."""
    count, lanes = lot.count, lot.e.out.target.lanes32
    top = words[0]
    for word in words[1:]:
        top = _larger(lot, count, top, word)
    while count % 2 == 0 and count // 2 >= lanes:
        count //= 2
        halves = [
            lot.put(
                f"shufflevector <{2 * count} x i32> {top}, <{2 * count} x i32> poison, "
                f"<{count} x i32> <{', '.join(f'i32 {n}' for n in range(start, start + count))}>"
            )
            for start in (0, count)
        ]
        top = _larger(lot, count, *halves)
    flags = lot.put(f"icmp uge <{count} x i32> {top}, {lot.e.splat('i32', bound, count)}")
    bits = lot.put(f"bitcast <{count} x i1> {flags} to i{count}")
    return lot.put(f"icmp ne i{count} {bits}, 0")


def _larger(lot: ShadowVector, count: int, a: str, b: str) -> str:
    kind = f"<{count} x i32>"
    name = f"llvm.umax.v{count}i32"
    lot.e.out.declare(name, f"declare {kind} @{name}({kind}, {kind})")
    return lot.put(f"call {kind} @{name}({kind} {a}, {kind} {b})")
