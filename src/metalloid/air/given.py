"""Function constants of a binary: their values by name or index, as the initialisers of their globals."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.air.constants import nothing, stored
from metalloid.air.described import Constant as Declared
from metalloid.air.described import Described
from metalloid.air.refused import Refused
from metalloid.air.shapes import memory
from metalloid.ir.types import FloatType, IntType, Type, VectorType
from metalloid.ir.values import Aggregate, Constant, const
from metalloid.source import Constant as Number
from metalloid.source import unfit


def by_symbol(described: Described, given: Mapping[str | int, Number]) -> dict[str, Number]:
    """The values by the name of the global that holds each; 0 for those that were not given."""
    values: dict[str, Number] = {constant.symbol: 0 for constant in described.constants}
    for constant in described.constants:
        for key in (constant.name, constant.index):
            if key in given:
                if wrong := unfit(constant.type, given[key]):
                    raise Refused(f"its function constant '{constant.name}' {wrong}")
                values[constant.symbol] = bool(given[key]) if constant.type == "bool" else given[key]
    return values


def undefined(described: Described, given: Mapping[str | int, Number]) -> tuple[str, ...]:
    """Those the kernel needs and was not given."""
    return tuple(c.name for c in described.constants if not _has(given, c))


def _has(given: Mapping[str | int, Number], constant: Declared) -> bool:
    # True is 1 to Python, and 1 an index.
    return any(key == constant.name or (key == constant.index and key is not True) for key in given)


def initial(type: Type, value: Number) -> Constant:
    """A number as a global holds it."""
    if isinstance(type, IntType | FloatType) and not isinstance(value, tuple):
        return const(type, value)
    if value == 0:
        return nothing(memory(type))
    if isinstance(type, VectorType) and isinstance(value, tuple) and len(value) == type.count:
        return stored(Aggregate(type, tuple(const(type.element, v) for v in value)))
    raise Refused(f"a function constant of type {type} is not supported")
