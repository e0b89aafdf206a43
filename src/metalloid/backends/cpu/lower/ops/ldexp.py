"""x * 2^n, rounded once.

AVX-512 has an instruction for it. Elsewhere LLVM calls the C library, once per lane. The exponentials of the header
cannot wait for that: they promise |n| <= 252, by an exponent of 64 bits, and get two products. n is parted into what
a float's exponent can hold and the rest, and the rest comes first: its product is exact, or so far outside that
the result is zero or infinite anyway. The other one rounds.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.backends.cpu.lower.results import call_llvm, spread, typed
from metalloid.ir import Instruction
from metalloid.ir.types import IntType
from metalloid.ir.values import Local, Value

LOWEST, HIGHEST, BIAS = -126, 127, 127  # exponents of normal floats


def ldexp(e: Emitter, i: Instruction, vector: bool) -> str:
    kind, (value, power) = lowered(i.type), i.operands
    promised = _promised(e, power)
    x, n = e.ref(value, vector), _word(e, power, vector, promised)
    if promised and kind == "float" and not e.out.target.scales_floats:
        return _products(e, x, n, vector)
    if vector and (kind != "float" or not e.out.target.scales_floats):
        return _lane_by_lane(e, kind, x, n)
    return _call(e, kind, x, n, vector)


def _promised(e: Emitter, power: Value) -> bool:
    """Whether the exponent is one of the header's: 32 bits, widened to 64."""
    if not isinstance(power, Local) or power.type != IntType(64):
        return False
    made = e.function.definitions[power.name]
    return made.opcode == "sext" and made.operands[0].type == IntType(32)


def _word(e: Emitter, power: Value, vector: bool, promised: bool) -> str:
    """The exponent in 32 bits."""
    ref, have = e.ref(power, vector), lowered(power.type)
    to = typed(e, "i32", vector)
    if have == "i32":
        return ref
    if promised:
        return e.put(f"trunc {typed(e, have, vector)} {ref} to {to}")
    if int(have[1:]) < 32:
        return e.put(f"sext {typed(e, have, vector)} {ref} to {to}")
    for name, limit in (("llvm.smax", -(1 << 20)), ("llvm.smin", 1 << 20)):
        ref = call_llvm(e, name, have, [(have, ref), (have, spread(have, limit, vector))], vector)
    return e.put(f"trunc {typed(e, have, vector)} {ref} to {to}")


def _call(e: Emitter, kind: str, x: str, n: str, vector: bool) -> str:
    return call_llvm(e, "llvm.ldexp", kind, [(kind, x), ("i32", n)], vector, overloads=(kind, "i32"))


def _lane_by_lane(e: Emitter, kind: str, value: str, power: str) -> str:
    total = "poison"
    for lane in range(e.width):
        x = e.put(f"extractelement {e.vt(kind)} {value}, i64 {lane}")
        n = e.put(f"extractelement {e.vt('i32')} {power}, i64 {lane}")
        total = e.put(f"insertelement {e.vt(kind)} {total}, {kind} {_call(e, kind, x, n, False)}, i64 {lane}")
    return total


def _products(e: Emitter, value: str, power: str, vector: bool) -> str:
    near = power
    for name, limit in (("llvm.smax", LOWEST), ("llvm.smin", HIGHEST)):
        near = call_llvm(e, name, "i32", [("i32", near), ("i32", spread("i32", limit, vector))], vector)
    rest = e.put(f"sub {typed(e, 'i32', vector)} {power}, {near}")
    for n in (rest, near):
        value = e.put(f"fmul {typed(e, 'float', vector)} {value}, {_power_of_two(e, n, vector)}")
    return value


def _power_of_two(e: Emitter, n: str, vector: bool) -> str:
    i32 = typed(e, "i32", vector)
    biased = e.put(f"add {i32} {n}, {spread('i32', BIAS, vector)}")
    bits = e.put(f"shl {i32} {biased}, {spread('i32', 23, vector)}")
    return e.put(f"bitcast {i32} {bits} to {typed(e, 'float', vector)}")
