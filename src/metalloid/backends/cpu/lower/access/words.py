"""Short rows of lanes that lie anywhere, as words: a float2, half4 or uchar4 of each lane is one element of a gather.

A processor that gathers takes as long for a word of 8 bytes as for one of 4, and each lane's address is looked at once.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.gathers import addresses
from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.emitter import Emitter

_WORDS = {4: "i32", 8: "i64"}  # by bytes


def load_word(e: Emitter, n: int, size: int) -> str | None:
    """The word that n elements of a lane are; None where they are not one, or the processor does not gather."""
    return _WORDS.get(n * size) if e.out.target.gathers else None


def store_word(e: Emitter, n: int, size: int) -> str | None:
    return _WORDS.get(n * size) if e.out.target.scatters else None


def gathered(
    e: Emitter, ptr: str, offsets: str, mask: str | None, word: str, n: int, kind: str, align: int
) -> list[str]:
    """A column for each of the n elements."""
    got = masked.gather(e, addresses(e, ptr, offsets), mask, word, align)
    bits = int(word[1:]) // n
    if bits >= 32:
        whole = e.put(f"bitcast {e.vt(word)} {got} to <{e.width * n} x {kind}>")
        return [pick(e, kind, whole, e.width * n, list(range(k, e.width * n, n))) for k in range(n)]
    return [_narrow(e, got, word, bits, k * bits, kind) for k in range(n)]


def _narrow(e: Emitter, words: str, word: str, bits: int, shift: int, kind: str) -> str:
    down = e.put(f"lshr {e.vt(word)} {words}, splat ({word} {shift})") if shift else words
    part = e.put(f"trunc {e.vt(word)} {down} to {e.vt(f'i{bits}')}")
    return part if kind == f"i{bits}" else e.put(f"bitcast {e.vt(f'i{bits}')} {part} to {e.vt(kind)}")


def scattered(
    e: Emitter, ptr: str, offsets: str, mask: str | None, word: str, rows: str, kind: str, n: int, align: int
) -> None:
    """The rows of all lanes, one behind the other; where lanes meet, the last one's stay."""
    words = e.put(f"bitcast <{e.width * n} x {kind}> {rows} to {e.vt(word)}")
    masked.scatter(e, addresses(e, ptr, offsets), mask, word, align, words)
