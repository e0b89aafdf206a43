"""Fourier transforms: mixed radices, Rader's and Bluestein's for large primes, four steps for long ones.

The plan of a length is the host's: how often each radix is used, how many elements a thread has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Step, Work, poisoned, summed
from conformance.results.mlx import host
from conformance.results.mlx.templates import launch, source, up

HEADER = "fft.h"
RADICES = (13, 11, 8, 7, 6, 5, 4, 3, 2)  # by preference
FLOAT, COMPLEX = "float", "float2"


def _factors(n: int) -> list[int]:
    found, z = [], 2
    while z * z <= n:
        while n % z == 0:
            found.append(z)
            n //= z
        z += 1
    return found + [n] * (n > 1)


def _steps(n: int) -> tuple[int, ...]:
    """How often each radix is used; powers of two below 512 go by 4 and 2."""
    whole = n
    counts = []
    for radix in RADICES:
        skip = whole & (whole - 1) == 0 and whole < 512 and radix > 4
        count = 0
        while not skip and n > 1 and n % radix == 0:
            n //= radix
            count += 1
        counts.append(count)
    assert n == 1, f"{whole} has other factors than the radices"
    return tuple(counts)


@dataclass(frozen=True)
class Plan:
    n: int
    steps: tuple[int, ...]
    rader: int = 1  # the prime that is done by Rader's algorithm
    rader_steps: tuple[int, ...] = (0,) * len(RADICES)
    bluestein: int = 0  # the power of two that a length is padded to

    @property
    def length(self) -> int:
        return self.bluestein or self.n

    @property
    def each(self) -> int:
        """Elements per thread."""
        used = {r for r, count in zip(RADICES * 2, self.steps + self.rader_steps, strict=True) if count}
        if 7 in used and used & {11, 13}:
            return 7
        if {11, 13} <= used:
            return 11
        if len(used) == 2 and used & {11, 13}:
            return sum(used) // 2
        return sorted(used)[min(1, len(used) - 1)]

    @property
    def batch(self) -> int:
        """Transforms per threadgroup."""
        return max(256 // self.length, 1)

    def constants(self, inverse: bool) -> Mapping[str | int, Any]:
        power = self.length & (self.length - 1) == 0
        made: dict[str | int, Any] = {0: inverse, 1: power, 2: self.each, 3: self.n // self.rader, 22: False}
        return made | {4 + n: count for n, count in enumerate(self.steps + self.rader_steps)}


def plan(n: int) -> Plan:
    other = [f for f in _factors(n) if f not in RADICES]
    padded = 1 << (2 * n - 2).bit_length()
    if len(other) > 1 or any(f not in RADICES for p in other for f in _factors(p - 1)):
        return Plan(n, _steps(padded), bluestein=padded)
    if other:
        return Plan(n, _steps(n // other[0]), other[0], _steps(other[0] - 1))
    return Plan(n, _steps(n))


def memory(count: int) -> int:
    """Elements of threadgroup memory: a power of two."""
    return 1 << (count - 1).bit_length()


def rader_tables(p: int) -> tuple[Array, Array, Array]:
    """Powers of a primitive root, those of its inverse, and the transform of the roots of unity in that order."""
    root = next(r for r in range(2, p) if all(pow(r, (p - 1) // f, p) != 1 for f in set(_factors(p - 1))))
    forth = np.array([pow(root, i, p) for i in range(p - 1)], np.int16)
    back = np.array([pow(pow(root, p - 2, p), i, p) for i in range(p - 1)], np.int16)
    turned = np.fft.fft(np.exp(-2j * np.pi / p * back.astype(np.float64)))
    return turned.astype(np.complex64), forth, back


def bluestein_tables(n: int, padded: int) -> tuple[Array, Array]:
    """The transform of the inverse chirp, and the chirp."""
    squares = np.arange(-n + 1, n, dtype=np.float64) ** 2 / n
    chirp = np.exp(-1j * np.pi * squares)
    inverse = np.zeros(padded, np.complex128)
    inverse[: 2 * n - 1] = 1 / chirp
    return np.fft.fft(inverse).astype(np.complex64), chirp[-n:].astype(np.complex64)


def _data(
    rng: np.random.Generator, rows: int, n: int, inverse: bool, real: bool
) -> tuple[Array, Array, Array]:
    """Input, output and what it must be; half a spectrum is enough for real numbers."""
    full = host.random(rng, "complex64_t", (rows, n))
    if real and inverse:
        half = np.fft.rfft(full.real.astype(np.float64)).astype(np.complex64)
        return half, poisoned((rows, n)), np.fft.irfft(host.double(half), n)
    if real:
        x = full.real.copy()
        return x, poisoned((rows, n // 2 + 1), np.complex64), np.fft.rfft(host.double(x))
    transform = np.fft.ifft if inverse else np.fft.fft
    return full, poisoned((rows, n), np.complex64), transform(host.double(full))


def _fft(rng: np.random.Generator, size: Size, n: int, rows: int, inverse: bool, real: bool) -> Work:
    """Rows of complex numbers; real ones are done two at a time. No rows: as many as a threadgroup takes."""
    chosen = plan(n)
    rows = (rows or chosen.batch * (1 + real)) * (1 if size == "small" else 9)
    x, out, expected = _data(rng, rows, n, inverse, real)
    x, out = (_roomy(array, chosen) for array in (x, out))
    kinds = (FLOAT if x.dtype.kind == "f" else COMPLEX, FLOAT if out.dtype.kind == "f" else COMPLEX)
    step = _step(chosen, x, out, rows, kinds, inverse, 2 if real else 1)
    spread = 3e-7 * (2 + n.bit_length()) * (8 if chosen.bluestein else 1)
    return Work(
        (step,), (Output("out", out, expected, spread, lambda a: a[:rows], summed(chosen.length, 8)),)
    )


def _roomy(array: Array, chosen: Plan) -> Array:
    """Rows for whole threadgroups, and as much again as is padded: where there are fewer rows, or the padding begins,
    the kernels read (and write) past the end, as docs/found-in-the-wild.md tells."""
    rows = up(len(array), chosen.batch) * chosen.batch + up(chosen.length, array.shape[1])
    room = poisoned((rows, *array.shape[1:]), array.dtype)
    room[: len(array)] = array
    return room


def _step(
    chosen: Plan, x: Array, out: Array, rows: int, kinds: tuple[str, str], inverse: bool, paired: int
) -> Step:
    threads, batch = up(chosen.length, chosen.each), chosen.batch
    groups = up(up(rows, batch), paired)
    if chosen.bluestein:
        template = "bluestein_fft"
        arguments: tuple[Any, ...] = (
            *bluestein_tables(chosen.n, chosen.bluestein),
            chosen.n,
            chosen.bluestein,
            rows,
        )
    elif chosen.rader > 1:
        template = "rader_fft"
        arguments = (*rader_tables(chosen.rader), chosen.n, rows, chosen.rader)
    else:
        template, arguments = "fft", (chosen.n, rows)
    return launch(
        HEADER,
        template,
        (memory(batch * chosen.length), *kinds),
        (x, out, *arguments),
        (1, batch, threads),
        grid=(groups, batch, threads),
        constants=chosen.constants(inverse),
    )


def _four_steps(rng: np.random.Generator, size: Size, rows: int, inverse: bool, real: bool) -> Work:
    """Transforms along the columns of an n1 x n2 matrix, a twist, and along its rows."""
    n1, n2 = (64, 16) if size == "small" else (128, 64)
    n = n1 * n2
    x, out, expected = _data(rng, rows, n, inverse, real)
    between = poisoned((rows, n), np.complex64)
    steps = []
    for number, (length, source_, target) in enumerate(((n1, x, between), (n2, between, out))):
        chosen = plan(length)
        threads, batch = up(length, chosen.each), max(chosen.batch, 4)
        kinds = tuple(FLOAT if a.dtype.kind == "f" else COMPLEX for a in (source_, target))
        many = rows * n // length
        steps.append(
            launch(
                HEADER,
                "four_step_fft",
                (memory(batch * length), *kinds, number, real),
                (source_, target, n1, n2, many),
                (1, batch, threads),
                grid=(up(many, batch), batch, threads),
                constants=chosen.constants(inverse),
            )
        )
    return Work(tuple(steps), (Output("out", out, expected, 6e-6, ulps=summed(n, 8)),))


def _twiddles(rng: np.random.Generator, size: Size) -> Work:
    """Roots of unity for the radix-8 stages of a transform of 4096."""
    out = poisoned(8 + 64 + 512, np.complex64)
    text, _ = source(HEADER, "fft", "256, float2, float2")
    step = Step(text, "generate_bluestein_twiddles", (out,), (out.size, 1, 1), grid=(out.size, 1, 1))
    parts = [np.exp(-2j * np.pi * np.arange(p) / (8 * p)) for p in (8, 64, 512)]
    return Work((step,), (Output("twiddles", out, np.concatenate(parts), 4e-7, ulps=0),))


def cases() -> list[Case]:
    made = []
    lengths = (4, 8, 15, 28, 33, 60, 64, 91, 100, 143, 256, 512)
    primes = (17, 34, 51, 76, 29, 47, 59, 94)  # the last three by Bluestein's algorithm
    for m, n in enumerate((*lengths, *primes)):
        for rows, inverse in (((3, 5, 1, 4)[m % 4], m % 2 == 1), (0, m % 2 == 0)):
            name = f"{'ifft' if inverse else 'fft'} {n} of {rows or 'a threadgroup'}"
            made.append(Case("mlx", "fft", name, partial(_fft, n=n, rows=rows, inverse=inverse, real=False)))
    for m, n in enumerate((16, 30, 49, 64, 34, 17, 47, 120)):
        for rows, inverse in ((5, m % 2 == 1), (0, m % 2 == 0)):
            name = f"{'irfft' if inverse else 'rfft'} {n} of {rows or 'a threadgroup'}"
            made.append(Case("mlx", "fft", name, partial(_fft, n=n, rows=rows, inverse=inverse, real=True)))
    for inverse in (False, True):
        for real in (False, True):
            name = f"four steps {'inverse' * inverse} {'real' * real}".strip()
            made.append(Case("mlx", "fft", name, partial(_four_steps, rows=2, inverse=inverse, real=real)))
    made.append(Case("mlx", "fft", "twiddles", _twiddles))
    return made
