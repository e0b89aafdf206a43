"""Metal's enumerations with Apple's values, read from a table: `enumerations.txt` has a paragraph for each type."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources


@cache
def enumerations() -> dict[str, dict[str, int]]:
    """Each type with its names and values."""
    text = resources.files(__package__).joinpath("enumerations.txt").read_text(encoding="utf-8")
    whole = re.sub(r"\n +", " ", text)
    found = {}
    for line in whole.splitlines():
        head, _, values = line.partition(": ")
        if line.startswith("#") or not values:
            continue
        kind, prefix = head.split()
        pairs = (pair.rsplit(" ", 1) for pair in values.split(", "))
        found[kind] = {prefix + name: int(value) for name, value in pairs}
    return found


@cache
def values() -> dict[str, int]:
    """All names of all enumerations."""
    return {name: value for names in enumerations().values() for name, value in names.items()}


def types() -> dict[str, type[int]]:
    """The types themselves, which are called with a number: `MTLResourceOptions(0)`."""
    return {name: int for name in enumerations() if name != "int"}
