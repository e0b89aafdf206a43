"""How far two results lie apart, in units in the last place."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from conformance.results.case import Array

# From 1 to the next number of the type.
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def same_bits(one: Array, other: Array) -> bool:
    """All bits but those of NaNs: Metal does not say which NaN an operation gives."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(np.all(_equal(one, other)))


def apart(one: Array, other: Array) -> Array:
    """Per element, in ulps of the largest magnitude of `one`: terms that large may have cancelled in a sum.

    Infinite where integers differ, and where one is a NaN or an infinity that the other is not.
    """
    one, other = _parts(one), _parts(other)
    same = _equal(one, other)
    if one.dtype.name not in EPSILON:
        return np.where(same, 0.0, np.inf)
    a, b = one.astype(np.float64), other.astype(np.float64)
    largest = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    unit = EPSILON[one.dtype.name] * 2.0 ** np.floor(np.log2(largest or 1.0))
    with np.errstate(invalid="ignore"):
        distance = np.abs(a - b) / unit
    return np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf))


def _equal(one: Array, other: Array) -> Array:
    one, other = _parts(one), _parts(other)
    if one.dtype.name not in EPSILON:
        return np.asarray(one == other)
    bits = np.dtype(f"u{one.dtype.itemsize}")
    a, b = np.ascontiguousarray(one), np.ascontiguousarray(other)
    equal = a.view(bits) == b.view(bits)
    return np.asarray(equal | (np.isnan(a) & np.isnan(b)))


def _parts(array: Array) -> Array:
    """Complex numbers as two floats each."""
    if array.dtype.kind != "c":
        return array
    return np.ascontiguousarray(array).view(np.dtype(f"f{array.dtype.itemsize // 2}"))


def is_float(array: Array) -> bool:
    return array.dtype.kind in "fc" or array.dtype == ml_dtypes.bfloat16
