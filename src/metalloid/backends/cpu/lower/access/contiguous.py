"""Loads and stores of neighbouring elements without a mask.

LLVM hands a stored value on to a load of the same place and length, to no other. A tree in threadgroup memory stores
256 lanes and loads the halves. So where one gang is the whole threadgroup, and all threads store before any loads,
threadgroup memory is stored and loaded register by register: most of a tree then stays in registers.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address
from metalloid.backends.cpu.lower.emitter import Emitter


def read(e: Emitter, place: MemRef, start: str, count: int, kind: str, size: int, align: int) -> str:
    """`count` elements from the offset `start` on."""
    step = _step(e, count, size, owned_by_one(e, place))
    chunks = []
    for n in range(0, count, step):
        at = address(e, place.ptr, _further(e, start, n * size))
        chunks.append(e.put(f"load <{step} x {kind}>, ptr {at}, align {align}"))
    return concat(e, kind, chunks, step)


def write(
    e: Emitter, place: MemRef, start: str, value: str, count: int, kind: str, size: int, align: int
) -> None:
    """A vector of `count` elements to the offset `start` and after."""
    step = _step(e, count, size, owned_by_one(e, place) or not e.out.brief)
    for n in range(0, count, step):
        part = value
        if step < count:
            picks = ", ".join(f"i32 {m}" for m in range(n, n + step))
            whole = f"<{count} x {kind}>"
            part = e.put(f"shufflevector {whole} {value}, {whole} poison, <{step} x i32> <{picks}>")
        at = address(e, place.ptr, _further(e, start, n * size))
        e.do(f"store <{step} x {kind}> {part}, ptr {at}, align {align}")


def _step(e: Emitter, count: int, size: int, apart: bool) -> int:
    """Elements in one access."""
    register = max(1, e.out.target.vector_bytes // size)
    pieces = count // register
    return register if apart and pieces * register == count and pieces & (pieces - 1) == 0 else count


def owned_by_one(e: Emitter, place: MemRef) -> bool:
    """Whether memory is that of a threadgroup which is one gang."""
    return place.root.kind in ("variable", "threadgroup") and e.out.lanes.single_gang


def _further(e: Emitter, start: str, by: int) -> str:
    return e.put(f"add i64 {start}, {by}") if by else start


def concat(e: Emitter, kind: str, chunks: list[str], count: int) -> str:
    """Short vectors end to end. Their number is a power of two, but for vectors of three parts to a lane."""
    whole = len(chunks) * count
    chunks = [*chunks, *["poison"] * ((1 << (len(chunks) - 1).bit_length()) - len(chunks))]
    while len(chunks) > 1:
        picks = ", ".join(f"i32 {n}" for n in range(2 * count))
        chunks = [
            "poison"
            if a == b == "poison"
            else e.put(
                f"shufflevector <{count} x {kind}> {a}, <{count} x {kind}> {b}, <{2 * count} x i32> <{picks}>"
            )
            for a, b in zip(chunks[::2], chunks[1::2], strict=True)
        ]
        count *= 2
    if count == whole:
        return chunks[0]
    picks = ", ".join(f"i32 {n}" for n in range(whole))
    return e.put(
        f"shufflevector <{count} x {kind}> {chunks[0]}, <{count} x {kind}> poison, <{whole} x i32> <{picks}>"
    )
