"""How twins follow each instruction: a table from opcode to a function of thread, value and operands' twins.

Integers: sums, products, shifts to the left and casts are followed; anything that is made to wrap or to
cut bits off (and, xor, shifts to the right, remainders: hashing) starts over from its result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from metalloid.backends.interpret import maths, numbers
from metalloid.backends.interpret.twins import (
    LOST_ULPS,
    MOST_ADDS,
    Birth,
    Place,
    Real,
    Twin,
    Whole,
    belongs,
    finite,
    place,
    real,
    ulp,
    whole,
)
from metalloid.ir.floats import to_float
from metalloid.ir.gep import steps
from metalloid.ir.layout import DataLayout
from metalloid.ir.module import Instruction
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Int, Local

Follow = Callable[[Any, Any, tuple[Any, ...]], Twin]  # of thread, result and the operands' twins

NARROW = ("half", "bfloat")
_ADDS = ("fadd", "fsub", "fma", "fmuladd")
_MOVES = ("fpext", "fptrunc", "fneg", "fabs")  # no arithmetic: infinities pass through them unharmed
_RING: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "or": lambda a, b: a + b,  # only where no bit is in both
}
MOST_BITS = 200  # of an exact integer; a hash that is never used as an index may grow for ever


def integer(i: Instruction) -> Follow:
    assert isinstance(i.type, IntType)
    bits = i.type.bits
    if i.opcode == "shl" and isinstance(i.operands[1], Int):
        amount = i.operands[1].value % bits
        return lambda t, v, o: _whole(v, o[0].low << amount, o[0].high << amount, i, bits)
    compute = _RING.get(i.opcode)
    if compute is None or (i.opcode == "or" and "disjoint" not in i.flags):
        return lambda t, v, o: whole(v, bits)
    return lambda t, v, o: _whole(v, compute(o[0].low, o[1].low), compute(o[0].high, o[1].high), i, bits)


def _whole(actual: int, low: int, high: int, made: Instruction, bits: int) -> Whole:
    if max(abs(low), abs(high)) >> MOST_BITS:
        return whole(actual, bits)
    return Whole(actual, low, high, made)


def cast(i: Instruction) -> Follow:
    source, target = i.operands[0].type, i.type
    if isinstance(target, IntType):
        widens = i.opcode in ("zext", "sext") and isinstance(source, IntType) and source.bits >= 16
        if widens or (i.opcode == "trunc" and target.bits >= 32):
            return lambda t, v, o: Whole(v, o[0].low, o[0].high, o[0].made)
        return lambda t, v, o: whole(v, target.bits)
    if isinstance(target, FloatType):
        if isinstance(source, FloatType):
            return lambda t, v, o: floating(t, i, target, v, o, o[0].exact)
        name = getattr(i.operands[0], "name", "")  # bits that came from another lane
        return lambda t, v, o: moved if belongs(moved := t.moved.get(name), v) else _leaf(t, i, target, v, o)
    return lambda t, v, o: place(v)


def _leaf(t: Any, i: Instruction, type: FloatType, value: int, operands: tuple[Any, ...] = ()) -> Real:
    """A float that comes from bits or from an integer."""
    made, number = real(type, value), i.opcode in ("uitofp", "sitofp")
    if finite(type, value) or not (t.examiner.in_header(i) or number):
        return made
    given = tuple(float(o.low) for o in operands if number and isinstance(o, Whole) and o.low == o.high)
    return Real(value, made.exact, birth=born(t, i, type, given, made.exact))


def pointer(layout: DataLayout, i: Instruction) -> Follow:
    """getelementptr, as the oracle computes it, without its width."""
    walked = list(enumerate(steps(layout, i.element, i.operands[1:]), 1))
    fixed = sum(size for _, (index, size) in walked if index is None)
    strides = [(n, size) for n, (index, size) in walked if index is not None]

    def follow(t: Any, v: Any, o: tuple[Any, ...]) -> Place:
        terms = [(o[n], stride) for n, stride in strides]
        made = next((w.made for w, _ in terms if w.made is not None), None)
        return Place(
            v,
            o[0].low + fixed + sum(w.low * stride for w, stride in terms),
            o[0].high + fixed + sum(w.high * stride for w, stride in terms),
            made or o[0].made,
        )

    return follow


def chosen(i: Instruction) -> Follow:
    """select, freeze, minimum, maximum: the twin of the operand that was taken."""
    first = 1 if i.opcode == "select" else 0

    fixed = [not isinstance(operand, Local) for operand in i.operands[first:]]

    def follow(t: Any, v: Any, o: tuple[Any, ...]) -> Twin:
        fits = [n for n, twin in enumerate(o[first:]) if belongs(twin, v)]
        fits.sort(key=lambda n: (getattr(o[first + n], "birth", None) is None, fixed[n]))
        if not fits:
            return None
        twin = o[first + fits[0]]
        if fixed[fits[0]] and isinstance(twin, Real) and isinstance(i.type, FloatType):
            return _constant_in_header(t, i, i.type, twin)
        return twin  # type: ignore[no-any-return]

    return follow


def _constant_in_header(t: Any, i: Instruction, type: FloatType, twin: Real) -> Real:
    """log(0) is a constant that a header chooses: to the user it is born there. What a header takes of the user's
    numbers, as select() does, is not."""
    if twin.birth or finite(type, twin.actual) or i.opcode != "select" or not t.examiner.in_header(i):
        return twin
    return Real(twin.actual, twin.exact, birth=born(t, i, type, (), twin.exact))


def arithmetic(i: Instruction) -> Follow | None:
    """Floating-point operations, as instructions or as calls of llvm.*."""
    type = i.type
    if not isinstance(type, FloatType):
        return None
    name = i.opcode if i.opcode != "call" else i.called.removeprefix("llvm.").split(".")[0]
    if name == "fneg":
        return lambda t, v, o: floating(t, i, type, v, o, -o[0].exact)
    if name in ("minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum"):
        return chosen(i)
    if name in numbers.FLOATING:
        binary = numbers.FLOATING[name]
        return lambda t, v, o: floating(t, i, type, v, o, _tried(binary, o[0].exact, o[1].exact))
    if name in ("fma", "fmuladd"):
        return lambda t, v, o: floating(t, i, type, v, o, o[0].exact * o[1].exact + o[2].exact)
    if name == "fabs":
        return lambda t, v, o: floating(t, i, type, v, o, abs(o[0].exact))
    if name in maths.UNARY:
        unary = maths.UNARY[name]
        return lambda t, v, o: floating(t, i, type, v, o, _tried(unary, o[0].exact))
    return lambda t, v, o: _passed(t, i, type, v, o)


def _passed(t: Any, i: Instruction, type: FloatType, value: int, o: tuple[Any, ...]) -> Real:
    """A function that is not followed, such as copysign: what is not finite may have come with its operands."""
    made = real(type, value)
    given = [(to_float(kind.type, twin.actual), twin) for kind, twin in _typed(i, o)]
    if finite(type, value) or _is_born(made.exact, tuple(number for number, _ in given)):
        return _leaf(t, i, type, value)
    birth = next((twin.birth for _, twin in given if twin.birth), None)
    return Real(value, made.exact, birth=birth)


def _tried(compute: Callable[..., float], *operands: float) -> float:
    try:
        return compute(*operands)
    except (OverflowError, ValueError):
        return math.nan


def floating(t: Any, i: Instruction, type: FloatType, value: int, o: tuple[Any, ...], exact: float) -> Real:
    """The twin of a result, with the history of its operands."""
    reals: tuple[Real, ...] = tuple(twin for twin in o if isinstance(twin, Real))
    operands = tuple(to_float(kind.type, r.actual) for kind, r in _typed(i, o))
    longest = max(reals, key=lambda r: r.adds, default=Real(0, 0.0))
    adds, narrow, largest, summed = longest.adds, longest.narrow, longest.largest, longest.summed
    lost = longest.lost
    result = to_float(type, value)
    name = i.opcode if i.opcode != "call" else i.called.removeprefix("llvm.").split(".")[0]
    if type.name in NARROW and name in _ADDS:
        worst = max(reals, key=lambda r: r.lost)  # the loss is told where it came about
        summed = worst.summed if worst.lost > LOST_ULPS else i
        adds, narrow = min(sum(r.adds for r in reals) + 1, MOST_ADDS), type
        largest = max([abs(result) if math.isfinite(result) else 0.0, *(r.largest for r in reals)])
        lost = abs(result - exact) / ulp(type, largest) if math.isfinite(result - exact) else 0.0
    birth = next((r.birth for r in reals if r.birth), None)
    if birth is None and operands and _is_born(result, operands):
        birth = born(t, i, type, operands, result)
    told = any(r.told for r in reals)
    if t.examiner.fast and not told and name not in _MOVES and any(map(math.isinf, operands)):
        told = t.examiner.infinity(t, i, operands, reals)
    return Real(value, exact, adds, narrow, largest, lost, summed, birth, told)


def _typed(i: Instruction, o: tuple[Any, ...]) -> list[tuple[Any, Real]]:
    return [(operand, twin) for operand, twin in zip(i.operands, o, strict=False) if isinstance(twin, Real)]


def _is_born(result: float, operands: tuple[float, ...]) -> bool:
    if math.isnan(result):
        return not any(map(math.isnan, operands))
    return math.isinf(result) and all(map(math.isfinite, operands))


def born(t: Any, i: Instruction, type: FloatType, operands: tuple[float, ...], result: float) -> Birth | None:
    """The birth of a number that is not finite, here or where what was given to this function came from; none where
    exp() and its like were given an infinity and hand it on."""
    earlier: Birth | None = t.examiner.birth_given(t, i) if math.isnan(result) else None
    if earlier is not None:
        return earlier  # a function of Metal's was given it
    given = t.examiner.given(t, i)
    if math.isinf(result) and any(map(math.isinf, given)):
        return None
    half = type.name == "half" and math.isinf(result)
    birth = Birth(i, t.position, t.group.position, operands, result, half, given)
    t.examiner.births.append(birth)
    return birth
