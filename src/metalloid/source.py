"""Source: everything that decides what a kernel's text means, and a key made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from metalloid.hashes import sha256
from metalloid.patterns import pattern
from metalloid.records import dataclass, field

MathMode = Literal["fast", "relaxed", "safe"]
MATH_MODES: tuple[MathMode, ...] = ("fast", "relaxed", "safe")

Number = bool | int | float
Constant = Number | tuple[Number, ...]  # a vector's elements
MAGIC = b"MTLB"  # how a compiled library begins
_WHOLE = pattern(r"(?:metal::)?u?(char|short|int|long|int8_t|int16_t|int32_t|int64_t)[234]?")
_BITS = {
    "char": 8,
    "short": 16,
    "int": 32,
    "long": 64,
    "int8_t": 8,
    "int16_t": 16,
    "int32_t": 32,
    "int64_t": 64,
}


def unfit(type: str, value: Constant) -> str:
    """Why a function constant of this type cannot have a value; "" where it can. -1 is a `uint` of all ones."""
    whole = _WHOLE.fullmatch(type)
    for number in (value if isinstance(value, tuple | list) else (value,)) if whole else ():
        if number % 1 != 0:
            return f"is declared {type}; {number!r} would lose its fraction"
        assert whole is not None
        if not -(1 << _BITS[whole[1]] - 1) <= number < 1 << _BITS[whole[1]]:
            return f"is declared {type}; {number!r} does not fit"
    return ""


def _empty() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Source:
    """MSL text with the settings it is compiled under."""

    text: str
    name: str = "kernel.metal"  # what diagnostics call it
    directory: Path | None = None  # where #include "..." starts looking; None: nowhere
    include: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=_empty)
    math: MathMode = "fast"
    form: str = "metal"  # how it was given, for the words of hints: "metal" or "mlx"
    quoted: Mapping[str, str] = field(default_factory=_empty)  # texts that `#line 1 "name"` refers to
    called: tuple[str, int] = ("", 0)  # file and line of the call that gave it as a string; for messages only

    @classmethod
    def from_file(cls, path: Path, **settings: object) -> Source:
        """The text of a file; a library that is compiled already is a Binary."""
        with path.open("rb") as file:
            start = file.read(1024)
        if path.suffix == ".metallib" or start[:4] == MAGIC or (b"\0" in start and path.suffix != ".metal"):
            return Binary("", name=str(path), math="safe", form="metallib", path=path)
        text = path.read_text(encoding="utf-8", errors="replace")
        return cls(text, name=str(path), directory=path.parent, **settings)  # type: ignore[arg-type]

    def written(self) -> Mapping[str, str]:
        """The texts that a program gave as strings, by the names that the compiler knows them by."""
        return (self.quoted or {self.name: self.text}) if self.called[0] else {}

    def key(self, *more: object) -> str:
        """A hash of everything here (not of the files it includes) and of `more`."""
        parts = [
            self.text,
            self.name,
            str(self.directory),
            [str(p) for p in self.include],
            sorted(self.defines.items()),
            self.math,
            [repr(m) for m in more],
        ]
        return sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Binary(Source):
    """A library that is compiled already: a `.metallib`, or a program that holds one. It has no text to show."""

    path: Path | None = None
    data: bytes = field(default=b"", repr=False)  # where it was given as bytes

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "library.metallib") -> Binary:
        return cls("", name=name, math="safe", form="metallib", data=data)
