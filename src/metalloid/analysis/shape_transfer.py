"""The lane shape of an instruction's result, from those of its operands: one function for each opcode.

None is a value that varies freely. `exact` shapes hold to the last bit; others may have wrapped round, and do for
addresses, whose guards see it.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis import lane_shape as S
from metalloid.analysis.intervals import is_no_wrap
from metalloid.analysis.lane_shape import UNIFORM, LaneShape
from metalloid.ir import Instruction
from metalloid.ir.gep import steps
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import FloatType, IntType, PointerType, Type
from metalloid.ir.values import Int, Local
from metalloid.records import dataclass, replace


@dataclass(frozen=True)
class Context:
    """What the functions have to know besides."""

    layout: DataLayout
    may_wrap32: bool  # there are buffers in which an index of 32 bits that has wrapped is inside


Operands = list[LaneShape | None]
FAR = 1 << 54  # bytes; no memory is so long, and sums of a few such distances do not go round 2^64
_FAR_OF_32_BITS = FAR >> 31  # the same of multiples of a number of 32 bits


def _bits(type: Type) -> int:
    return type.bits if isinstance(type, IntType) else 64


def _add(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    if not isinstance(i.type, IntType) or o[0] is None or o[1] is None:
        return None
    return S.clamp(S.add(o[0], o[1], -1 if i.opcode == "sub" else 1), i.type.bits)


def _mul(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    a, b = o
    if a is None or b is None:
        return None
    left, right = i.operands
    if not b.uniform:
        a, b, left, right = b, a, right, left
    if not b.uniform:
        return None
    bits = _bits(i.type)
    if isinstance(right, Int):
        if not a.uniform or right.signed >= 0:
            return S.clamp(S.scale(a, right.signed), bits)
        return S.clamp(replace(S.scale(a, right.value), constant=None), bits)
    if a.uniform:
        return S.clamp(S.times(a, "", b), bits)
    if not isinstance(right, Local):
        return None
    made = S.times(a, right.name, b)
    if made is not None and b.umax >> bits - 1:  # wider, the coefficient would be negative
        made = replace(made, umax=S.UNKNOWN)
    return S.clamp(made, bits)


def _shl(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    if o[0] is None or not isinstance(i.operands[1], Int) or not isinstance(i.type, IntType):
        return _uniform(o)
    return S.clamp(S.scale(o[0], 1 << i.operands[1].value % i.type.bits), i.type.bits)


def _uniform(o: Operands) -> LaneShape | None:
    return UNIFORM if all(s is not None and s.uniform for s in o) else None


def _or(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    if "disjoint" in i.flags and o[0] is not None and o[1] is not None:
        return S.clamp(S.add(o[0], o[1]), _bits(i.type))
    return _bitwise(c, i, o)


def _bitwise(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    """and, or, xor with a known number, where the base has zeros wherever the pattern has ones."""
    a, mask = o[0], i.operands[1]
    if a is None or not isinstance(mask, Int):
        return _uniform(o)
    if a.uniform:
        if i.opcode == "and":
            low = mask.value & -mask.value or S.MAX_ALIGN
            return LaneShape((), max(low, a.align & -a.align), min(a.umax, mask.value))
        return UNIFORM
    whole = (1 << a.umax.bit_length()) - 1
    if i.opcode == "and" and whole & mask.value == whole and a.exact and a.pattern and min(a.pattern) >= 0:
        return a  # nothing is masked away
    at = S.seam(a)
    pattern = S.splits(a, at)
    if pattern is None:
        return _not(i, a) if i.opcode == "xor" and mask.signed == -1 else None
    low = mask.value & (at - 1)
    change: Callable[[int], int] = {
        "and": lambda x: x & low,
        "or": lambda x: x | low,
        "xor": lambda x: x ^ low,
    }[i.opcode]
    umax = min(a.umax, mask.value) if i.opcode == "and" else S.UNKNOWN
    base = None if a.constant is None else _fold_base(i.opcode, a.constant, mask.value & ~(at - 1))
    return S.clamp(S.lanes(tuple(change(x) for x in pattern), at, umax, base), _bits(i.type))


def _not(i: Instruction, a: LaneShape) -> LaneShape | None:
    """~a is -1 - a: clang writes `w - 1 - x` so."""
    return S.clamp(S.add(S.constant(-1), a, -1), _bits(i.type))


def _fold_base(opcode: str, base: int, mask: int) -> int:
    return {"and": base & mask, "or": base | mask, "xor": base ^ mask}[opcode]


def _divide(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    """lshr, udiv and urem by a known number that divides the base and the pattern alike."""
    a, by = o[0], i.operands[1]
    if a is None or not isinstance(by, Int) or not isinstance(i.type, IntType):
        return _uniform(o)
    divisor = 1 << by.value % i.type.bits if i.opcode == "lshr" else by.value
    if divisor == 0:
        return _uniform(o)
    if a.uniform:
        if i.opcode == "urem":
            return LaneShape((), 1, min(a.umax, divisor - 1))
        align = a.align // divisor if a.align % divisor == 0 else 1
        return LaneShape(
            (), align, a.umax // divisor, True, a.constant // divisor if a.constant is not None else None
        )
    pattern = a.pattern
    if pattern is None or not a.exact or min(pattern) < 0 or not _no_wrap(a, i.type.bits):
        return None
    if a.align % divisor == 0:
        if i.opcode == "urem":
            return S.lanes(tuple(x % divisor for x in pattern), S.MAX_ALIGN, divisor - 1, 0)
        base = a.constant // divisor if a.constant is not None else None
        return S.lanes(tuple(x // divisor for x in pattern), a.align // divisor, a.umax // divisor, base)
    if divisor % a.align == 0 and max(pattern) < a.align:  # lanes stay within one multiple of the divisor
        if i.opcode == "urem":
            return S.lanes(pattern, a.align, min(a.umax, divisor - 1))
        return LaneShape((), 1, a.umax // divisor)
    return None


_UNSIGNED = {"sdiv": "udiv", "srem": "urem", "ashr": "lshr"}


def _divide_signed(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    """The same, where no lane's value is negative and so the sign does not matter."""
    a, by = o[0], i.operands[1]
    if a is not None and isinstance(i.type, IntType) and isinstance(by, Int):
        half = 1 << i.type.bits - 1
        if a.umax < half and by.value < half:
            return _divide(c, replace(i, opcode=_UNSIGNED[i.opcode]), o)
    return _uniform(o)


