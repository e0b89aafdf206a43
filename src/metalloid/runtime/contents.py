"""What a value is to the last bit, as a key: values of one key become the same bytes in a parameter."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from metalloid.backends.backend import SCALARS

MOST = 1024  # bytes of an array


def content(value: Any) -> Hashable | None:
    """None where that cannot be said, or takes longer than to look at the value once more. A value's type belongs to
    it: 1 is not 1.0, nor True."""
    if type(value) is np.ndarray:
        if value.nbytes > MOST or value.dtype.hasobject:
            return None
        return np.ndarray, value.dtype, value.shape, value.tobytes()
    return _plain(value)


def _plain(value: Any) -> Hashable | None:
    """Of numbers, and of lists and structs of them. Not of arrays inside: those are memory, which kernels reach."""
    kind = type(value)
    if kind is float:
        return kind, value or str(value)  # -0.0 is not 0.0
    if kind in (int, bool, bytes):
        return kind, value
    if kind in SCALARS:
        return kind, value.tobytes()
    if kind is tuple or kind is list:
        parts = tuple([_plain(v) for v in value])
        return None if None in parts else (kind, parts)
    if kind is dict:
        parts = tuple([_plain(v) for v in value.values()])
        return None if None in parts else (kind, tuple(value), parts)
    return None


def frozen(value: Any) -> bool:
    """Whether the same object holds the same for good."""
    if type(value) is tuple:
        return all(map(frozen, value))
    return type(value) in (int, float, bool, bytes) or type(value) in SCALARS
