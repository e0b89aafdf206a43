"""Metal's enumerations with Apple's values, read from the header that C programs include: there is one table."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

HEADER = "framework/include/Metal/MTLEnumerations.h"
_ENUMERATION = re.compile(r"enum (\w*)[^{]*\{([^}]*)\}")
_VALUE = re.compile(r"(\w+) = (-?\d+)")


@cache
def enumerations() -> dict[str, dict[str, int]]:
    """Each type with its names and values; plain numbers are of "int"."""
    text = resources.files("metalloid").joinpath(HEADER).read_text(encoding="utf-8")
    return {
        kind or "int": {name: int(value) for name, value in _VALUE.findall(body)}
        for kind, body in _ENUMERATION.findall(text)
    }


@cache
def values() -> dict[str, int]:
    """All names of all enumerations."""
    return {name: value for names in enumerations().values() for name, value in names.items()}


def types() -> dict[str, type[int]]:
    """The types themselves, which are called with a number: `MTLResourceOptions(0)`."""
    return {name: int for name in enumerations() if name != "int"}