def _no_wrap(a: LaneShape, bits: int) -> bool:
    """Whether base + pattern stays inside the type for every lane."""
    return a.umax < (1 << bits) - 1 or _under_base(a, bits)


def _under_base(a: LaneShape, bits: int) -> bool:
    """Whether the pattern has only bits below those of the base, and below the end of the type."""
    return max(a.pattern or (0,)) < min(a.align & -a.align, 1 << bits)


def _widen(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    a = o[0]
    if a is None or not isinstance(i.operands[0].type, IntType):
        return None
    bits = i.operands[0].type.bits
    if bits == 1:
        return _uniform(o)
    if a.uniform:
        fits = i.opcode == "zext" or a.umax < 1 << bits - 1
        return a if fits else LaneShape((), a.align & -a.align)
    top = (1 << bits - 1) - 1 if i.opcode == "sext" else (1 << bits) - 1
    if a.exact and a.umax < top:
        return a
    if a.exact and a.pattern and min(a.pattern) >= 0 and _under_base(a, bits - (i.opcode == "sext")):
        return a if i.opcode == "zext" else replace(a, umax=S.UNKNOWN, constant=None)
    if is_no_wrap(i) and a.exact and all(min(p) >= 0 for _, p in a.terms):
        return replace(a, umax=min(a.umax, (1 << 31) - 1))
    if bits < 32 or c.may_wrap32 or any(max(p) - min(p) >= 1 << bits - 1 for c, p in a.terms if not c):
        return None  # a lane that wraps round may still be inside its buffer
    return replace(a, exact=False, umax=S.UNKNOWN, constant=None, align=a.align & -a.align)


def _trunc(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    if o[0] is None or not isinstance(i.type, IntType) or (i.type.bits < 16 and not o[0].uniform):
        return _uniform(o)
    a = o[0] if o[0].umax < 1 << i.type.bits else replace(o[0], align=o[0].align & -o[0].align)
    return S.clamp(replace(a, exact=a.exact or i.type.bits <= 32), i.type.bits)


def _select(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    if o[0] is None or not o[0].uniform:
        return None
    return S.join(o[1], o[2])


def _signed_terms(found: LaneShape, bits: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Patterns of an index as getelementptr reads it: in `~lane` lane 0 has 2^32-1, which is -1."""

    def signed(value: int) -> int:
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value

    base = found.constant or 0
    return tuple(
        (name, pattern if name else tuple(signed(base + x) - signed(base) for x in pattern))
        for name, pattern in found.terms
    )


def address_shape(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    total = o[0]
    for (index, stride), found in zip(steps(c.layout, i.element, i.operands[1:]), o[1:], strict=True):
        if total is None or found is None:
            return None
        if index is None:
            total = S.add(total, S.constant(stride))
            continue
        bits = _bits(index.type)
        wide = found
        if isinstance(index, Int):
            wide = S.LaneShape((), abs(index.signed) or S.MAX_ALIGN, S.UNKNOWN, True, index.signed)
        elif bits < 64 and found.umax >= 1 << bits - 1:
            wide = replace(
                found,
                terms=_signed_terms(found, bits),
                exact=found.exact and found.uniform,
                constant=None,
                align=found.align & -found.align,
            )
        total = S.add(total, S.scale(wide, stride))
    if total is None or any(max(map(abs, p)) >= (_FAR_OF_32_BITS if c else FAR) for c, p in total.terms):
        return None  # lanes that go round 2^64 lie anywhere, not between the first and the last
    return replace(total, umax=S.UNKNOWN)


def _load(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    space = i.operands[0].type.space if isinstance(i.operands[0].type, PointerType) else 0
    return _uniform(o) if space != 5 else None


def _same(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    return o[0]


def _never(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    return None


def _bitcast(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    if isinstance(i.type, FloatType) or isinstance(i.operands[0].type, FloatType):
        return _uniform(o)
    return o[0]


def _icmp(c: Context, i: Instruction, o: Operands) -> LaneShape | None:
    """The same for all lanes where both sides are, or where no lane's number reaches a constant: `t < 256`."""
    left, limit = o[0], i.operands[1]
    if left is not None and left.exact and isinstance(limit, Int):
        below = left.umax < limit.value
        if i.predicate in _BELOW and (below or (i.predicate in ("ule", "ugt") and left.umax == limit.value)):
            return S.constant(_BELOW[i.predicate])
    return UNIFORM if all(s is not None and s.uniform for s in o) else None


_BELOW = {"ult": 1, "ule": 1, "ne": 1, "ugt": 0, "uge": 0, "eq": 0}  # what a number below another is to it

TRANSFER: dict[str, Callable[[Context, Instruction, Operands], LaneShape | None]] = {
    "add": _add,
    "sub": _add,
    "mul": _mul,
    "shl": _shl,
    "or": _or,
    "and": _bitwise,
    "xor": _bitwise,
    "lshr": _divide,
    "udiv": _divide,
    "urem": _divide,
    "ashr": _divide_signed,
    "sdiv": _divide_signed,
    "srem": _divide_signed,
    "zext": _widen,
    "sext": _widen,
    "trunc": _trunc,
    "select": _select,
    "getelementptr": address_shape,
    "load": _load,
    "freeze": _same,
    "bitcast": _bitcast,
    "atomicrmw": _never,
    "cmpxchg": _never,
    "icmp": _icmp,
}
