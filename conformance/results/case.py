"""A case: kernels launched one after the other, and what must be in the outputs then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import ml_dtypes
import numpy as np

from metalloid.source import Constant, Source

Array = np.ndarray[Any, np.dtype[Any]]
Size = Literal["small", "large"]
# What the order of threads may do to a result: nothing; or it is right only where the lanes of a SIMD-group
# keep in step; or the kernel carries a race, and the oracle must show it.
Order = Literal["any", "lockstep", "race"]
Triple = tuple[int, int, int]
Argument = Array | Mapping[str, Any] | int | float


@dataclass(frozen=True)
class Step:
    """One launch. Arguments stand in the order of their buffer indices."""

    source: Source
    kernel: str
    arguments: tuple[Argument, ...]
    threadgroup: Triple
    threadgroups: Triple | None = None  # either this,
    grid: Triple | None = None  # or the threads in all
    threadgroup_memory: Mapping[int, int] = field(default_factory=dict)
    constants: Mapping[str | int, Constant] = field(default_factory=dict)


@dataclass(frozen=True)
class Output:
    """What a buffer must hold in the end, to within `tolerance` of the largest expected magnitude.

    `ulps` says how far the engine may lie from the oracle, in ulps of the largest magnitude: 0 for what is moved,
    compared or computed with integers, and for floats whose operations have one order; `summed(n)` for a sum of n
    terms, which an engine may add in another order. Not said: as many ulps as the tolerance is, one at least where
    there is any.
    """

    name: str
    actual: Array
    expected: Array
    tolerance: float = 0.0
    look: Callable[[Array], Array] = lambda array: array  # what of the buffer is compared
    ulps: float | None = None


@dataclass(frozen=True)
class Work:
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Case:
    """`make` builds the work of one size, the same every time it is given the same generator state."""

    suite: str
    family: str
    name: str
    make: Callable[[np.random.Generator, Size], Work]
    order: Order = "any"

    @property
    def label(self) -> str:
        return f"{self.suite} {self.family} {self.name}"


# Roundings of the element type that a kernel's own arithmetic may add up to, relative to the largest value.
TOLERANCE = {"float32": 1e-6, "float16": 6e-4, "bfloat16": 4.5e-3}


def tolerance(array: Array, factor: float = 1.0) -> float:
    """The tolerance of this array's dtype, times how much longer than usual the sums are."""
    return TOLERANCE.get(array.dtype.name, 0.0) * factor


def summed(terms: int, then: float = 0.0) -> float:
    """Ulps between two orders of a sum of so many terms, plus those of what is done with it then.

    Each of two trees of additions is off by half an ulp of its partial sums per level in the worst case; a chain has as
    many levels as terms, but roundings fall either way, and grow with the root of their number.
    """
    return float(np.ceil(2 * terms**0.5)) + then


def poisoned(shape: int | tuple[int, ...], dtype: Any = np.float32) -> Array:
    """An output that shows what nobody wrote: NaN, or a number no kernel here computes."""
    array = np.empty(shape, dtype)
    if array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16:
        array.fill(np.nan)
    else:
        array.view(np.uint8).fill(0xA5)
    return array
