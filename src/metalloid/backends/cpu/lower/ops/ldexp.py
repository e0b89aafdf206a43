"""x * 2^n, rounded once.

AVX-512 has an instruction for it. Elsewhere LLVM calls the C library, once per lane. The exponentials of the header
cannot wait for that: they promise |n| <= 252, by an exponent of 64 bits, and get two products. n is parted into what
a float's exponent can hold and the rest, and the rest comes first: its product is exact, or so far outside that
the result is zero or infinite anyway. The other one rounds.

Results below 2^-126 are made of whole numbers where the processor takes a hundred cycles for each register in which
there is one, zero included: exp(-200), and so every masked number of an attention. Such a float's bits are x * 2^(n +
149), rounded.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.contiguous import concat
from metalloid.backends.cpu.lower.access.transpose import part
from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.backends.cpu.lower.results import call_llvm, spread, typed
from metalloid.ir import Instruction
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value

LOWEST, HIGHEST, BIAS = -126, 127, 127  # exponents of normal floats
LEAST = 149  # the least float above zero is 2^-149
ROUND, ROUND_BITS = 12582912.0, 0x4B400000  # 1.5 * 2^23: a number added to it is rounded
PROMISED = 252  # no exponent of the header's is below -252, or above that; only a NaN's may be anything


def ldexp(e: Emitter, i: Instruction, vector: bool) -> str:
    kind, (value, power) = lowered(i.type), i.operands
    promised = _promised(e, power)
    x, n = e.ref(value, vector), _word(e, power, vector, promised)
    if promised and kind == "float":
        return _positive(e, value, power, n, vector)
    if vector and (kind != "float" or not e.out.target.scales_floats):
        return _lane_by_lane(e, kind, x, n)
    return _call(e, kind, x, n, vector)


def _positive(e: Emitter, value: Value, power: Value, n: str, vector: bool) -> str:
    """What the header asks for: the value is above zero, or NaN."""
    x = e.ref(value, vector)
    scale = _scaled if e.out.target.scales_floats else _products
    if not e.out.target.slow_denormals:
        return scale(e, x, n, vector)
    rounded = _rounded(e, power) if vector and e.out.target.scaling else None
    if rounded is not None and e.width % e.out.target.lanes32 == 0:
        return _in_registers(e, x, *rounded)
    i32, flags = typed(e, "i32", vector), typed(e, "i1", vector)
    from_least = e.put(f"add {i32} {n}, {spread('i32', PROMISED, vector)}")
    small = e.put(f"icmp ult {i32} {from_least}, {spread('i32', PROMISED + LOWEST + 1, vector)}")
    more = e.put(
        f"select {flags} {small}, {i32} {spread('i32', LEAST, vector)}, {i32} {spread('i32', 0, vector)}"
    )
    return _or_whole(e, scale(e, x, e.put(f"add {i32} {n}, {more}"), vector), small, vector)


def _or_whole(e: Emitter, made: str, small: str, vector: bool) -> str:
    """Numbers as they are, and the small ones rounded to multiples of the least float."""
    i32, floats = typed(e, "i32", vector), typed(e, "float", vector)
    whole = call_llvm(e, "llvm.lrint", "i32", [("float", made)], vector, overloads=("i32", "float"))
    bits = e.put(f"bitcast {floats} {made} to {i32}")
    chosen = e.put(f"select {typed(e, 'i1', vector)} {small}, {i32} {whole}, {i32} {bits}")
    return e.put(f"bitcast {i32} {chosen} to {floats}")


def _rounded(e: Emitter, power: Value) -> tuple[str, int] | None:
    """The number that the header rounded an exponent from, 1.5 * 2^23 and the exponent, and what was added to that: an
    instruction takes exponents as floats."""
    made = e.made_here(power)
    made = e.made_here(made.operands[0]) if made is not None else None
    if made is None or made.opcode != "add" or not isinstance(made.operands[1], Int):
        return None
    source, more = e.made_here(made.operands[0]), made.operands[1].signed + ROUND_BITS
    if source is None or source.opcode != "bitcast" or abs(more) > 1:
        return None
    number = source.operands[0]
    return (
        (e.vector(number), more) if str(number.type) == "float" and e.made_here(number) is not None else None
    )


def _in_registers(e: Emitter, x: str, rounded: str, more: int) -> str:
    """A NaN's exponent is NaN, and no small one."""
    floats, flags = typed(e, "float", True), typed(e, "i1", True)

    def number(value: float) -> str:
        return f"splat (float {value:.1f})"

    n = e.put(f"fadd {floats} {rounded}, {number(-ROUND)}")
    n = e.put(f"fadd {floats} {n}, {number(more)}") if more else n
    small = e.put(f"fcmp olt {floats} {n}, {number(LOWEST + 1)}")
    above = e.put(f"fadd {floats} {n}, {number(LEAST)}")
    n = e.put(f"select {flags} {small}, {floats} {above}, {floats} {n}")
    lanes = e.out.target.lanes32
    done = [
        _in_register(
            e, *(part(e, kind, ref, start, lanes) for kind, ref in zip(_KINDS, (x, n, small), strict=True))
        )
        for start in range(0, e.width, lanes)
    ]
    return e.put(f"bitcast {typed(e, 'i32', True)} {concat(e, 'i32', done, lanes)} to {floats}")


_KINDS = ("float", "float", "i1")


def _in_register(e: Emitter, x: str, n: str, small: str) -> str:
    """The bits of one register: what is small is rounded over the rest, by one instruction."""
    lanes, (scale, rounded) = e.out.target.lanes32, e.out.target.scaling
    floats, words, mask = f"<{lanes} x float>", f"<{lanes} x i32>", f"i{lanes}"
    e.out.declare(scale, f"declare {floats} @{scale}({floats}, {floats}, {floats}, {mask}, i32)")
    e.out.declare(rounded, f"declare {words} @{rounded}({floats}, {words}, {mask}, i32)")
    made = e.put(
        f"call {floats} @{scale}({floats} {x}, {floats} {n}, {floats} zeroinitializer, {mask} -1, i32 4)"
    )
    bits = e.put(f"bitcast {floats} {made} to {words}")
    flags = e.put(f"bitcast <{lanes} x i1> {small} to {mask}")
    return e.put(f"call {words} @{rounded}({floats} {made}, {words} {bits}, {mask} {flags}, i32 4)")


def _scaled(e: Emitter, x: str, n: str, vector: bool) -> str:
    return _call(e, "float", x, n, vector)


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
