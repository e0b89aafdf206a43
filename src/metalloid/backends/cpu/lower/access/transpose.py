"""Rows into columns, and other ways to put short vectors together.

Processors interleave the 16-byte parts of registers in one instruction each, and rows that fill one or two such parts
go through it together; anything else is interleaved whole, which costs LLVM two or three. What is done to parts is
fenced: LLVM would make one operation of two, with an index in memory, where the two take a cycle each.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.contiguous import concat
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.text import Text

SIDE = 8  # of a matrix
_FENCES = {"float": "f32", "double": "f64"}  # what LLVM calls them; it has none of halves in vectors
_SIZES = {"i8": 1, "half": 2, "i16": 2, "float": 4, "i32": 4, "double": 8, "i64": 8}


def turned(e: Emitter, kind: str, rows: list[str], n: int) -> list[str]:
    """Rows of n elements as n columns: halves are interleaved until all is one vector."""
    part = n * _SIZES.get(kind, 0) / e.out.target.shuffle_part
    if part == 1 and len(rows) % n == 0:
        return _turned_in_parts(e, kind, [concat(e, kind, rows[j::n], n) for j in range(n)], len(rows))
    if part == 2 and len(rows) == 2 * n:
        return _turned_in_pairs(e, kind, rows, n)
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


def _turned_in_parts(e: Emitter, kind: str, lines: list[str], count: int) -> list[str]:
    """Registers of so many elements, each of rows of 16 bytes: what lies in the same parts changes places with its
    neighbours, in all parts at once."""
    n = len(lines)
    low, high = (
        [
            start + x + side * count
            for start in range(first, count, n)
            for x in range(n // 2)
            for side in (0, 1)
        ]
        for first in (0, n // 2)
    )
    for step in range(n.bit_length() - 1):
        lines = [_fenced(e, kind, line, count) for line in lines] if step else lines
        pairs = zip(lines[: n // 2], lines[n // 2 :], strict=True)
        lines = [_pick_two(e, kind, a, b, count, index) for a, b in pairs for index in (low, high)]
    return lines


def _turned_in_pairs(e: Emitter, kind: str, rows: list[str], n: int) -> list[str]:
    """Rows of two parts, as many as fill four registers for each part's columns: half as many loads as of single parts.
    A register holds two rows, as far apart as a part has columns; the parts of two such registers are a column."""
    side, count = n // 2, 2 * n
    halves = []
    for first in range(0, count, n):
        lines = [concat(e, kind, [rows[first + j], rows[first + j + side]], n) for j in range(side)]
        halves.append([_fenced(e, kind, c, count) for c in _turned_in_parts(e, kind, lines, count)])
    picks = [
        [of * count + row * n + part * side + x for of in (0, 1) for row in (0, 1) for x in range(side)]
        for part in (0, 1)
    ]
    both = list(zip(*halves, strict=True))
    return [_pick_two(e, kind, a, b, count, index) for index in picks for a, b in both]


def _fenced(e: Emitter, kind: str, ref: str, count: int) -> str:
    """The same, which LLVM does not put together with what is made of it."""
    if kind not in _FENCES:
        return ref
    vector, name = f"<{count} x {kind}>", f"llvm.arithmetic.fence.v{count}{_FENCES[kind]}"
    e.out.declare(name, f"declare {vector} @{name}({vector})")
    return e.put(f"call {vector} @{name}({vector} {ref})")


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
