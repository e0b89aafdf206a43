"""Floats to integers: the nearest number there is, 0 for NaN.

LLVM has no vector code of x86 for it and takes lane after lane, 120 instructions for 16 numbers. Here are seven: what
is too small becomes the least number before the conversion, what is too large another one behind it. Integers of 8 and
16 bits are parts of one of 32, whose limits floats know exactly, so both ends are cut off before.

A comparison with NaN fails, and `x > low ? x : low` is `low` for it: 0 already where there is no sign.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.ops.bfloat import is_bfloat, widen_bfloat
from metalloid.backends.cpu.lower.results import call_llvm, typed
from metalloid.ir import Instruction
from metalloid.ir.types import FLOAT, HALF, Type

SIGNED = "llvm.fptosi.sat"
_NEAREST = ("llvm.rint.", "llvm.nearbyint.", "llvm.roundeven.")
SHORT = 16  # bits of an integer whose limits are floats


def rounded(e: Emitter, i: Instruction, bits: int, signed: bool, vector: bool) -> str:
    """What a conversion makes. Of floats that are rounded to the nearest integer just before, the conversion rounds:
    where both ends are cut off at integers, it makes no difference which of both comes first."""
    value = i.operands[0]
    made = e.made_here(value) if bits <= SHORT or (signed and bits == 32) else None
    nearest = made is not None and made.type == FLOAT and made.called.startswith(_NEAREST)
    if made is not None and nearest:
        value = made.operands[0]
    return saturating(e, e.ref(value, vector), value.type, bits, signed, vector, nearest)


def saturating(
    e: Emitter, x: str, source: Type, bits: int, signed: bool, vector: bool, nearest: bool = False
) -> str:
    """Floats, halves or bfloats as integers: a vector, or one number; `nearest`: rounded, not cut."""
    floats = typed(e, "float", vector)
    if is_bfloat(source):
        x = widen_bfloat(e, x, vector)
    elif source == HALF:
        x = e.put(f"fpext {typed(e, 'half', vector)} {x} to {floats}")
    else:
        assert source == FLOAT, source
    low = -(1 << bits - 1) if signed else 0
    above = 1 << bits - signed  # the first number that is too large
    cut = _chosen(e, vector, "ogt", x, low, "float", x, f"{float(low)}")
    short = bits <= SHORT
    if short:
        cut = _chosen(e, vector, "olt", cut, above - 1, "float", cut, f"{float(above - 1)}")
    fits = cut if short else _chosen(e, vector, "olt", cut, above, "float", cut, "0.0")
    lane = "i32" if short else f"i{bits}"
    wide = typed(e, lane, vector)
    if nearest:
        made = call_llvm(e, "llvm.lrint", lane, [("float", fits)], vector, overloads=(lane, "float"))
    else:
        made = e.put(f"fpto{'si' if signed or short else 'ui'} {floats} {fits} to {wide}")
    if not short:
        made = _chosen(e, vector, "olt", cut, above, f"i{bits}", made, str(above - 1))
    if signed:
        number = e.put(f"fcmp uno {floats} {x}, {_same(vector, 'float', '0.0')}")
        nothing = _same(vector, "i32" if short else f"i{bits}", "0")
        made = e.put(f"select {typed(e, 'i1', vector)} {number}, {wide} {nothing}, {wide} {made}")
    return e.put(f"trunc {wide} {made} to {typed(e, f'i{bits}', vector)}") if short else made


def _chosen(e: Emitter, vector: bool, test: str, x: str, limit: int, kind: str, one: str, other: str) -> str:
    """`one` where a float passes a comparison with a number, else a constant."""
    number, type = _same(vector, "float", str(float(limit))), typed(e, kind, vector)
    passes = e.put(f"fcmp {test} {typed(e, 'float', vector)} {x}, {number}")
    return e.put(
        f"select {typed(e, 'i1', vector)} {passes}, {type} {one}, {type} {_same(vector, kind, other)}"
    )


def _same(vector: bool, kind: str, number: str) -> str:
    return f"splat ({kind} {number})" if vector else number
