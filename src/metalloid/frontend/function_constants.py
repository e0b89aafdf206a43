"""Function constants in C++: their values, and where in the text they are given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

from metalloid.frontend import included
from metalloid.frontend.declarations import FunctionConstant
from metalloid.frontend.rewritten import Edit, Late
from metalloid.frontend.unit import KEPT, Unit
from metalloid.source import Constant


def value_edits(unit: Unit, constants: Mapping[str, str], unknown: bool) -> Iterator[Edit]:
    """Give function constants their values, and answer is_function_constant_defined(); `constants` are values by name.

    `unknown`: those without a value have none, where 0 takes its place otherwise.
    """
    names = {c.name for c in unit.declarations.constants}
    for constant in unit.declarations.constants:
        yield (
            _declared(unit, constant)
            if unknown and constant.name not in constants
            else _value(unit, constant, constants)
        )
    for index in unit.asked:
        if index + 3 < len(unit.tokens):
            name = unit.tokens[index + 2].text
            if name in names:
                answer = "true" if name in constants else "false"
                yield Edit(unit.tokens[index].start, unit.tokens[index + 3].end, answer)


def late_values(unit: Unit, constants: Mapping[str, str]) -> tuple[Late, ...]:
    """Those in what the source includes, with their values behind it. None where one is in a namespace, which the
    definition would have to name."""
    found = _included(unit)
    return tuple(
        Late(
            _value(unit, one, constants),
            _declared(unit, one),
            f"constant {one.type} {one.name} = {_text(one, constants)};",
        )
        for one in found
    )


def differ_in_front(unit: Unit, constants: Mapping[str, str], front: int) -> bool:
    """Whether what a source includes, up to a token, is another text with these values."""
    late = {one.name for one in _included(unit)}
    given = [c.span.first for c in unit.declarations.constants if c.name in constants and c.name not in late]
    return bool(constants) and min([*given, *unit.asked], default=front) < front


@lru_cache(maxsize=KEPT)
def _included(unit: Unit) -> tuple[FunctionConstant, ...]:
    """Those in what the source includes, where all of them are outside of namespaces, and each declared by itself."""
    cut = included.end(unit.text)
    found = [c for c in unit.declarations.constants if unit.tokens[c.span.first].start < cut]
    firsts = [c.span.first for c in found]
    inside = any(opening < first < closing for opening, closing in unit.pairs.items() for first in firsts)
    together = any(unit.tokens[n].text == "," for c in found for n in range(c.span.first, c.span.last))
    return () if inside or together else tuple(found)


def _declared(unit: Unit, constant: FunctionConstant) -> Edit:
    start = unit.tokens[constant.span.first].start
    return Edit(start, start, "extern __attribute__((internal_linkage)) ")


def _value(unit: Unit, constant: FunctionConstant, constants: Mapping[str, str]) -> Edit:
    semicolon = unit.tokens[constant.span.last - 1].start
    return Edit(semicolon, semicolon, f" = {_text(constant, constants)}")


def _text(constant: FunctionConstant, constants: Mapping[str, str]) -> str:
    return constants.get(constant.name, f"{constant.type}{{}}")


def constant_text(type_: str, value: Constant) -> str:
    """A function constant's value as C++."""
    if isinstance(value, (tuple, list)):
        return f"{type_}({', '.join(_literal(v) for v in value)})"
    return f"({type_}){_literal(value)}"


def _literal(value: Constant) -> str:
    value = value.item() if hasattr(value, "item") else value  # numpy's scalars
    if isinstance(value, bool):
        return "(true)" if value else "(false)"
    if isinstance(value, float):
        if math.isnan(value):
            return '(__builtin_nanf(""))'
        if math.isinf(value):
            return f"({'-' if value < 0 else ''}__builtin_inff())"
        return f"({value.hex()}f)"
    return f"({value})"
