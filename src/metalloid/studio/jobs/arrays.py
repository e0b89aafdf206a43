"""What an array is after a launch: figures about it, its first values, a line to draw."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHOWN = 512  # values
POINTS = 160  # of the drawn line
POISON = 0xCD


def summary(name: str, array: NDArray[Any], poisoned: bool) -> dict[str, Any]:
    flat = array.reshape(-1)
    numbers = _numbers(flat)
    finite = numbers[np.isfinite(numbers)]
    untouched = _untouched(flat) if poisoned else np.zeros(flat.size, bool)
    return {
        "name": name,
        "dtype": "bytes" if array.dtype.names else str(array.dtype),
        "shape": list(array.shape),
        "size": int(flat.size),
        "low": _plain(finite.min()) if finite.size else None,
        "high": _plain(finite.max()) if finite.size else None,
        "mean": _plain(finite.mean()) if finite.size else None,
        "nan": int(np.isnan(numbers).sum()),
        "infinite": int(np.isinf(numbers).sum()),
        "untouched": int(untouched.sum()),
        "values": [
            None if untouched[n] else _shown(numbers[n], flat.dtype) for n in range(min(SHOWN, flat.size))
        ],
        "line": _line(numbers, untouched),
    }


def _numbers(flat: NDArray[Any]) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        return flat.astype(np.float64)


def _untouched(flat: NDArray[Any]) -> NDArray[Any]:
    """Elements that hold the pattern from before the launch still."""
    if not flat.size:
        return np.zeros(0, bool)
    parts = np.ascontiguousarray(flat).view(np.uint8).reshape(flat.size, -1)
    return np.asarray((parts == POISON).all(axis=1))


def _plain(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None


def _shown(number: float, dtype: np.dtype[Any]) -> str:
    if dtype.kind in "iub" and math.isfinite(number):
        return str(int(number))
    return f"{number:.5g}"


def _line(numbers: NDArray[Any], untouched: NDArray[Any]) -> list[list[float] | None]:
    """Lowest and highest of each part, for a drawing; None where a part has nothing to draw."""
    if not numbers.size:
        return []
    made: list[list[float] | None] = []
    good = np.isfinite(numbers) & ~untouched
    for part in np.array_split(np.arange(numbers.size), min(POINTS, numbers.size)):
        values = numbers[part][good[part]]
        made.append([float(values.min()), float(values.max())] if values.size else None)
    return made
