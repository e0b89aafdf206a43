"""Arithmetic, comparisons, casts and `llvm.*` functions: lane by lane, or once where all lanes agree.

What LLVM leaves undefined is defined here as docs/design/intrinsics.md says. Flags that promise the absence
of overflow are dropped: the promise was for one thread, and idle lanes break it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from metalloid.errors import NotVectorised
from metalloid.ir import Instruction
from metalloid.ir.opcodes import FAST_MATH
from metalloid.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type
from metalloid.ir.values import Int, Local, Value
from metalloid.passes.emit.core import Emitter, Val, lowered
from metalloid.passes.emit.digits import looked_up, masked
from metalloid.passes.emit.pointers import absolute, pointer_like
from metalloid.passes.shape import seam

_SUFFIX = re.compile(r"(\.(v\d+)?([if]\d+|bf16|p\d+))+$")
_UNCHANGED = frozenset(("llvm.expect", "llvm.arithmetic.fence", "llvm.expect.with.probability"))


def varies(e: Emitter, i: Instruction) -> bool:
    """Whether the result needs a vector."""
    return e.width > 1 and e.shape(i.value) is None


def result(e: Emitter, i: Instruction, vector: bool, ref: str) -> None:
    kind = lowered(i.type)
    e.set(i.name, Val(kind, vec=ref) if vector else Val(kind, base=ref))


def affine(e: Emitter, i: Instruction, base: str, exact: Callable[[], str]) -> None:
    """A result with base and pattern; its exact vector as well, where somebody needs it."""
    shape = e.shape(i.value)
    assert shape is not None
    vec = exact() if shape.terms and i.name in e.needs else None
    e.set(i.name, Val(lowered(i.type), base, shape.terms, vec))


def fast(i: Instruction) -> str:
    return "".join(f"{f} " for f in i.flags if f in FAST_MATH)


def typed(e: Emitter, kind: str, vector: bool) -> str:
    return e.vt(kind) if vector else kind


def is_bfloat(type: Type) -> bool:
    return isinstance(type, FloatType) and type.name == "bfloat"


# ---- bfloat ----------------------------------------------------------------------------------------------


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


def spread(type: str, number: int, vector: bool) -> str:
    """A number as a constant."""
    text = (
        ("0xH0000" if type == "half" else f"{float(number)}")
        if type in ("float", "double", "half")
        else str(number)
    )
    return f"splat ({type} {text})" if vector else text


# ---- integers ---------------------------------------------------------------------------------------------


def _binary(e: Emitter, i: Instruction) -> None:
    shape = e.shape(i.value)
    if e.width > 1 and shape is not None and shape.terms:
        base = BASES.get(i.opcode, _linear)(e, i)
        affine(e, i, base, lambda: operation(e, i, True))
        return
    vector = varies(e, i)
    result(e, i, vector, operation(e, i, vector))


def _linear(e: Emitter, i: Instruction) -> str:
    a, b = (e.get(o).base for o in i.operands)
    return e.put(f"{i.opcode if i.opcode != 'or' else 'add'} {lowered(i.type)} {a}, {b}", "b")


def _masked_base(e: Emitter, i: Instruction) -> str:
    """and/or/xor of the base with what lies above the pattern."""
    a, mask = e.get(i.operands[0]).base, i.operands[1]
    if i.opcode == "or" and "disjoint" in i.flags:
        return _linear(e, i)
    assert isinstance(mask, Int)
    number = mask.value
    if i.opcode != "and":
        shape = e.shape(i.operands[0])
        assert shape is not None
        number &= ~(seam(shape) - 1)
    bits = mask.type.bits
    number &= (1 << bits) - 1
    return e.put(f"{i.opcode} {lowered(i.type)} {a}, {number}", "b")


BASES: dict[str, Callable[[Emitter, Instruction], str]] = {
    "and": _masked_base,
    "or": _masked_base,
    "xor": _masked_base,
}


def operation(e: Emitter, i: Instruction, vector: bool) -> str:
    """An arithmetic instruction on whole vectors or on scalars."""
    kind = lowered(i.type)
    type = typed(e, kind, vector)
    a, b = (e.ref(o, vector) for o in i.operands)
    if isinstance(i.type, FloatType):
        if is_bfloat(i.type):
            wide = [widen_bfloat(e, x, vector) for x in (a, b)]
            done = e.put(f"{i.opcode} {typed(e, 'float', vector)} {wide[0]}, {wide[1]}")
            return narrow_bfloat(e, done, vector)
        if i.opcode == "frem" and vector:
            return _by_lane(e, kind, lambda x, y: e.put(f"frem {kind} {x}, {y}"), a, b)
        return e.put(f"{i.opcode} {fast(i)}{type} {a}, {b}")
    assert isinstance(i.type, IntType)
    if i.opcode in ("shl", "lshr", "ashr"):
        amount = i.operands[1]
        if not (isinstance(amount, Int) and amount.value < i.type.bits):
            bits = i.type.bits
            wrap = f"and {type} {b}, {spread(kind, bits - 1, vector)}"
            if bits & (bits - 1):
                wrap = f"urem {type} {b}, {spread(kind, bits, vector)}"
            b = e.put(wrap)
    elif i.opcode in ("udiv", "sdiv", "urem", "srem"):
        return divide(e, i.opcode, i.type.bits, a, b, vector, i.operands[1])
    return e.put(f"{i.opcode} {type} {a}, {b}")


def divide(e: Emitter, opcode: str, bits: int, a: str, b: str, vector: bool, divisor: Value) -> str:
    kind = f"i{bits}"
    type = typed(e, kind, vector)
    if isinstance(divisor, Int) and divisor.value not in (0, (1 << bits) - 1):
        return e.put(f"{opcode} {type} {a}, {b}")
    a, b = e.put(f"freeze {type} {a}"), e.put(f"freeze {type} {b}")
    zero = e.put(f"icmp eq {type} {b}, {spread(kind, 0, vector) if vector else '0'}")
    one = spread(kind, 1, vector)
    safe = e.put(f"select {typed(e, 'i1', vector)} {zero}, {type} {one}, {type} {b}")
    if vector and bits <= 32:
        quotient = _float_quotient(e, opcode[0] == "s", bits, a, safe)
    elif opcode[0] == "s":
        quotient = _signed_quotient(e, type, kind, a, safe, vector)
    else:
        quotient = e.put(f"udiv {type} {a}, {safe}")
    made = quotient
    if opcode.endswith("rem"):
        made = e.put(f"sub {type} {a}, {e.put(f'mul {type} {quotient}, {safe}')}")
    nothing = spread(kind, 0, vector)
    return e.put(f"select {typed(e, 'i1', vector)} {zero}, {type} {nothing}, {type} {made}")


def _signed_quotient(e: Emitter, type: str, kind: str, a: str, b: str, vector: bool) -> str:
    """INT_MIN / -1 traps on x86: -1 is divided by another way."""
    minus = e.put(f"icmp eq {type} {b}, {spread(kind, -1, vector)}")
    flag = typed(e, "i1", vector)
    safe = e.put(f"select {flag} {minus}, {type} {spread(kind, 1, vector)}, {type} {b}")
    quotient = e.put(f"sdiv {type} {a}, {safe}")
    negated = e.put(f"sub {type} {spread(kind, 0, vector) if not vector else 'zeroinitializer'}, {quotient}")
    return e.put(f"select {flag} {minus}, {type} {negated}, {type} {quotient}")


def _float_quotient(e: Emitter, signed: bool, bits: int, a: str, b: str) -> str:
    """Doubles hold 32-bit quotients exactly before the cut, and processors divide vectors of them."""
    real, wide = ("float", "i32") if bits <= 16 else ("double", "i64")
    cast = "sitofp" if signed else "uitofp"
    x, y = (e.put(f"{cast} {e.vt(f'i{bits}')} {v} to {e.vt(real)}") for v in (a, b))
    quotient = e.put(f"fdiv {e.vt(real)} {x}, {y}")
    whole = e.put(f"{'fptosi' if signed else 'fptoui'} {e.vt(real)} {quotient} to {e.vt(wide)}")
    if int(wide[1:]) == bits:
        return whole
    return e.put(f"trunc {e.vt(wide)} {whole} to {e.vt(f'i{bits}')}")


def _by_lane(e: Emitter, kind: str, make: Callable[..., str], *vectors: str, result: str = "") -> str:
    """A scalar operation on each lane."""
    total = "poison"
    out = result or kind
    for lane in range(e.width):
        parts = [e.put(f"extractelement {e.vt(kind)} {v}, i64 {lane}") for v in vectors]
        total = e.put(f"insertelement {e.vt(out)} {total}, {out} {make(*parts)}, i64 {lane}")
    return total


def _fneg(e: Emitter, i: Instruction) -> None:
    vector = varies(e, i)
    kind = lowered(i.type)
    ref = e.ref(i.operands[0], vector)
    if is_bfloat(i.type):
        result(e, i, vector, e.put(f"xor {typed(e, kind, vector)} {ref}, {spread('i16', -32768, vector)}"))
    else:
        result(e, i, vector, e.put(f"fneg {fast(i)}{typed(e, kind, vector)} {ref}"))


def _freeze(e: Emitter, i: Instruction) -> None:
    e.set(i.name, e.get(i.operands[0]))


# ---- comparisons and choice ---------------------------------------------------------------------------------


def _compare(e: Emitter, i: Instruction) -> None:
    vector = varies(e, i)
    left, right = i.operands
    if isinstance(left.type, PointerType):
        a, b = _pointer_pair(e, left, right, vector)
        result(e, i, vector, e.put(f"icmp {i.predicate} {typed(e, 'i64', vector)} {a}, {b}"))
        return
    a, b = e.ref(left, vector), e.ref(right, vector)
    kind = lowered(left.type)
    if is_bfloat(left.type):
        a, b, kind = widen_bfloat(e, a, vector), widen_bfloat(e, b, vector), "float"
    flags = fast(i) if i.opcode == "fcmp" else ""
    result(e, i, vector, e.put(f"{i.opcode} {flags}{i.predicate} {typed(e, kind, vector)} {a}, {b}"))


def _pointer_pair(e: Emitter, left: Value, right: Value, vector: bool) -> tuple[str, str]:
    if e.roots.root(left) == e.roots.root(right):
        return e.ref(left, vector), e.ref(right, vector)
    return absolute(e, left, vector), absolute(e, right, vector)


def _select(e: Emitter, i: Instruction) -> None:
    condition, then, otherwise = i.operands
    if isinstance(i.type, PointerType):
        then_val, else_val = pointer_like(e, then, i.value), pointer_like(e, otherwise, i.value)
    else:
        then_val, else_val = e.get(then), e.get(otherwise)
    kind = lowered(i.type)
    shape = e.shape(i.value)
    if e.width == 1 or shape is not None:
        c = e.scalar(condition)
        base = e.put(f"select {fast(i)}i1 {c}, {kind} {then_val.base}, {kind} {else_val.base}", "b")
        if shape is None or not shape.terms:
            e.set(i.name, Val(kind, base))
            return
        vec = None
        if i.name in e.needs:
            vec = e.put(
                f"select i1 {c}, {e.vt(kind)} {e.expand(then_val)}, {e.vt(kind)} {e.expand(else_val)}"
            )
        e.set(i.name, Val(kind, base, shape.terms, vec))
        return
    a, b = e.expand(then_val), e.expand(else_val)
    c_val = e.get(condition)
    c_text = f"i1 {c_val.base}" if c_val.uniform else f"{e.vt('i1')} {e.vector(condition)}"
    e.set(i.name, Val(kind, vec=e.put(f"select {fast(i)}{c_text}, {e.vt(kind)} {a}, {e.vt(kind)} {b}")))


# ---- casts -----------------------------------------------------------------------------------------------


def _cast(e: Emitter, i: Instruction) -> None:
    shape = e.shape(i.value)
    if e.width > 1 and shape is not None and shape.terms:
        affine(e, i, _cast_base(e, i), lambda: _convert(e, i, True))
        return
    vector = varies(e, i)
    result(e, i, vector, _convert(e, i, vector))


def _cast_base(e: Emitter, i: Instruction) -> str:
    made = e.get(i.operands[0])
    source, target = made.type, lowered(i.type)
    if source == target:
        assert made.base is not None
        return made.base
    shape, before = e.shape(i.value), e.shape(i.operands[0])
    assert shape is not None and before is not None
    if i.opcode == "zext" and not shape.exact and before.exact:
        # Lanes may wrap round the 2^32: then the base is taken as the small negative number it stands for.
        low, high = (
            e.put(f"sext {source} {made.base} to {target}"),
            e.put(f"zext {source} {made.base} to {target}"),
        )
        top = _upper(e, made, target)
        end = e.put(f"add {target} {high}, {top}")
        wraps = e.put(f"icmp ugt {target} {end}, {(1 << int(source[1:])) - 1}")
        return e.put(f"select i1 {wraps}, {target} {low}, {target} {high}", "b")
    return e.put(f"{i.opcode} {source} {made.base} to {target}", "b")


def _upper(e: Emitter, made: Val, target: str) -> str:
    """How far the highest lane lies above the base."""
    total = "0"
    for coefficient, pattern in made.terms:
        if coefficient:
            scalar = e.coefficient(coefficient, target)
            high = e.put(f"mul {target} {scalar}, {max(pattern)}")
            low = e.put(f"mul {target} {scalar}, {min(pattern)}")
            more = e.put(f"icmp sgt {target} {high}, {low}")
            part = e.put(f"select i1 {more}, {target} {high}, {target} {low}")
        else:
            part = str(max(pattern))
        total = part if total == "0" else e.put(f"add {target} {total}, {part}")
    return total


def _convert(e: Emitter, i: Instruction, vector: bool) -> str:
    value = i.operands[0]
    source, target = value.type, i.type
    if i.opcode in ("ptrtoint", "ptrtoaddr"):
        return _resize(e, absolute(e, value, vector), "i64", lowered(target), vector)
    ref = e.ref(value, vector)
    a, b = typed(e, lowered(source), vector), typed(e, lowered(target), vector)
    match i.opcode:
        case "inttoptr":
            return _resize(e, ref, lowered(source), "i64", vector)
        case "trunc" | "zext" | "sext":
            return e.put(f"{i.opcode} {a} {ref} to {b}")
        case "bitcast":
            return ref if a == b else e.put(f"bitcast {a} {ref} to {b}")
        case "addrspacecast":
            return ref
        case "fptosi" | "fptoui":
            if is_bfloat(source):
                ref, a = widen_bfloat(e, ref, vector), typed(e, "float", vector)
            real = "float" if is_bfloat(source) else lowered(source)
            return _to_int(e, i.opcode, real, lowered(target), ref, vector)
        case "fpext" | "fptrunc":
            return _refloat(e, ref, source, target, vector)
        case "uitofp" | "sitofp":
            if is_bfloat(target):
                return _int_to_bfloat(e, i.opcode, ref, lowered(source), vector)
            if vector and (digit := masked(e, i)):
                return looked_up(e, digit)
            return e.put(f"{i.opcode} {a} {ref} to {b}")
    raise NotVectorised(f"[engine] {i.opcode} is not supported")


def _int_to_bfloat(e: Emitter, opcode: str, ref: str, source: str, vector: bool) -> str:
    """By way of double and rounding to odd, so that the second rounding sees what the first dropped."""
    a = typed(e, source, vector)
    if int(source[1:]) <= 24:
        return narrow_bfloat(e, e.put(f"{opcode} {a} {ref} to {typed(e, 'float', vector)}"), vector)
    near = e.put(f"{opcode} {a} {ref} to {typed(e, 'double', vector)}")
    return narrow_bfloat(e, odd_float(e, near, vector), vector)


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


def _resize(e: Emitter, ref: str, source: str, target: str, vector: bool) -> str:
    have, want = int(source[1:]), int(target[1:])
    if have == want:
        return ref
    return e.put(
        f"{'zext' if have < want else 'trunc'} {typed(e, source, vector)} {ref} to {typed(e, target, vector)}"
    )


def _to_int(e: Emitter, opcode: str, source: str, target: str, ref: str, vector: bool) -> str:
    n = f"v{e.width}" if vector else ""
    short = {"float": "f32", "half": "f16", "double": "f64"}[source]
    a, b = typed(e, source, vector), typed(e, target, vector)
    name = f"llvm.{opcode}.sat.{n}{target}.{n}{short}"
    e.out.declare(name, f"declare {b} @{name}({a})")
    return e.put(f"call {b} @{name}({a} {ref})")


def _refloat(e: Emitter, ref: str, source: Type, target: Type, vector: bool) -> str:
    if is_bfloat(source):
        wide = widen_bfloat(e, ref, vector)
        return (
            wide
            if str(target) == "float"
            else e.put(
                f"{'fptrunc' if str(target) == 'half' else 'fpext'} {typed(e, 'float', vector)} {wide}"
                f" to {typed(e, lowered(target), vector)}"
            )
        )
    if is_bfloat(target):
        if str(source) == "half":
            ref = e.put(f"fpext {typed(e, 'half', vector)} {ref} to {typed(e, 'float', vector)}")
        elif str(source) == "double":
            ref = odd_float(e, ref, vector)
        return narrow_bfloat(e, ref, vector)
    opcode = "fpext" if target.bits > source.bits else "fptrunc"  # type: ignore[union-attr]
    return e.put(f"{opcode} {typed(e, lowered(source), vector)} {ref} to {typed(e, lowered(target), vector)}")


# ---- functions of LLVM -------------------------------------------------------------------------------------

_SHORT = {"float": "f32", "half": "f16", "double": "f64"}
_SCALAR_LAST = frozenset(("llvm.ctlz", "llvm.cttz", "llvm.abs", "llvm.is.fpclass"))
_EXACT_NARROW = frozenset(("llvm.fma", "llvm.fmuladd"))


def call_llvm(
    e: Emitter,
    stem: str,
    result: str,
    arguments: list[tuple[str, str]],
    vector: bool,
    flags: str = "",
    overloads: tuple[str, ...] = (),
) -> str:
    """A call of an overloaded function; `arguments` as (type of a lane, text)."""
    n = f"v{e.width}" if vector else ""
    suffix = "".join(f".{n}{_SHORT.get(t, t)}" for t in (overloads or (result,)))
    name = stem + suffix
    types, texts = [], []
    for position, (kind, ref) in enumerate(arguments):
        fixed = stem in _SCALAR_LAST and position == 1
        types.append(kind if fixed else typed(e, kind, vector))
        texts.append(f"{types[-1]} {ref}")
    out = typed(e, result, vector)
    e.out.declare(name, f"declare {out} @{name}({', '.join(types)})")
    return e.put(f"call {flags}{out} @{name}({', '.join(texts)})")


def llvm_call(e: Emitter, i: Instruction) -> None:
    stem = _SUFFIX.sub("", i.called)
    if stem in _UNCHANGED:
        e.set(i.name, e.get(i.operands[0]))
        return
    vector = varies(e, i)
    if isinstance(i.type, StructType | ArrayType):
        _pair_call(e, i, stem, vector)
        return
    operands = list(i.operands)
    refs = []
    for position, operand in enumerate(operands):
        fixed = stem in _SCALAR_LAST and position == 1
        refs.append((lowered(operand.type), e.scalar(operand) if fixed else e.ref(operand, vector)))
    kind = lowered(i.type)
    if any(is_bfloat(o.type) for o in operands) or is_bfloat(i.type):
        result(e, i, vector, _bfloat_call(e, i, stem, refs, vector))
        return
    overloads: tuple[str, ...] = (kind,)
    if stem in (
        "llvm.fptosi.sat",
        "llvm.fptoui.sat",
        "llvm.lround",
        "llvm.lrint",
        "llvm.llrint",
        "llvm.scmp",
        "llvm.ucmp",
    ):
        overloads = (kind, refs[0][0])
    elif stem in ("llvm.ldexp", "llvm.powi"):
        if stem == "llvm.ldexp" and vector and refs[1][0] != "i32":
            refs[1] = ("i32", _resize_signed(e, refs[1][1], refs[1][0], "i32", vector))
        overloads = (kind, refs[1][0])
        if stem == "llvm.powi":
            raise NotVectorised("[engine] llvm.powi is not supported")
    elif stem == "llvm.is.fpclass":
        overloads = (refs[0][0],)
    if stem in _LIBM and vector:
        result(e, i, vector, _libm(e, stem, kind, [r for _, r in refs]))
        return
    if stem == "llvm.fmuladd":
        stem = "llvm.fma"
    result(e, i, vector, call_llvm(e, stem, kind, refs, vector, fast(i), overloads))


# LLVM has no vector code for these; it calls the C library once per lane.
_LIBM = frozenset(f"llvm.{n}" for n in "ldexp frexp tan asin acos atan atan2 sinh cosh tanh".split())


def _libm(e: Emitter, stem: str, kind: str, vectors: list[str]) -> str:
    if stem == "llvm.ldexp":
        return _ldexp(e, kind, vectors[0], vectors[1])
    total = "poison"
    for lane in range(e.width):
        parts = [(kind, e.put(f"extractelement {e.vt(kind)} {v}, i64 {lane}")) for v in vectors]
        one = call_llvm(e, stem, kind, parts, False)
        total = e.put(f"insertelement {e.vt(kind)} {total}, {kind} {one}, i64 {lane}")
    return total


def _ldexp(e: Emitter, kind: str, value: str, power: str) -> str:
    total = "poison"
    for lane in range(e.width):
        x = e.put(f"extractelement {e.vt(kind)} {value}, i64 {lane}")
        n = e.put(f"extractelement {e.vt('i32')} {power}, i64 {lane}")
        one = call_llvm(e, "llvm.ldexp", kind, [(kind, x), ("i32", n)], False, overloads=(kind, "i32"))
        total = e.put(f"insertelement {e.vt(kind)} {total}, {kind} {one}, i64 {lane}")
    return total


def _resize_signed(e: Emitter, ref: str, source: str, target: str, vector: bool) -> str:
    have, want = int(source[1:]), int(target[1:])
    if have == want:
        return ref
    return e.put(
        f"{'sext' if have < want else 'trunc'} {typed(e, source, vector)} {ref} to {typed(e, target, vector)}"
    )


def _bfloat_call(e: Emitter, i: Instruction, stem: str, refs: list[tuple[str, str]], vector: bool) -> str:
    """In float, then rounded; a fused one in double, so that it is rounded right."""
    bf = [is_bfloat(o.type) for o in i.operands]
    if stem == "llvm.fabs":
        return e.put(f"and {typed(e, 'i16', vector)} {refs[0][1]}, {spread('i16', 0x7FFF, vector)}")
    wide = [
        ("float", widen_bfloat(e, r, vector)) if b else (t, r) for b, (t, r) in zip(bf, refs, strict=True)
    ]
    if stem in _EXACT_NARROW:
        d, f = typed(e, "double", vector), typed(e, "float", vector)
        doubles = [("double", e.put(f"fpext {f} {r} to {d}")) for _, r in wide]
        done = call_llvm(e, "llvm.fma", "double", doubles, vector)
        return narrow_bfloat(e, odd_float(e, done, vector), vector)
    kind = "float" if is_bfloat(i.type) else lowered(i.type)
    overloads: tuple[str, ...] = (kind,)
    if stem == "llvm.is.fpclass":
        raise NotVectorised("[engine] llvm.is.fpclass of bfloat is not supported")
    if stem.endswith(".sat"):
        overloads = (kind, "float")
    done = call_llvm(e, stem, kind, wide, vector, "", overloads)
    return narrow_bfloat(e, done, vector) if is_bfloat(i.type) else done


def _pair_call(e: Emitter, i: Instruction, stem: str, vector: bool) -> None:
    """A function with two results: with.overflow, frexp, modf, sincos."""
    assert isinstance(i.type, StructType)
    kinds = [lowered(t) for t in i.type.elements]
    source = lowered(i.operands[0].type)
    overloads = (
        (source,) if "overflow" in stem or stem in ("llvm.modf", "llvm.sincos") else (source, kinds[1])
    )
    if stem in ("llvm.frexp", "llvm.modf", "llvm.sincos") and vector:
        parts = ["poison", "poison"]
        operand = e.vector(i.operands[0])
        for lane in range(e.width):
            x = e.put(f"extractelement {e.vt(source)} {operand}, i64 {lane}")
            both = _struct_call(e, stem, kinds, [(source, x)], False, overloads)
            for n, kind in enumerate(kinds):
                one = e.put(f"extractvalue {{ {kinds[0]}, {kinds[1]} }} {both}, {n}")
                parts[n] = e.put(f"insertelement {e.vt(kind)} {parts[n]}, {kind} {one}, i64 {lane}")
        for n, kind in enumerate(kinds):
            e.set(f"{i.name}#{n}", Val(kind, vec=parts[n]))
        return
    refs = [(lowered(o.type), e.ref(o, vector)) for o in i.operands]
    both = _struct_call(e, stem, kinds, refs, vector, overloads)
    types = ", ".join(typed(e, k, vector) for k in kinds)
    for n, kind in enumerate(kinds):
        one = e.put(f"extractvalue {{ {types} }} {both}, {n}")
        e.set(f"{i.name}#{n}", Val(kind, vec=one) if vector else Val(kind, base=one))


def _struct_call(
    e: Emitter,
    stem: str,
    kinds: list[str],
    arguments: list[tuple[str, str]],
    vector: bool,
    overloads: tuple[str, ...],
) -> str:
    n = f"v{e.width}" if vector else ""
    name = stem + "".join(f".{n}{_SHORT.get(t, t)}" for t in overloads)
    out = "{ " + ", ".join(typed(e, k, vector) for k in kinds) + " }"
    types = [typed(e, k, vector) for k, _ in arguments]
    e.out.declare(name, f"declare {out} @{name}({', '.join(types)})")
    return e.put(
        f"call {out} @{name}({', '.join(f'{t} {r}' for t, (_, r) in zip(types, arguments, strict=True))})"
    )


def _extract(e: Emitter, i: Instruction) -> None:
    whole = i.operands[0]
    assert isinstance(whole, Local) and len(i.indices) == 1
    key = f"{whole.name}#{i.indices[0]}"
    if key in e.values:
        e.set(i.name, e.values[key])
        return
    kind = lowered(i.type)
    uniform = e.width == 1 or e.shape(whole) is not None
    ref = e.put(f"load {typed(e, kind, not uniform)}, ptr {e.slot(key, kind, not uniform)}")
    e.set(i.name, Val(kind, base=ref) if uniform else Val(kind, vec=ref))


OPCODES: dict[str, Callable[[Emitter, Instruction], None]] = {
    **dict.fromkeys(
        "add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split(), _binary
    ),
    **dict.fromkeys(
        (
            "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast"
            " addrspacecast"
        ).split(),
        _cast,
    ),
    "fneg": _fneg,
    "freeze": _freeze,
    "icmp": _compare,
    "fcmp": _compare,
    "select": _select,
    "extractvalue": _extract,
}
