"""Numbers in a row."""

from __future__ import annotations

from functools import partial

import numpy as np

from conformance.results.case import Case, Output, Size, Work, poisoned
from conformance.results.mlx import host
from conformance.results.mlx.templates import launch

# Start and step, by type.
RANGES = {
    "float": (-1.5, 0.25), "half": (2.0, 0.5), "bfloat16_t": (1.0, 2.0), "int8_t": (-100, 1), "uint8_t": (3, 2),
    "int16_t": (-5, 7), "uint16_t": (9, 3), "int32_t": (10**9, -17), "uint32_t": (7, 11),
    "int64_t": (-(2**40), 2**33 + 1), "uint64_t": (2**63, 5),
}  # fmt: skip


def _arange(rng: np.random.Generator, size: Size, type: str) -> Work:
    count = {"small": 77, "large": 3001}[size]
    start, step = RANGES[type]
    dtype = host.TYPES[type]
    out = poisoned(count, dtype)
    grid, group = host.line(count)
    made = launch(
        "arange.h",
        "arange",
        (type,),
        (np.array([start], dtype), np.array([step], dtype), out),
        group,
        grid=grid,
    )
    if "int" in type:
        index = np.arange(count, dtype=np.uint64)
        wide = np.array([start % 2**64], np.uint64) + index * np.array([step % 2**64], np.uint64)
        return Work((made,), (Output("out", out, wide.astype(dtype), ulps=0),))
    return Work(
        (made,), (Output("out", out, start + np.arange(count) * step, 2 * host.rounding(out), ulps=0),)
    )


def cases() -> list[Case]:
    return [Case("mlx", "arange", type, partial(_arange, type=type)) for type in RANGES]
