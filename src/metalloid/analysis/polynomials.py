"""Numbers as sums of products: whether two are the same, however the optimiser has put them together.

`i - (p * m + q) * n` is `i - p * (m * n) - q * n`. All of it goes round at the same power of two, so what is equal as a
polynomial is equal.
"""

from __future__ import annotations

from metalloid.ir import Function
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value

Polynomial = dict[tuple[str, ...], int]  # the factors of each product, sorted, and how often it is added
MOST = 32  # products


def polynomial(function: Function, value: Value) -> Polynomial | None:
    """None where it is too long. Whatever is no sum or product is a factor by its name."""
    return _Reader(function, _bits(value)).of(value)


def less(a: Polynomial, b: Polynomial, bits: int) -> Polynomial:
    """A difference."""
    return _sum(a, b, -1, bits)


def times(a: Polynomial, b: Polynomial, bits: int) -> Polynomial | None:
    if len(a) * len(b) > MOST:
        return None
    found: Polynomial = {}
    for x, n in a.items():
        for y, m in b.items():
            found = _sum(found, {tuple(sorted((*x, *y))): n * m}, 1, bits)
    return found


def _sum(a: Polynomial, b: Polynomial, sign: int, bits: int) -> Polynomial:
    found = dict(a)
    for factors, n in b.items():
        found[factors] = (found.get(factors, 0) + sign * n) % (1 << bits)
    return {factors: n for factors, n in found.items() if n}


def _bits(value: Value) -> int:
    return value.type.bits if isinstance(value, Int | Local) and isinstance(value.type, IntType) else 64


class _Reader:
    def __init__(self, function: Function, bits: int) -> None:
        self.function, self.bits = function, bits
        self.known: dict[str, Polynomial | None] = {}

    def of(self, value: Value) -> Polynomial | None:
        if isinstance(value, Int):
            return _sum({}, {(): value.value}, 1, self.bits)
        if not isinstance(value, Local):
            return None
        if value.name not in self.known:
            self.known[value.name] = self._made(value)
        return self.known[value.name]

    def _made(self, value: Local) -> Polynomial | None:
        i = self.function.definitions[value.name]
        if i.opcode == "freeze":
            return self.of(i.operands[0])
        if i.opcode not in ("add", "sub", "mul"):
            return {(value.name,): 1}
        a, b = (self.of(o) for o in i.operands)
        if a is None or b is None:
            return None
        if i.opcode == "mul":
            return times(a, b, self.bits)
        found = _sum(a, b, 1 if i.opcode == "add" else -1, self.bits)
        return found if len(found) <= MOST else None
