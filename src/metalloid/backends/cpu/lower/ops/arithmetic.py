"""Arithmetic, comparisons and choice: lane by lane, or once where all lanes agree.

What LLVM leaves undefined is defined here as docs/design/intrinsics.md says. Flags that promise the absence
of overflow are dropped: the promise was for one thread, and idle lanes break it. What a proof says of what all lanes
share is told.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.intervals import exact
from metalloid.analysis.lane_shape import seam, splits
from metalloid.backends.cpu.lower.access.pointers import absolute, pointer_like
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops.bfloat import is_bfloat, narrow_bfloat, widen_bfloat
from metalloid.backends.cpu.lower.ops.byte_dots import shifted_bytes
from metalloid.backends.cpu.lower.ops.casts import cast
from metalloid.backends.cpu.lower.results import affine, fast, result, spread, typed, varies
from metalloid.backends.cpu.lower.shared_sums import shared_sum
from metalloid.ir import Instruction
from metalloid.ir.types import FloatType, IntType, PointerType
from metalloid.ir.values import Int, Local, Value, const


def _binary(e: Emitter, i: Instruction) -> None:
    shape = e.shape(i.value)
    if e.width > 1 and shape is not None and (shape.terms or _cancels(e, i)):
        base = BASES.get(i.opcode, _linear)(e, i)
        affine(e, i, base, lambda: operation(e, i, True))
        return
    vector = varies(e, i)
    if not vector and (total := shared_sum(e, i)) is not None:
        result(e, i, False, total)
        return
    result(e, i, vector, operation(e, i, vector))


def _cancels(e: Emitter, i: Instruction) -> bool:
    """Whether a mask takes a pattern away: what is left is the base, and that without the pattern's bits."""
    return i.opcode in BASES and any(e.get(o).terms for o in i.operands)


def _linear(e: Emitter, i: Instruction) -> str:
    a, b = (e.get(o).base for o in i.operands)
    return e.put(f"{i.opcode if i.opcode != 'or' else 'add'} {_sure(i)}{lowered(i.type)} {a}, {b}", "b")


def _sure(i: Instruction) -> str:
    """What a proof says of a sum that lanes share, or of its base: it is no larger than theirs."""
    return f"{exact(i)} " if exact(i) else ""


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
        if splits(shape, seam(shape)):
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
        if i.opcode == "fdiv" and vector and "arcp" in i.flags and e.get(i.operands[1]).uniform:
            one = e.constant(const(i.type, 1.0))
            reciprocal = e.put(f"fdiv {fast(i)}{kind} {one}, {e.scalar(i.operands[1])}")
            return e.put(f"fmul {fast(i)}{type} {a}, {e.splat(kind, reciprocal)}")
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
    elif i.opcode == "and" and vector and (moved := shifted_bytes(e, i)) is not None:
        return moved
    elif i.opcode in ("udiv", "sdiv", "urem", "srem"):
        return divide(e, i.opcode, i.type.bits, a, b, vector, i.operands[1])
    return e.put(f"{i.opcode} {'' if vector else _sure(i)}{type} {a}, {b}")


def divide(e: Emitter, opcode: str, bits: int, a: str, b: str, vector: bool, divisor: Value) -> str:
    kind = f"i{bits}"
    type = typed(e, kind, vector)
    if isinstance(divisor, Int) and divisor.value not in (0, (1 << bits) - 1):
        return e.put(f"{opcode} {type} {a}, {b}")
    a, b = e.put(f"freeze {type} {a}"), e.put(f"freeze {type} {b}")
    zero = e.put(f"icmp eq {type} {b}, {spread(kind, 0, vector) if vector else '0'}")
    one = spread(kind, 1, vector)
    safe = e.put(f"select {typed(e, 'i1', vector)} {zero}, {type} {one}, {type} {b}")
    if vector and bits <= 32 and e.get(divisor).uniform:
        quotient = _by_one_number(e, opcode[0] == "s", bits, a, e.scalar(divisor))
    elif vector and bits <= 32:
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


def _by_one_number(e: Emitter, signed: bool, bits: int, a: str, divisor: str) -> str:
    """All lanes by the same: one division, and a product for each. x / d is at least 1 / d away from the next whole
    number, so (x + 0.5) * (1 / d) is 0.5 / d away from both sides, and rounding is off by 2^-20 / d at most (by
    2^-6 / d where numbers of 16 bits are floats)."""
    real, wide = ("float", "i32") if bits <= 16 else ("double", "i64")
    cast, kind = "sitofp" if signed else "uitofp", f"i{bits}"
    divisor = e.put(f"freeze {kind} {divisor}")
    zero = e.put(f"icmp eq {kind} {divisor}, 0")
    one = e.put(f"select i1 {zero}, {kind} 1, {kind} {divisor}")
    part = e.put(f"fdiv {real} 1.0, {e.put(f'{cast} {kind} {one} to {real}')}")
    x = e.put(f"{cast} {e.vt(kind)} {a} to {e.vt(real)}")
    half = f"splat ({real} 0.5)"
    if signed:
        below = e.put(f"icmp slt {e.vt(kind)} {a}, zeroinitializer")
        half = e.put(f"select {e.vt('i1')} {below}, {e.vt(real)} splat ({real} -0.5), {e.vt(real)} {half}")
    quotient = e.put(f"fmul {e.vt(real)} {e.put(f'fadd {e.vt(real)} {x}, {half}')}, {e.splat(real, part)}")
    whole = e.put(f"{'fptosi' if signed else 'fptoui'} {e.vt(real)} {quotient} to {e.vt(wide)}")
    return whole if int(wide[1:]) == bits else e.put(f"trunc {e.vt(wide)} {whole} to {e.vt(kind)}")


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
    shape = e.shape(i.value)
    if shape is not None and shape.constant is not None:
        e.set(i.name, Val("i1", "true" if shape.constant else "false"))
        return
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
    # Bits have none. Of halves that are computed in float, LLVM makes maxnum of a choice with them, lane after lane.
    bare = is_bfloat(i.type) or (kind == "half" and not e.out.target.fuses_halves)
    flags = "" if bare else fast(i)
    if e.width == 1 or shape is not None:
        c = e.scalar(condition)
        base = e.put(f"select {flags}i1 {c}, {kind} {then_val.base}, {kind} {else_val.base}", "b")
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
    e.set(i.name, Val(kind, vec=e.put(f"select {flags}{c_text}, {e.vt(kind)} {a}, {e.vt(kind)} {b}")))


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
        cast,
    ),
    "fneg": _fneg,
    "freeze": _freeze,
    "icmp": _compare,
    "fcmp": _compare,
    "select": _select,
    "extractvalue": _extract,
}
