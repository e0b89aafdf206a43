"""Running sums, products, extremes and log-sums: along contiguous rows and along strided columns, both directions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, summed
from conformance.results.mlx import host
from conformance.results.mlx.reduce import factors
from conformance.results.mlx.templates import launch, up

HEADER = "scan.h"
OPERATORS: dict[str, tuple[str, Callable[..., Any], Any]] = {
    "sum": ("CumSum", np.cumsum, 0),
    "prod": ("CumProd", np.cumprod, 1),
    "max": ("CumMax", np.maximum.accumulate, "least"),
    "min": ("CumMin", np.minimum.accumulate, "most"),
    "logaddexp": ("CumLogaddexp", np.logaddexp.accumulate, "least"),
}


def _first(op: str, dtype: np.dtype[Any]) -> Any:
    """What an exclusive scan starts with."""
    value = OPERATORS[op][2]
    if not isinstance(value, str):
        return value
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if value == "least" else np.iinfo(dtype).max
    if dtype.kind == "b":
        return value == "most"
    return -np.inf if value == "least" else np.inf


def _expected(x: Array, op: str, axis: int, inclusive: bool, reverse: bool) -> Array:
    numbers = np.flip(x, axis) if reverse else x
    wide = numbers if x.dtype.kind in "iub" else host.double(numbers)
    with np.errstate(over="ignore"):
        exact = {"dtype": x.dtype} if op in ("sum", "prod") and x.dtype.kind in "iu" else {}
        running = OPERATORS[op][1](wide, axis=axis, **exact)
    if not inclusive:
        running = np.roll(running, 1, axis)
        start = [slice(None)] * x.ndim
        start[axis] = slice(0, 1)
        running[tuple(start)] = _first(op, x.dtype)
    return np.asarray(np.flip(running, axis) if reverse else running)


def _scan(
    rng: np.random.Generator,
    size: Size,
    op: str,
    type: str,
    shape: tuple[int, ...],
    axis: int,
    inclusive: bool,
    reverse: bool,
) -> Work:
    if size == "large":
        shape = (3 * shape[0], *shape[1:])
    floating_product = op == "prod" and "int" not in type
    x = factors(rng, type, shape) if floating_product else host.random(rng, type, shape, -2, 3)
    out = poisoned(shape, x.dtype)
    length = shape[axis]
    reads = 4 if x.itemsize <= 4 else 2
    parameters = (type, type, f"{OPERATORS[op][0]}<{type}>", reads, inclusive, reverse)
    stride = x.strides[axis] // x.itemsize
    if stride == 1:
        threads = _threads(length, reads)
        grid = (threads, x.size // length, 1)
        step = launch(HEADER, "contiguous_scan", parameters, (x, out, length), (threads, 1, 1), grid=grid)
    else:
        threads, blocks = 32 // reads * 32, up(stride, 32)
        grid = (threads, x.size // (length * stride) * blocks, 1)
        arguments = (x, out, length, stride, blocks)
        step = launch(HEADER, "strided_scan", parameters, arguments, (threads, 1, 1), grid=grid)
    expected = _expected(x, op, axis, inclusive, reverse)
    if x.dtype.kind in "iub" or op in ("min", "max"):
        return Work((step,), (Output("out", out, expected, ulps=0),))
    allowed = host.rounding(out, 1, 2 + int(length**0.5))
    return Work((step,), (Output("out", out, expected, allowed, ulps=summed(length)),))


def _threads(length: int, reads: int) -> int:
    """Whole SIMD-groups; long rows are done in two or more rounds."""
    if length <= reads * 1024:
        return up(length, reads * 32) * 32
    if length <= reads * 2048:
        return up(length // 2, reads * 32) * 32
    return 1024


CONTIGUOUS = ((3, 7), (2, 128), (2, 301), (1, 1030))
STRIDED = ((2, 5, 7), (37, 33), (2, 33, 70), (3, 64, 4))
KINDS = (
    ("sum", "float"), ("sum", "half"), ("sum", "bfloat16_t"), ("sum", "int32_t"), ("sum", "uint8_t"),
    ("sum", "int64_t"), ("prod", "float"), ("prod", "int16_t"), ("prod", "bfloat16_t"), ("max", "float"),
    ("max", "int8_t"), ("max", "uint64_t"), ("min", "half"), ("min", "int32_t"), ("min", "float"),
    ("logaddexp", "float"), ("logaddexp", "half"), ("sum", "complex64_t"),
)  # fmt: skip


def cases() -> list[Case]:
    made = []
    for n, (op, type) in enumerate(KINDS):
        for m, (shape, axis) in enumerate(
            ((CONTIGUOUS[n % 4], 1), (STRIDED[n % 4], -2), (CONTIGUOUS[(n + 1) % 4], 1))
        ):
            inclusive, reverse = (n + m) % 2 == 0, (n // 2 + m) % 2 == 1
            axis = axis % len(shape)
            how = f"{'inclusive' if inclusive else 'exclusive'}{' reverse' * reverse}"
            name = f"{op} {type} {'x'.join(map(str, shape))} over {axis} {how}"
            make = partial(
                _scan, op=op, type=type, shape=shape, axis=axis, inclusive=inclusive, reverse=reverse
            )
            made.append(Case("mlx", "scan", name, make))
    return made
