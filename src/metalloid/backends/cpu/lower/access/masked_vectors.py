"""Vectors of n parts for each lane under a mask, one behind the other in memory.

Up to 8 bytes a lane's vector is one number to a masked load or store; longer ones take the mask once for each part.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.emitter import Emitter

_NUMBERS = (2, 4, 8)


def load(e: Emitter, at: str, n: int, kind: str, size: int, align: int) -> str:
    """0 in lanes that are off."""
    assert e.mask is not None
    total = f"<{e.width * n} x {kind}>"
    if n * size in _NUMBERS:
        whole = f"i{8 * n * size}"
        return e.put(f"bitcast {e.vt(whole)} {masked.load(e, at, e.mask, whole, align)} to {total}")
    return masked.load(e, at, for_each_part(e, e.mask, n), kind, align, e.width * n)


def store(e: Emitter, at: str, value: str, n: int, kind: str, size: int, align: int) -> None:
    assert e.mask is not None
    if n * size in _NUMBERS:
        whole = f"i{8 * n * size}"
        number = e.put(f"bitcast <{e.width * n} x {kind}> {value} to {e.vt(whole)}")
        masked.store(e, at, e.mask, whole, align, number)
        return
    masked.store(e, at, for_each_part(e, e.mask, n), kind, align, value, e.width * n)


def for_each_part(e: Emitter, mask: str, n: int) -> str:
    """A mask of lanes as one of their parts."""
    picks = ", ".join(f"i32 {x // n}" for x in range(e.width * n))
    return e.put(f"shufflevector {e.vt('i1')} {mask}, {e.vt('i1')} poison, <{e.width * n} x i32> <{picks}>")
