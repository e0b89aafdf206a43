"""Steps that launch an instance of one of MLX's kernel templates, and the arrays such launches take.

An instance is compiled from a source of its own: the headers, and one line that names its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from conformance.instantiations import NAX, ROWS
from conformance.mlx_headers import KERNELS, include_folder
from conformance.results.case import Argument, Array, Step, Triple
from metalloid.source import Constant, Source

TYPES = ("float", "float16_t", "bfloat16_t")
DTYPES = {
    "float": np.dtype(np.float32),
    "float16_t": np.dtype(np.float16),
    "bfloat16_t": np.dtype(ml_dtypes.bfloat16),
    "complex64_t": np.dtype(np.complex64),
    "bool": np.dtype(np.bool_),
}
SHORT = {"float": "f32", "float16_t": "f16", "bfloat16_t": "bf16", "complex64_t": "c64"}
BEFORE = {header: before for header, before, _ in (*ROWS, *NAX)}


@cache
def source(header: str, template: str, parameters: str) -> tuple[Source, str]:
    """The source of an instance, and the name it has there."""
    lines = [f'#include "{KERNELS}/{part}"' for part in (*BEFORE[header], header)]
    name = re.sub(r"\W+", "_", f"{template}_{parameters}").strip("_")
    instance = f"{template}<{parameters}>"
    lines.append(f'template [[host_name("{name}")]] [[kernel]] decltype({instance}) {instance};')
    text = "\n".join(lines) + "\n"
    return Source(text, name=header, include=(include_folder(),), math="safe"), name


def launch(
    header: str,
    template: str,
    parameters: tuple[Any, ...],
    arguments: tuple[Argument, ...],
    threadgroup: Triple,
    threadgroups: Triple | None = None,
    grid: Triple | None = None,
    constants: Mapping[str | int, Constant] | None = None,
) -> Step:
    made, name = source(header, template, ", ".join(map(spelled, parameters)))
    return Step(made, name, arguments, threadgroup, threadgroups, grid, constants=constants or {})


def spelled(parameter: Any) -> str:
    """A template argument as C++ has it."""
    return str(parameter).lower() if isinstance(parameter, bool) else str(parameter)


def normal(rng: np.random.Generator, type: str, *shape: int, scale: float = 1.0) -> Array:
    return (rng.standard_normal(shape) * scale).astype(DTYPES[type])


def values(array: Array) -> Array:
    """The numbers of an array, in double precision."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


def longs(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def indices(*numbers: int) -> Array:
    return np.array(numbers, np.uint32)


def strides(array: Array) -> tuple[int, ...]:
    """In elements."""
    return tuple(s // array.itemsize for s in array.strides)


def up(number: int, to: int) -> int:
    """How many times `to` covers `number`."""
    return -(-number // to)


def block_dims(*sizes: int, power: int = 10) -> Triple:
    """The threadgroup that MLX takes for a grid: axes doubled in turn, up to two to the `power`."""
    found, grown = [0, 0, 0], 0
    while True:
        before = grown
        for axis in range(3):
            if sizes[axis] >= 1 << (found[axis] + 1):
                found[axis] += 1
                grown += 1
            if grown == power:
                break
        if grown in (before, power):
            return 1 << found[0], 1 << found[1], 1 << found[2]


def followed(array: Array, count: int) -> Array:
    """The array's numbers in memory, and `count` of NaN behind them: what a kernel reads there must not matter."""
    return np.concatenate([array.reshape(-1), np.full(count, np.nan, array.dtype)])
