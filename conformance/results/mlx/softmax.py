"""Softmax, the logarithm of a sum of exponentials, cross entropy and its derivative, dot products: along rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, summed
from conformance.results.mlx import host
from conformance.results.mlx.templates import launch, up

READS = 4


def _sizes(size: Size, rows: int, columns: int, looped: bool) -> tuple[int, int, int]:
    """Rows, columns, threads: as many as read four each; rows longer than 4096 need several rounds of 1024."""
    if looped:
        return 1 if size == "small" else 3 * rows, columns, 1024
    rows = rows if size == "small" else 5 * rows
    return rows, columns, up(up(columns, READS), 32) * 32


def _shares(x: Array) -> Array:
    exact = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(exact / exact.sum(-1, keepdims=True))


def _softmax(
    rng: np.random.Generator, size: Size, type: str, precise: bool, columns: int, looped: bool
) -> Work:
    """Sums are in the type of the array, or in float where it is to be precise."""
    rows, columns, threads = _sizes(size, 3, columns, looped)
    x = host.random(rng, type, (rows, columns), -6, 6)
    out = poisoned(x.shape, x.dtype)
    template = "softmax_looped" if looped else "softmax_single_row"
    parameters = (type, "float") if precise else (type,)
    grid = (rows * threads, 1, 1)
    step = launch("softmax.h", template, parameters, (x, out, columns), (threads, 1, 1), grid=grid)
    times = 1 if precise or type == "float" else 4 + int(columns**0.5)
    expected = _shares(host.double(x))
    return Work(
        (step,), (Output("out", out, expected, host.rounding(out, 24, times), ulps=summed(columns, 4)),)
    )


def _logsumexp(rng: np.random.Generator, size: Size, type: str, columns: int, looped: bool) -> Work:
    rows, columns, threads = _sizes(size, 3, columns, looped)
    x = host.random(rng, type, (rows, columns), -6, 6)
    out = poisoned(rows, x.dtype)
    grid = (rows * threads, 1, 1)
    template = "logsumexp_looped" if looped else "logsumexp"
    step = launch("logsumexp.h", template, (type,), (x, out, columns), (threads, 1, 1), grid=grid)
    wide = host.double(x)
    expected = np.log(np.exp(wide - wide.max(-1, keepdims=True)).sum(-1)) + wide.max(-1)
    return Work((step,), (Output("out", out, expected, host.rounding(out, 16), ulps=summed(columns)),))


def _cross_entropy(
    rng: np.random.Generator, size: Size, type: str, columns: int, looped: bool, vjp: bool
) -> Work:
    """Targets from both ends of a row; negative ones count from its end."""
    rows, columns, threads = _sizes(size, 4, columns, looped)
    x = host.random(rng, type, (rows, columns), -6, 6)
    targets = rng.integers(-columns, columns, rows, np.int32)
    wide = host.double(x)
    total = np.log(np.exp(wide - wide.max(-1, keepdims=True)).sum(-1)) + wide.max(-1)
    loss = total - wide[np.arange(rows), targets]
    grid = (rows * threads, 1, 1)
    if not vjp:
        out = poisoned(rows)
        arguments: tuple[Any, ...] = (x, targets, out, columns)
        result = Output("loss", out, loss, host.rounding(out, 16), ulps=summed(columns))
    else:
        given, out = rng.uniform(0.5, 2, rows).astype(np.float32), poisoned(x.shape, x.dtype)
        arguments = (x, targets, loss.astype(np.float32), given, out, columns)
        shares = np.exp(wide - total[:, None])
        shares[np.arange(rows), targets] -= 1
        result = Output("gradient", out, given[:, None] * shares, host.rounding(out, 16), ulps=0)
    template = "cross_entropy_vjp" if vjp else "cross_entropy"
    step = launch("cross_entropy.h", template, (type, "float"), arguments, (threads, 1, 1), grid=grid)
    return Work((step,), (result,))


def _dot(rng: np.random.Generator, size: Size, type: str, count: int) -> Work:
    """A partial product per threadgroup of 512, each of 16384 elements."""
    count = count if size == "small" else 6 * count + 3
    a, b = (host.random(rng, type, (count,), -1, 1) for _ in range(2))
    groups = up(count, 512 * 32)
    out = poisoned(groups)
    step = launch(
        "dot.h", "dot_product", (type, 32, 512, 16), (a, b, out, count), (512, 1, 1), (groups, 1, 1)
    )
    products = np.zeros(groups * 512 * 32)
    products[:count] = host.double(a) * host.double(b)
    expected = products.reshape(groups, -1).sum(-1)
    # The sum is small beside its terms: it is they that are rounded.
    allowed = 1.2e-7 * count**0.5 * np.abs(products).max() / max(np.abs(expected).max(), 1e-3) * 8
    return Work((step,), (Output("out", out, expected, float(allowed), ulps=summed(count) * 16),))


def cases() -> list[Case]:
    made = []
    for n, type in enumerate(host.FLOATS):
        for precise in (False, True) if type != "float" else (False,):
            for columns, looped in ((7, False), (130, False), (515, False), (4101, True)):
                name = f"softmax {type}{' precise' * precise} {columns}{' looped' * looped}"
                make = partial(_softmax, type=type, precise=precise, columns=columns, looped=looped)
                made.append(Case("mlx", "softmax", name, make))
        for columns, looped in ((5, False), (333, False), (4101, True)):
            name = f"logsumexp {type} {columns}{' looped' * looped}"
            made.append(
                Case("mlx", "softmax", name, partial(_logsumexp, type=type, columns=columns, looped=looped))
            )
            for vjp in (False, True):
                name = f"cross_entropy{'_vjp' * vjp} {type} {columns}{' looped' * looped}"
                make = partial(_cross_entropy, type=type, columns=columns, looped=looped, vjp=vjp)
                made.append(Case("mlx", "softmax", name, make))
        made.append(Case("mlx", "dot", type, partial(_dot, type=type, count=(1001, 2050, 17)[n])))
    return made
