"""Rows into columns, and other ways to put short vectors together.

Processors interleave the 16-byte parts of registers in one instruction each, and rows that fill such parts go through
it together; anything else is interleaved whole, which costs LLVM two or three.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.contiguous import concat
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.text import Text

SIDE = 8  # of a matrix
_SIZES = {"half": 2, "i16": 2, "float": 4, "i32": 4, "double": 8, "i64": 8}


def turned(e: Emitter, kind: str, rows: list[str], n: int) -> list[str]:
    """Rows of n elements as n columns: halves are interleaved until all is one vector."""
    if n * _SIZES.get(kind, 0) == e.out.target.shuffle_part and len(rows) % n == 0:
        return _turned_in_parts(e, kind, rows, n)
    count, length = len(rows), n
    while len(rows) > 1:
        half = len(rows) // 2
        picks = ", ".join(f"i32 {x}, i32 {x + length}" for x in range(length))
        rows = [
            e.put(
                f"shufflevector <{length} x {kind}> {a}, <{length} x {kind}> {b}, <{2 * length} x i32> <{picks}>"
            )
            for a, b in zip(rows[:half], rows[half:], strict=True)
        ]
        length *= 2
    return [pick(e, kind, rows[0], length, [k * count + x for x in range(count)]) for k in range(n)]


def _turned_in_parts(e: Emitter, kind: str, rows: list[str], n: int) -> list[str]:
    """Rows of 16 bytes: processors interleave such parts of a register in one step each, and what is n rows apart
    may go through it together."""
    count = len(rows)
    lines = [concat(e, kind, rows[j::n], n) for j in range(n)]
    low, high = (
        [
            start + x + side * count
            for start in range(first, count, n)
            for x in range(n // 2)
            for side in (0, 1)
        ]
        for first in (0, n // 2)
    )
    for _ in range(n.bit_length() - 1):
        pairs = zip(lines[: n // 2], lines[n // 2 :], strict=True)
        lines = [_pick_two(e, kind, a, b, count, index) for a, b in pairs for index in (low, high)]
    return lines


def _pick_two(e: Emitter, kind: str, a: str, b: str, count: int, index: list[int]) -> str:
    text = ", ".join(f"i32 {x}" for x in index)
    return e.put(
        f"shufflevector <{count} x {kind}> {a}, <{count} x {kind}> {b}, <{len(index)} x i32> <{text}>"
    )


def pick(e: Text, kind: str, ref: str, count: int, index: list[int]) -> str:
    text = ", ".join(f"i32 {x}" for x in index)
    return e.put(
        f"shufflevector <{count} x {kind}> {ref}, <{count} x {kind}> poison, <{len(index)} x i32> <{text}>"
    )


def part(e: Text, kind: str, ref: str, start: int, count: int, of: int = 0) -> str:
    """So many elements of a vector, from `start` on; it has `of`, or all lanes."""
    whole = of or e.width
    return ref if count == whole else pick(e, kind, ref, whole, list(range(start, start + count)))


def joined(e: Text, a: str, b: str, count: int) -> str:
    picks = ", ".join(f"i32 {n}" for n in range(2 * count))
    kind = f"<{count} x float>"
    return e.put(f"shufflevector {kind} {a}, {kind} {b}, <{2 * count} x i32> <{picks}>")


def side_by_side(e: Text, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else joined(e, parts[0], parts[1], SIDE)


def turned_eights(e: Text, lines: list[str], lanes: int) -> list[str]:
    """Rows and columns change places in each eight lanes: neighbours, pairs, fours are exchanged in turn."""
    kind = f"<{lanes} x float>"
    for step in (1, 2, 4):
        made = list(lines)
        for n in range(SIDE):
            if n & step:
                continue
            a, b = lines[n], lines[n + step]
            low = [x if not x & step else lanes + x - step for x in range(lanes)]
            high = [x + step if not x & step else lanes + x for x in range(lanes)]
            for target, picks in ((n, low), (n + step, high)):
                text = ", ".join(f"i32 {x}" for x in picks)
                made[target] = e.put(f"shufflevector {kind} {a}, {kind} {b}, <{lanes} x i32> <{text}>")
        lines = made
    return lines
