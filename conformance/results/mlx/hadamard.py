"""Hadamard transforms: powers of two in threadgroup memory, strided for longer ones, and 12 times a power of two."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Any

import numpy as np

from conformance.mlx_headers import KERNELS, hadamard_12, hadamard_radix_m, include_folder
from conformance.results.case import Argument, Array, Case, Output, Size, Step, Triple, Work, poisoned, summed
from conformance.results.mlx import host
from conformance.results.mlx.templates import spelled
from metalloid.source import Source

READ = 4  # elements that a thread reads at once


def matrix(n: int) -> Array:
    """Sylvester's, for a power of two."""
    made = np.ones((1, 1))
    while len(made) < n:
        made = np.kron(np.array([[1, 1], [1, -1]]), made)
    return made


@cache
def _source(name: str, instance: str) -> Source:
    lines = [f'#include "{KERNELS}/utils.h"', hadamard_radix_m(), f'#include "{KERNELS}/hadamard.h"']
    lines.append(f'template [[host_name("{name}")]] [[kernel]] decltype({instance}) {instance};')
    return Source("\n".join(lines) + "\n", name="hadamard.h", include=(include_folder(),), math="safe")


def _step(
    template: str, parameters: tuple[Any, ...], arguments: tuple[Argument, ...], group: Triple, grid: Triple
) -> Step:
    listed = ", ".join(map(spelled, parameters))
    name = re.sub(r"\W+", "_", f"{template}_{listed}")
    return Step(_source(name, f"{template}<{listed}>"), name, arguments, group, grid=grid)


def _allowed(out: Array, n: int, passes: int) -> tuple[float, float]:
    """Between its passes it is kept in the type of the array."""
    return host.rounding(out, 2 + n.bit_length(), passes + 1), summed(n.bit_length())


def _power(rng: np.random.Generator, size: Size, type: str, n: int, scale: float) -> Work:
    rows = 3 if size == "small" else 40
    x = host.random(rng, type, (rows, n))
    out = poisoned(x.shape, x.dtype)
    radix = min(n, 16)
    threads = n // radix
    read = 2 if n == 2 else READ
    step = _step("hadamard_n", (type, n, radix, read), (x, out, scale), (threads, 1, 1), (threads, rows, 1))
    tolerance, ulps = _allowed(out, n, 1 + n.bit_length() // 4)
    return Work((step,), (Output("out", out, host.double(x) @ matrix(n) * scale, tolerance, ulps=ulps),))


def _strided(rng: np.random.Generator, size: Size, type: str, n: int, stride: int) -> Work:
    """Along an axis whose elements lie `stride` apart."""
    rows = 2 if size == "small" else 9
    x = host.random(rng, type, (rows, n, stride))
    out = poisoned(x.shape, x.dtype)
    threads = n // min(n, 16)
    grid = (threads, rows, stride)
    step = _step("hadamard_n", (type, n, min(n, 16), READ, stride), (x, out, 1.0), (threads, 1, 1), grid)
    expected = np.einsum("rns,nm->rms", host.double(x), matrix(n))
    tolerance, ulps = _allowed(out, n, 1 + n.bit_length() // 4)
    return Work((step,), (Output("out", out, expected, tolerance, ulps=ulps),))


def _twelve(rng: np.random.Generator, size: Size, type: str, n: int) -> Work:
    """Powers of two first, then 12 of those at a time."""
    rows = 2 if size == "small" else 20
    x = host.random(rng, type, (rows, 12, n))
    between, out = poisoned(x.shape, x.dtype), poisoned(x.shape, x.dtype)
    radix = min(n, 16)
    scale = (12 * n) ** -0.5
    first = _step(
        "hadamard_n",
        (type, n, radix, READ),
        (x, between, 1.0),
        (n // radix, 1, 1),
        (n // radix, 12 * rows, 1),
    )
    threads = min(n // READ, 256)
    grid = (x.size // 12 // READ // threads, threads, 1)
    second = _step("hadamard_m", (type, n, 12, READ), (between, out, scale), (1, threads, 1), grid)
    expected = np.einsum("mk,rkn->rmn", np.array(hadamard_12()), host.double(x) @ matrix(n)) * scale
    tolerance, ulps = _allowed(out, 12 * n, 2 + n.bit_length() // 4)
    return Work((first, second), (Output("out", out, expected, tolerance, ulps=ulps + 4),))


def cases() -> list[Case]:
    made = []
    for m, type in enumerate(host.FLOATS):
        for n in ((4, 64), (16, 256), (8, 128))[m]:
            make = partial(_power, type=type, n=n, scale=n**-0.5)
            made.append(Case("mlx", "hadamard", f"{n} {type}", make))
        n, stride = ((64, 3), (16, 5), (128, 2))[m]
        make = partial(_strided, type=type, n=n, stride=stride)
        made.append(Case("mlx", "hadamard", f"{n} {type} stride {stride}", make))
        n = (32, 4, 64)[m]
        made.append(Case("mlx", "hadamard", f"12x{n} {type}", partial(_twelve, type=type, n=n)))
    return made
