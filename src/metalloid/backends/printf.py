"""Put a kernel's log line into words, as printf would."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalloid.patterns import pattern

_CONVERSION = pattern(r"%(%|([-+ 0#]*)(\d+)?(\.\d+)?(?:v(\d+))?(hh|h|hl|ll|l|z|j|t)?([diouxXcfFeEgGaAspP@]))")
_WIDE = frozenset(("l", "ll", "z", "j", "t"))


def formatted(format: str, arguments: tuple[int | float, ...]) -> str:
    """The text of a log line. Arguments that are missing are shown as such; those left over are appended."""
    rest = iter(arguments)

    def one(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        count = int(match[5] or 1)
        return ",".join(_value(match, rest) for _ in range(count))

    text = _CONVERSION.sub(one, format)
    return " ".join([text, *(f"{value}" for value in rest)])


def _value(match: re.Match[str], rest: Iterator[int | float]) -> str:
    value = next(rest, None)
    if value is None:
        return "(missing)"
    flags, width, precision, size, letter = match[2] or "", match[3] or "", match[4] or "", match[6], match[7]
    if letter in "fFeEgGaA":
        return f"%{flags}{width}{precision}{'f' if letter in 'aA' else letter}" % float(value)
    number = int(value)
    if letter in "ouxX" and number < 0:
        number += 1 << (64 if size in _WIDE else 32)
    if letter in "spP@":
        return f"{number:#x}"
    return f"%{flags}{width}{precision}{'c' if letter == 'c' else 'd' if letter in 'iu' else letter}" % number
