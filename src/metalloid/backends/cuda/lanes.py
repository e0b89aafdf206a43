"""Numbers and addresses as the lanes of one SIMD-group have them: a part that is the same for all, and one that is
known for each lane. Of the first it is known between which numbers it lies, and a power of two that divides it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metalloid.backends.base import Triple
from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import THREADGROUP, is_ours, short
from metalloid.ir.layout import scalar_bytes
from metalloid.ir.types import FloatType, IntType, PointerType
from metalloid.ir.values import Expression, Global, Int, Local, Value

LANES = 32
_MOST = 1 << 40  # divides zero
_ZEROS = (0,) * LANES


@dataclass(frozen=True)
class Spread:
    """`lo` to `hi` and divided by `align`: what all lanes share. `own`: what each has on top."""

    lo: int
    hi: int
    align: int
    own: tuple[int, ...] = _ZEROS

    @property
    def same(self) -> bool:
        return self.own == _ZEROS

    @property
    def least(self) -> int:
        return self.lo + min(self.own)

    @property
    def most(self) -> int:
        return self.hi + max(self.own)

    def mapped(self, shared: Callable[[int], int], align: int, each: Callable[[int], int]) -> Spread:
        """A function that grows, of both parts."""
        return Spread(shared(self.lo), shared(self.hi), align, tuple(map(each, self.own)))


def number(value: int) -> Spread:
    return Spread(value, value, value & -value or _MOST)


class Lanes:
    """Values of a kernel that is launched in whole SIMD-groups, in threadgroups of `size`."""

    def __init__(self, function: Function, size: Triple, start: int = 16) -> None:
        """`start` divides where threadgroup memory begins: 16 as code is written, more for places inside it."""
        self._function, self._size, self._start = function, size, start
        self._found: dict[str, Spread | None] = {}

    def of(self, value: Value) -> Spread | None:
        """None where lanes cannot be told apart, or numbers may wrap around."""
        if isinstance(value, Int):
            return number(value.signed)
        if isinstance(value, Global) and value.type == PointerType(3):
            return Spread(0, 0, self._start)
        made = self._function.definitions.get(value.name) if isinstance(value, Local) else None
        if made is None:
            return None
        if made.name not in self._found:
            self._found[made.name] = None  # while it is looked for: what leads back to itself is not known
            self._found[made.name] = self._fitting(made, self._made(made))
        return self._found[made.name]

    def apart(self, one: Value, other: Value, size: int) -> bool:
        """Whether accesses of `size` bytes to threadgroup memory never meet in a lane."""
        a, b = self._memory(one), self._memory(other)
        if a is None or b is None or a != b:
            return a is not None and b is not None
        here, there = self.of(one), self.of(other)
        if here is None or there is None:
            return False
        return here.most + size <= there.least or there.most + size <= here.least or (
            here.lo == here.hi and there.lo == there.hi
            and all(abs(here.lo + x - there.lo - y) >= size for x, y in zip(here.own, there.own, strict=True))
        )  # fmt: skip

    def _memory(self, pointer: Value) -> str | None:
        """Which variable or argument a pointer leads into; None where it is not known."""
        while True:
            if isinstance(pointer, Global):
                return pointer.name
            if isinstance(pointer, Expression):
                pointer = pointer.operands[0]
                continue
            made = self._definition(pointer)
            if made is None or made.opcode != "getelementptr":
                known = made is not None and made.called == THREADGROUP
                return repr(made.operands[0]) if made is not None and known else None
            pointer = made.operands[0]

    def _fitting(self, i: Instruction, found: Spread | None) -> Spread | None:
        """Nothing where some lane's number leaves the positive half of its type."""
        if found is None or not isinstance(i.type, IntType):
            return found
        return found if found.least >= 0 and found.most < 1 << (i.type.bits - 1) else None

    def _made(self, i: Instruction) -> Spread | None:
        if i.opcode == "call":
            return self._position(short(i.called) if is_ours(i.called) else "", i)
        if i.opcode == "getelementptr":
            return self._stepped(i)
        if i.opcode in ("zext", "sext", "trunc", "freeze"):  # none of them is negative, and all fit
            return self.of(i.operands[0])
        if i.opcode == "sub":
            return self._remainder(i)
        two = [self.of(o) for o in i.operands] if i.opcode in _TWO else []
        if len(two) != 2 or two[0] is None or two[1] is None:
            return None
        return _TWO[i.opcode](two[0], two[1], "disjoint" in i.flags)

    def _remainder(self, i: Instruction) -> Spread | None:
        """x - x / n * n, as the optimiser writes x % n where x / n is needed as well."""
        product = self._definition(i.operands[1])
        if (
            product is None
            or product.opcode not in ("mul", "shl")
            or not isinstance(product.operands[1], Int)
        ):
            return None
        quotient, by = self._definition(product.operands[0]), product.operands[1]
        number_ = by.signed if product.opcode == "mul" else 1 << by.value
        known = ("udiv", "sdiv") if product.opcode == "mul" else ("udiv", "sdiv", "lshr", "ashr")
        if quotient is None or quotient.opcode not in known or quotient.operands[0] != i.operands[0]:
            return None
        divisor = quotient.operands[1]
        if not isinstance(divisor, Int):
            return None
        shifted = quotient.opcode in ("lshr", "ashr")
        if (1 << divisor.value if shifted else divisor.signed) != number_:
            return None
        whole = self.of(i.operands[0])
        return _rest(whole, number(number_), False) if whole is not None else None

    def _definition(self, value: Value) -> Instruction | None:
        return self._function.definitions.get(value.name) if isinstance(value, Local) else None

    def _position(self, name: str, i: Instruction) -> Spread | None:
        x, y, z = self._size
        groups = -(-x * y * z // LANES) - 1
        axis = i.operands[0].value if i.operands and isinstance(i.operands[0], Int) else -1
        if name == "thread_index_in_simdgroup":
            return Spread(0, 0, _MOST, tuple(range(LANES)))
        if name == "simdgroup_index_in_threadgroup":
            return Spread(0, groups, 1)
        if name == "thread_index_in_threadgroup":
            return Spread(0, groups * LANES, LANES, tuple(range(LANES)))
        if name == "threadgroup":
            return Spread(0, 0, self._start)
        if name == "thread_position_in_threadgroup" and x % LANES == 0 and 0 <= axis < 3:
            if axis == 0:
                return Spread(0, x - LANES, LANES, tuple(range(LANES)))
            return Spread(0, (y, z)[axis - 1] - 1, 1)
        return None

    def _stepped(self, i: Instruction) -> Spread | None:
        start = self.of(i.operands[0])
        if start is None or not isinstance(i.element, IntType | FloatType) or len(i.operands) != 2:
            return None
        index = self.of(i.operands[1])
        return _added(start, _times(index, number(scalar_bytes(i.element)), False), False)


def _added(a: Spread | None, b: Spread | None, _: bool) -> Spread | None:
    if a is None or b is None:
        return None
    own = tuple(x + y for x, y in zip(a.own, b.own, strict=True))
    return Spread(a.lo + b.lo, a.hi + b.hi, min(a.align, b.align), own)


def _joined(a: Spread, b: Spread, disjoint: bool) -> Spread | None:
    return _added(a, b, False) if disjoint else None


def _times(a: Spread | None, b: Spread | None, _: bool) -> Spread | None:
    if a is None or b is None:
        return None
    if not (b.same and b.lo == b.hi):
        a, b = b, a
    if not (b.same and b.lo == b.hi) or b.lo < 0:
        return None
    return a.mapped(lambda v: v * b.lo, min(a.align * b.align, _MOST), lambda v: v * b.lo)


def _shifted(a: Spread, b: Spread, _: bool) -> Spread | None:
    return _times(a, number(1 << b.lo), False) if b.same and b.lo == b.hi and 0 <= b.lo < 32 else None


def _divided(a: Spread, by: int) -> Spread | None:
    """By a power of two; what lanes have of their own must not reach into what they share, unless nothing is left."""
    if a.lo < 0 or min(a.own) < 0:
        return None
    even = a.align >= by and not any(v % by for v in a.own)
    if not even and not a.same and (a.align < by or max(a.own) >= a.align):
        return None
    return a.mapped(lambda v: v // by, max(a.align // by, 1), lambda v: v // by)


def _quotient(a: Spread, b: Spread, _: bool) -> Spread | None:
    power = b.same and b.lo == b.hi and b.lo > 0 and not b.lo & (b.lo - 1)
    return _divided(a, b.lo) if power else None


def _down(a: Spread, b: Spread, _: bool) -> Spread | None:
    return _divided(a, 1 << b.lo) if b.same and b.lo == b.hi and 0 <= b.lo < 32 else None


def _cut(a: Spread, b: Spread, _: bool) -> Spread | None:
    """a & b, of a constant b."""
    if not (b.same and b.lo == b.hi) or a.lo < 0 or min(a.own) < 0:
        return None
    mask = b.lo
    if mask >= a.most and not mask & (mask + 1):  # nothing is cut
        return a
    if a.same:
        top, step = a.hi if mask < 0 else min(a.hi, mask), mask & -mask or _MOST
        return Spread(0, top - top % step, max(a.align, step))
    if max(a.own) >= a.align:
        return None
    if 0 <= mask < a.align:  # nothing of what they share is left
        return Spread(0, 0, _MOST, tuple(v & mask for v in a.own))
    shared = ((1 << a.hi.bit_length()) - 1) & -a.align
    if not shared & ~mask:  # and all of it
        return Spread(a.lo, a.hi, a.align, tuple(v & mask for v in a.own))
    return None


def _rest(a: Spread, b: Spread, _: bool) -> Spread | None:
    power = b.same and b.lo == b.hi and b.lo > 0 and not b.lo & (b.lo - 1)
    return _cut(a, number(b.lo - 1), False) if power else None


_TWO: dict[str, Callable[[Spread, Spread, bool], Spread | None]] = {
    "add": _added,
    "or": _joined,
    "mul": _times,
    "shl": _shifted,
    "lshr": _down,
    "ashr": _down,
    "udiv": _quotient,
    "sdiv": _quotient,
    "urem": _rest,
    "srem": _rest,
    "and": _cut,
}
