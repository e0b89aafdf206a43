"""Rotary position embedding.

An angle is position * scale * base^(-2i/dims). At position 4000 a float holds it to 1e-4 only, so that cosines
and sines are made in double precision here, for 256 positions at a time, and the kernel multiplies.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import numpy as np

from metalloid.kernels.arrays import Array, empty, float_name, matrices, refuse, taken
from metalloid.kernels.families import kernel

BLOCK = 256  # positions of a table


def rope(
    x: Any,
    dims: int | None = None,
    *,
    interleaved: bool = False,
    base: float = 10000.0,
    scale: float = 1.0,
    offset: int = 0,
    frequencies: Any = None,
    inverse: bool = False,
) -> Any:
    """Turn the first `dims` numbers of each row of x, (..., time, dimension), by its position; `offset` is the first.

    Pairs are (i, i + dims/2), or (2i, 2i + 1) where `interleaved`. `frequencies` are angles per position, dims/2 of
    them, in place of base^(-2i/dims). `inverse` turns back.
    """
    give, (array,) = taken("rope", x)
    if array.ndim < 2:
        refuse("rope", "(..., time, dimension)", str(array.shape))
    name = float_name("rope", array)
    n, size = array.shape[-2:]
    turned = size if dims is None else dims
    if turned % 2 or not 0 <= turned <= size:
        refuse("rope", f"an even number of dims up to {size}", str(turned))
    if offset < 0:
        refuse("rope", "an offset of 0 or more", str(offset))
    out = empty(array.shape, array.dtype)
    if out.size == 0:
        return give(out)
    memory, row, apart = matrices(array)
    packed = struct.pack("4IQf4x", turned, size, n, row, apart, -1.0 if inverse else 1.0)
    kernel("rope", f"rope_{'interleaved' if interleaved else 'split'}_{name}")(
        memory,
        angles(turned, base, scale, offset, n, frequencies),
        out,
        np.frombuffer(bytearray(packed), np.uint8),
        threadgroups=(-(-(size - turned // 2) // 32), n, array.size // (n * size)),
        threadgroup=(32, 1, 1),
    )
    return give(out)


def angles(dims: int, base: float, scale: float, offset: int, n: int, frequencies: Any = None) -> Array:
    """Cosine and sine, (position, pair, 2), of n positions from `offset` on."""
    given = None
    if frequencies is not None:
        _, (own,) = taken("rope", frequencies)
        if own.shape != (dims // 2,):
            refuse("rope", f"frequencies of shape ({dims // 2},)", str(own.shape))
        given = own.astype(np.float64).tobytes()
    first = offset // BLOCK * BLOCK
    count = -(-(offset + n - first) // BLOCK) * BLOCK
    return _table(dims, base, scale, given, first, count)[offset - first :]


def speeds(dims: int, base: float) -> Array:
    """The angle per position of each pair."""
    found: Array = float(base) ** (np.arange(0, dims, 2) / -max(dims, 1))
    return found


@lru_cache(maxsize=64)
def _table(dims: int, base: float, scale: float, given: bytes | None, first: int, count: int) -> Array:
    speed = speeds(dims, base) if given is None else np.frombuffer(given, np.float64)
    angle = np.arange(first, first + count)[:, None] * (scale * speed)
    return np.stack([np.cos(angle), np.sin(angle)], -1).astype(np.float32)
