"""What a textbook kernel is: its text in MSL and in C, its data, and the shapes that it is launched in.

Both texts take the same arrays and numbers in the same order; C gets the numbers that a launch has in its grid besides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalloid.runtime.buffer import aligned

Array = np.ndarray[Any, Any]
Size = tuple[int, ...]
# Names of a type in MSL, in C and in numpy.
TYPES = {
    "float": ("float", "float", np.float32),
    "half": ("half", "_Float16", np.float16),
    "int": ("int", "int", np.int32),
    "char": ("char", "signed char", np.int8),
    "uchar": ("uchar", "unsigned char", np.uint8),
    "uint": ("uint", "unsigned", np.uint32),
}
LINE = ((32,), (64,), (256,), (1000,))
POWERS = ((32,), (64,), (256,), (1024,))
PLANE = ((8, 8), (16, 16), (32, 8), (32, 1), (64, 1), (20, 20))
# Largest error, against the largest number of a result. Integers are exact.
TOLERANCE = {"float32": 2e-5, "float16": 4e-3}


@dataclass(frozen=True)
class Data:
    """Arguments of one computation, and its result by numpy."""

    arrays: tuple[Array, ...]
    expected: dict[int, Array]  # by the index of the array
    grid: Size
    numbers: Size = ()
    more: Size = ()  # C's numbers behind those
    start: dict[int, Array | int] | None = None  # what outputs hold before, where it matters
    numpy: Callable[[], object] | None = None
    strays: float = 0  # share of numbers that may differ: rounding decides how often they go round


Make = Callable[[str, Size, Size], Data]


@dataclass(frozen=True)
class Textbook:
    name: str
    file: str
    make: Make  # of a type, a size and a threadgroup
    sizes: tuple[Size, ...]
    groups: tuple[Size, ...]
    types: tuple[str, ...] = ("float",)
    kernel: str = ""  # in MSL, where it is not the name
    c: str = ""  # in C
    tile: int = 0


@dataclass(frozen=True)
class Case:
    book: Textbook
    type: str
    size: Size
    group: Size

    @property
    def data_label(self) -> str:
        return f"{self.book.name} {self.type} {'x'.join(map(str, self.size))}"

    @property
    def label(self) -> str:
        return f"{self.data_label} in {'x'.join(map(str, self.group))}"


def cases(books: tuple[Textbook, ...], only: str = "", few: bool = False) -> list[Case]:
    """All cases whose label has `only` in it; `few`: of each kernel one type, one size, two threadgroups."""
    every = [Case(b, t, s, g) for b in books for t in b.types for s in b.sizes for g in b.groups]
    if few:
        first = {b.name: b for b in reversed(books)}
        some = [(b, {b.groups[0]: 0, b.groups[-1]: 0}) for b in books if first[b.name] is b]
        every = [Case(b, b.types[0], b.sizes[-1], g) for b, groups in some for g in groups]
    return [case for case in every if any(word in case.label for word in only.split("|"))]


def numbers(shape: int | Size, kind: str = "float", low: float = -1, high: float = 1, seed: int = 0) -> Array:
    """Random numbers, where vectors start on a cache line."""
    made: Array = aligned(shape, TYPES[kind][2])
    source = np.random.default_rng(seed)
    if np.issubdtype(made.dtype, np.integer):
        made[...] = source.integers(int(low), int(high), made.shape)
    else:
        made[...] = source.uniform(low, high, made.shape)
    return made


def empty(shape: int | Size, kind: str = "float") -> Array:
    made: Array = aligned(shape, TYPES[kind][2])
    return made


def double(a: Array) -> Array:
    return a.astype(np.float64)


def total(size: Size) -> int:
    return int(np.prod(size))
