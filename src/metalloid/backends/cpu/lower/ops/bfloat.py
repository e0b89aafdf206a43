"""bfloat: its numbers are floats without their lower half; rounded to nearest even, or by way of odd."""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.results import call_llvm, spread, typed
from metalloid.ir.types import FloatType, Type


def is_bfloat(type: Type) -> bool:
    return isinstance(type, FloatType) and type.name == "bfloat"


def widen_bfloat(e: Emitter, ref: str, vector: bool) -> str:
    wide = e.put(f"zext {typed(e, 'i16', vector)} {ref} to {typed(e, 'i32', vector)}")
    high = e.put(f"shl {typed(e, 'i32', vector)} {wide}, {spread('i32', 16, vector)}")
    return e.put(f"bitcast {typed(e, 'i32', vector)} {high} to {typed(e, 'float', vector)}")


def narrow_bfloat(e: Emitter, ref: str, vector: bool) -> str:
    """To nearest even; a NaN stays one."""
    i32, i16 = typed(e, "i32", vector), typed(e, "i16", vector)

    def c(number: int) -> str:
        return spread("i32", number, vector)

    bits = e.put(f"bitcast {typed(e, 'float', vector)} {ref} to {i32}")
    odd = e.put(f"and {i32} {e.put(f'lshr {i32} {bits}, {c(16)}')}, {c(1)}")
    rounded = e.put(f"add {i32} {e.put(f'add {i32} {bits}, {c(0x7FFF)}')}, {odd}")
    quiet = e.put(f"or {i32} {bits}, {c(0x400000)}")
    nan = e.put(f"fcmp uno {typed(e, 'float', vector)} {ref}, {spread('float', 0, vector)}")
    chosen = e.put(f"select {typed(e, 'i1', vector)} {nan}, {i32} {quiet}, {i32} {rounded}")
    return e.put(f"trunc {i32} {e.put(f'lshr {i32} {chosen}, {c(16)}')} to {i16}")


def int_to_bfloat(e: Emitter, opcode: str, ref: str, source: str, vector: bool) -> str:
    """By way of double and rounding to odd, so that the second rounding sees what the first dropped."""
    a = typed(e, source, vector)
    if int(source[1:]) <= 24:
        return narrow_bfloat(e, e.put(f"{opcode} {a} {ref} to {typed(e, 'float', vector)}"), vector)
    ref = _in_53_bits(e, opcode, ref, source, vector) if int(source[1:]) > 53 else ref
    near = e.put(f"{opcode} {a} {ref} to {typed(e, 'double', vector)}")
    return narrow_bfloat(e, odd_float(e, near, vector), vector)


def _in_53_bits(e: Emitter, opcode: str, ref: str, source: str, vector: bool) -> str:
    """A number that a double holds: of a larger one, the lowest eleven bits are cut, and leave an odd number."""
    kind, flag, exact = typed(e, source, vector), typed(e, "i1", vector), 1 << 53

    def c(number: int) -> str:
        return spread(source, number, vector)

    above = e.put(f"add {kind} {ref}, {c(exact)}") if opcode == "sitofp" else ref
    large = e.put(f"icmp ugt {kind} {above}, {c(2 * exact if opcode == 'sitofp' else exact)}")
    lost = e.put(f"icmp ne {kind} {e.put(f'and {kind} {ref}, {c(2047)}')}, {c(0)}")
    cut = e.put(f"and {kind} {ref}, {c(-2048)}")
    odd = e.put(f"select {flag} {lost}, {kind} {e.put(f'or {kind} {cut}, {c(2048)}')}, {kind} {cut}")
    return e.put(f"select {flag} {large}, {kind} {odd}, {kind} {ref}")


def odd_float(e: Emitter, ref: str, vector: bool) -> str:
    """A double as a float, rounded to odd: a following rounding to less is then right."""
    d, f = typed(e, "double", vector), typed(e, "float", vector)
    near = e.put(f"fptrunc {d} {ref} to {f}")
    back = e.put(f"fpext {f} {near} to {d}")
    exact = e.put(f"fcmp ueq {d} {back}, {ref}")
    bits = e.put(f"bitcast {f} {near} to {typed(e, 'i32', vector)}")
    i32 = typed(e, "i32", vector)
    size, near_size = _fabs(e, ref, "double", vector), _fabs(e, back, "double", vector)
    above = e.put(f"fcmp ogt {d} {near_size}, {size}")
    lower = e.put(f"sub {i32} {bits}, {spread('i32', 1, vector)}")
    flag = typed(e, "i1", vector)
    cut = e.put(f"select {flag} {above}, {i32} {lower}, {i32} {bits}")
    odd = e.put(f"or {i32} {cut}, {spread('i32', 1, vector)}")
    chosen = e.put(f"select {flag} {exact}, {i32} {bits}, {i32} {odd}")
    return e.put(f"bitcast {i32} {chosen} to {f}")


def _fabs(e: Emitter, ref: str, kind: str, vector: bool) -> str:
    return call_llvm(e, "llvm.fabs", kind, [(kind, ref)], vector)
