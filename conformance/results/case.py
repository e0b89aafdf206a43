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
    """What a buffer must hold in the end, to within `tolerance` of the largest expected magnitude."""

    name: str
    actual: Array
    expected: Array
    tolerance: float = 0.0
    look: Callable[[Array], Array] = lambda array: array  # what of the buffer is compared


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


def poisoned(shape: int | tuple[int, ...], dtype: Any = np.float32) -> Array:
    """An output that shows what nobody wrote: NaN, or a number no kernel here computes."""
    array = np.empty(shape, dtype)
    if array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16:
        array.fill(np.nan)
    else:
        array.view(np.uint8).fill(0xA5)
    return array
