"""Floats to integers: the nearest number there is, 0 for NaN.

LLVM has no vector code of x86 for it and takes lane after lane, 120 instructions for 16 numbers. Here are seven: what
is too small becomes the least number before the conversion, what is too large another one behind it. Integers of 8 and
16 bits are parts of one of 32, whose limits floats know exactly, so both ends are cut off before.

A comparison with NaN fails, and `x > low ? x : low` is `low` for it: 0 already where there is no sign.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.ops.bfloat import is_bfloat, widen_bfloat
from metalloid.ir.types import FLOAT, HALF, Type

SIGNED = "llvm.fptosi.sat"
SHORT = 16  # bits of an integer whose limits are floats


def saturating(e: Emitter, x: str, source: Type, bits: int, signed: bool) -> str:
    """A vector of floats, halves or bfloats as integers."""
    if is_bfloat(source):
        x = widen_bfloat(e, x, True)
    elif source == HALF:
        x = e.put(f"fpext {e.vt('half')} {x} to {e.vt('float')}")
    else:
        assert source == FLOAT, source
    low = -(1 << bits - 1) if signed else 0
    above = 1 << bits - signed  # the first number that is too large
    cut = _chosen(e, "ogt", x, low, "float", x, f"{float(low)}")
    short = bits <= SHORT
    if short:
        cut = _chosen(e, "olt", cut, above - 1, "float", cut, f"{float(above - 1)}")
    fits = cut if short else _chosen(e, "olt", cut, above, "float", cut, "0.0")
    wide = "i32" if short else f"i{bits}"
    made = e.put(f"fpto{'si' if signed or short else 'ui'} {e.vt('float')} {fits} to {e.vt(wide)}")
    if not short:
        made = _chosen(e, "olt", cut, above, wide, made, str(above - 1))
    if signed:
        number = e.put(f"fcmp ord {e.vt('float')} {x}, zeroinitializer")
        made = e.put(f"select {e.vt('i1')} {number}, {e.vt(wide)} {made}, {e.vt(wide)} zeroinitializer")
    return e.put(f"trunc {e.vt(wide)} {made} to {e.vt(f'i{bits}')}") if short else made


def _chosen(e: Emitter, test: str, x: str, limit: int, kind: str, one: str, other: str) -> str:
    """`one` where a float passes a comparison with a number, else a constant."""
    passes = e.put(f"fcmp {test} {e.vt('float')} {x}, splat (float {float(limit)})")
    return e.put(f"select {e.vt('i1')} {passes}, {e.vt(kind)} {one}, {e.vt(kind)} splat ({kind} {other})")
