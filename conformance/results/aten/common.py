"""What the cases of ATen share: sources by name, types by name, and the host's way to launch one thread per element."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from conformance.pytorch import sources
from conformance.results.case import Array, Case, Output, Size, Step, Work
from metalloid.source import Source

DTYPES: dict[str, Any] = {
    "float": np.dtype(np.float32),
    "half": np.dtype(np.float16),
    "bfloat": np.dtype(ml_dtypes.bfloat16),
    "long": np.dtype(np.int64),
    "int": np.dtype(np.int32),
    "short": np.dtype(np.int16),
    "char": np.dtype(np.int8),
    "uchar": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
}
# Of the largest magnitude: half a rounding to the type and a few of float32.
ROUNDING = {"float": 6e-7, "half": 6e-4, "bfloat": 4.5e-3}
MOST = 1024  # threads of a threadgroup: the pipeline's own limit


@cache
def _sources() -> dict[str, Source]:
    return {source.name: source for source in sources()}


def source(name: str) -> Source:
    return _sources()[name]


def there() -> bool:
    """Whether the sources can be had."""
    return bool(_sources())


def per_element(text: str, kernel: str, count: int, *arguments: Any) -> Step:
    """One thread for each element, in groups as large as they may be."""
    return Step(source(text), kernel, arguments, (min(count, MOST), 1, 1), grid=(count, 1, 1))


def case(family: str, name: str, make: Callable[[np.random.Generator], tuple[Step, Output]]) -> Case:
    def work(rng: np.random.Generator, size: Size) -> Work:
        step, output = make(rng)
        return Work((step,), (output,))

    return Case("aten", family, name, work)


def numbers(rng: np.random.Generator, type: str, shape: Any, low: float = -3, high: float = 3) -> Array:
    dtype = DTYPES[type]
    if type in ROUNDING:
        return rng.uniform(low, high, shape).astype(dtype)
    return rng.integers(
        max(int(low), 0 if type[0] in "ub" else int(low)), int(high), shape, endpoint=True
    ).astype(dtype)
