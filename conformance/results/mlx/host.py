"""What MLX's host code does before a launch: types, strided views, grids, and names for all of it."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from conformance.results.case import Array, Triple

TYPES = {
    "float": np.dtype(np.float32),
    "half": np.dtype(np.float16),
    "float16_t": np.dtype(np.float16),
    "bfloat16_t": np.dtype(ml_dtypes.bfloat16),
    "complex64_t": np.dtype(np.complex64),
    "bool": np.dtype(np.bool_),
    **{f"{u}int{b}_t": np.dtype(f"{u}int{b}") for u in ("", "u") for b in (8, 16, 32, 64)},
}
FLOATS = ("float", "half", "bfloat16_t")
SIGNED = ("int8_t", "int16_t", "int32_t", "int64_t")
UNSIGNED = ("uint8_t", "uint16_t", "uint32_t", "uint64_t")
INTEGERS = SIGNED + UNSIGNED
# Relative to the largest magnitude: half a rounding to the type, and a few of float32 on the way.
ROUNDING = {"float32": 2.5e-7, "float16": 5.5e-4, "bfloat16": 4.2e-3, "complex64": 2.5e-7}


def rounding(array: Array, ulps: float = 1.0, times: int = 1) -> float:
    """The tolerance of a value that is computed in float32, within so many ulps, and rounded to the type, where
    intermediate results are of the type as well so many times."""
    base = ROUNDING.get(array.dtype.name, 0.0)
    return base * times + (ulps - 1) * 1.2e-7 if base else 0.0


def double(array: Array) -> Array:
    """The numbers of an array, as exactly as numpy can hold them."""
    kind = array.dtype.kind
    if kind in "iub":
        return array
    return array.astype(np.complex128 if kind == "c" else np.float64)


def random(
    rng: np.random.Generator, type: str, shape: tuple[int, ...], low: float = -4, high: float = 4
) -> Array:
    """Numbers of the type: floats between the limits, integers over a good part of their range."""
    dtype = TYPES[type]
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(max(limits.min, -100), min(limits.max, 100), shape, dtype)
    if dtype.kind == "c":
        parts = rng.uniform(low, high, (*shape, 2))
        return (parts[..., 0] + 1j * parts[..., 1]).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


@dataclass(frozen=True)
class View:
    """An array as a kernel sees it: memory, and strides in elements from an offset."""

    memory: Array
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def array(self) -> Array:
        """The elements, in their order."""
        start = self.memory.reshape(-1)[self.offset :]
        steps = tuple(s * self.memory.itemsize for s in self.strides)
        return np.lib.stride_tricks.as_strided(start, self.shape, steps)


def transposed(memory: Array) -> View:
    """The axes of a whole array in the opposite order."""
    flipped = memory.T
    return View(memory, flipped.shape, tuple(s // memory.itemsize for s in flipped.strides))


def spaced(memory: Array, step: int = 2) -> View:
    """Every second element of the last axis."""
    strides = [s // memory.itemsize for s in memory.strides]
    shape = (*memory.shape[:-1], memory.shape[-1] // step)
    return View(memory, shape, (*strides[:-1], strides[-1] * step))


def broadcast(memory: Array, shape: tuple[int, ...]) -> View:
    wide = np.broadcast_to(memory, shape)
    return View(memory, shape, tuple(s // memory.itemsize for s in wide.strides))


def reversed_(memory: Array) -> View:
    """Every axis from its end: negative strides."""
    back = memory[tuple(slice(None, None, -1) for _ in memory.shape)]
    return View(memory, memory.shape, tuple(s // memory.itemsize for s in back.strides), memory.size - 1)


def longs(numbers: tuple[int, ...]) -> Array:
    return np.array(numbers or (0,), np.int64)


def ints(numbers: tuple[int, ...]) -> Array:
    return np.array(numbers or (0,), np.int32)


def block(*sizes: int) -> Triple:
    """The threadgroup MLX takes for a grid: its axes doubled in turn, while they fit, up to 1024 threads."""
    powers = [0, 0, 0]
    grew = True
    while grew and sum(powers) < 10:
        grew = False
        for axis, size in enumerate(sizes):
            if sum(powers) < 10 and size >= 2 << powers[axis]:
                powers[axis] += 1
                grew = True
    return 1 << powers[0], 1 << powers[1], 1 << powers[2]


def plane(shape: tuple[int, ...], work: int = 1) -> tuple[Triple, Triple]:
    """Grid and threadgroup over a shape: last axis, the one before, all others; threads do `work` of the last."""
    last = shape[-1] if shape else 1
    before = shape[-2] if len(shape) > 1 else 1
    rest = int(np.prod(shape[:-2], dtype=np.int64)) if len(shape) > 2 else 1
    grid = (-(-last // work), before, rest)
    return grid, block(*grid)


def line(count: int, work: int = 1) -> tuple[Triple, Triple]:
    """Grid and threadgroup over elements in a row."""
    threads = -(-count // work)
    return (threads, 1, 1), (min(1024, threads), 1, 1)


def folded(count: int, work: int = 1) -> tuple[Triple, Triple]:
    """A grid of two axes for as many threads, as arrays of more than 2^32 elements have: here of 7 rows."""
    threads = -(-count // work)
    assert threads % 7 == 0, f"{count} elements do not make 7 rows"
    return (threads // 7, 7, 1), (min(1024, threads // 7), 1, 1)


def work_per_thread(type: str) -> int:
    return max(1, 8 // int(TYPES[type].itemsize))
