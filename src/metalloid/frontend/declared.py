"""Types that the compiler only declared: a pointer whose target nobody touches needs no more than its name.

`struct A { device atomic_uint* count; };` names `atomic<unsigned int>`; a kernel that does not use `count` leaves it at
that, and the debug info has no members and no template parameters of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from metalloid.patterns import pattern
from metalloid.types import Array, DType, Matrix, Scalar, Type, Vector

_TEMPLATE = pattern(r"(?:metal::)?(?P<name>\w+)<(?P<rest>.*)>")


def declared(name: str, scalars: Mapping[str, DType]) -> Type | None:
    """The type of a name such as `vec<unsigned char, 4>`; None where it is none of Metal's."""
    name = name.strip()
    if name in scalars:
        return Scalar(scalars[name])
    found = _TEMPLATE.fullmatch(name)
    if found is None:
        return None
    first, *rest = template_arguments(found["rest"])
    element = declared(first, scalars)
    sizes = [int(digits[0]) for part in rest if (digits := re.match(r"\d+", part))]
    match found["name"], element, sizes:
        case "atomic", Scalar(), []:
            return Scalar(element.dtype, atomic=True)
        case ("vec" | "packed_vec") as word, Scalar(), [length]:
            return Vector(element, length, word == "packed_vec")
        case "matrix", Scalar(), [columns, rows]:
            return Matrix(element, columns, rows)
        case "array", Scalar() | Vector() | Matrix() | Array(), [length]:
            return Array(element, length)
    return None


def template_arguments(text: str) -> list[str]:
    """`vec<float, 4>, 2` at the commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
