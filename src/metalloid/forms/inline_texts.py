"""Kernels of a Python file that are whole texts, or bodies with arguments: what is compiled for each to lint it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice, product
from types import MappingProxyType

from metalloid.forms.mlx_source import Origin
from metalloid.forms.reading.symbols import Symbol
from metalloid.forms.script import NAME, body_source
from metalloid.source import Source

# Names of calls whose first argument is a whole Metal text: metalloid's own, and those of Metal through PyObjC.
TEXTS = (
    "library",
    "newLibraryWithSource_options_error_",
    "newLibraryWithSource_options_completionHandler_",
)
_SETTINGS = (
    "grid",
    "threadgroup",
    "header",
    "math",
)  # what `mt.metal_kernel` takes beside the kernel's arguments
_KINDS = ("device float*", "device int*", "device uint*")
_MOST = 9  # guesses at the types of a body's arguments


def is_metal(text: object) -> bool:
    """Whether a string is a Metal text: other things are called library, too."""
    return isinstance(text, str) and ("kernel void" in text or "[[kernel]]" in text)


def whole(source: Source, text: str, origin: Origin) -> Source:
    """A text of its own, with the lines of the Python file."""
    numbers = origin.lines or tuple(range(1, text.count("\n") + 2))
    lines, expected = [], -1
    for line, number in zip(text.split("\n"), numbers, strict=True):
        if number != expected:
            lines.append(f'#line {number} "{origin.name}"')
        lines.append(line)
        expected = number + 1
    quoted = MappingProxyType({origin.name: origin.text})
    return replace(source, text="\n".join(lines) + "\n", quoted=quoted)


def bodies(arguments: Mapping[str, object], origins: tuple[Origin, Origin]) -> tuple[Source, ...]:
    """The texts of one `mt.metal_kernel("...", x=x)`, best guess at the types first."""
    body, header = str(arguments["body"]), str(arguments.get("header", ""))
    named = {n: v for n, v in arguments.items() if n not in ("body", *_SETTINGS)}
    choices = [_kinds(value) for value in named.values()]
    return tuple(
        body_source(body, header, "fast", tuple(zip(named, guess, strict=True)), origins)
        for guess in islice(product(*choices), _MOST)
    )


def _kinds(value: object) -> tuple[str, ...]:
    """How an argument may be declared. Numbers are known; of an array only the name is."""
    if isinstance(value, bool):
        return ("constant bool&",)
    if isinstance(value, int):
        return ("constant int&",)
    if isinstance(value, float):
        return ("constant float&",)
    if isinstance(value, Symbol) and value.hint in ("int", "float"):
        return (f"constant {value.hint}&",)
    return _KINDS


__all__ = ["NAME", "TEXTS", "bodies", "is_metal", "whole"]
