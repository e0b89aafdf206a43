"""Libraries from bytes: a real `.metallib`, or metalloid's stand-in for one, which holds source text.

The stand-in is what `metalloid xcrun metallib` writes: a first line, then JSON with texts and their settings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from metalloid.errors import MetalloidError
from metalloid.runtime.device import device
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.library import Library
from metalloid.source import Constant, MathMode

MAGIC = b"metalloid library 1\n"


@dataclass(frozen=True)
class Text:
    """One translation unit, its includes inside it."""

    name: str
    text: str
    math: MathMode = "fast"
    defines: Mapping[str, str] = field(default_factory=dict)


def packed(texts: Sequence[Text]) -> bytes:
    return MAGIC + json.dumps([asdict(text) for text in texts]).encode()


def unpacked(data: bytes) -> list[Text]:
    if not data.startswith(MAGIC):
        raise MetalloidError("this is no library of `metalloid xcrun metal`: it does not begin as they do.")
    return [Text(**entry) for entry in json.loads(data[len(MAGIC) :])]


def opened(data: bytes, name: str) -> Library | Joined:
    """The library in these bytes."""
    if data.startswith(MAGIC):
        return Joined(
            [device().library(t.text, math=t.math, defines=t.defines, name=t.name) for t in unpacked(data)]
        )
    return device().library(data, name=name)


class Joined:
    """Several translation units as one library."""

    def __init__(self, libraries: Sequence[Library]) -> None:
        self._owner = {kernel: library for library in reversed(libraries) for kernel in library.kernels}
        self._libraries = tuple(libraries)

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for library in self._libraries for name in library.kernels))

    def kernel(self, name: str, constants: Mapping[str | int, Constant] | None = None) -> Kernel:
        if name not in self._owner:
            raise MetalloidError(f"Function {name} was not found in the library.")
        return self._owner[name].kernel(name, constants)
