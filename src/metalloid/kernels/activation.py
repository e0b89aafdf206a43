"""Activations: SiLU, GELU and the gated SwiGLU; and how changes go through them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from metalloid.kernels.arrays import Array, empty, float_name, has_shape, rows, same_dtype, taken
from metalloid.kernels.families import kernel

THREADS = 256  # of every threadgroup, whatever is left at the end of a row: one size is compiled once


def silu(x: Any) -> Any:
    """x * sigmoid(x)."""
    return _run("silu", "silu", x)


def gelu(x: Any, tanh: bool = False) -> Any:
    """x times the share of a normal distribution below x; `tanh` takes the approximation of that name."""
    return _run("gelu", "gelu_tanh" if tanh else "gelu", x)


def swiglu(gate: Any, up: Any) -> Any:
    """silu(gate) * up."""
    return _run("swiglu", "swiglu", gate, up=up)


def silu_slope(x: Any, change: Any) -> Any:
    """change * silu'(x): the vjp and the jvp of silu."""
    return _run("silu_slope", "silu_slope", x, change=change)


def gelu_slope(x: Any, change: Any, tanh: bool = False) -> Any:
    """change * gelu'(x)."""
    return _run("gelu_slope", "gelu_tanh_slope" if tanh else "gelu_slope", x, change=change)


def swiglu_vjp(gate: Any, up: Any, change: Any) -> tuple[Any, Any]:
    """What a change of the result asks of gate and up."""
    to_gate, to_up = _run("swiglu_vjp", "swiglu_vjp", gate, results=2, up=up, change=change)
    return to_gate, to_up


def _run(operation: str, name: str, first: Any, results: int = 1, **others: Any) -> Any:
    give, arrays = taken(operation, first, *others.values())
    a = arrays[0]
    kind = float_name(operation, a)
    for what, array in zip(others, arrays[1:], strict=True):
        has_shape(operation, what, array, a.shape)
        same_dtype(operation, a, **{what: array})
    outs = [empty(a.shape, a.dtype) for _ in range(results)]
    if a.size:
        if all(array.flags.c_contiguous for array in arrays):  # one long row
            n, count, memory, strides = a.size, 1, arrays, [0] * len(arrays)
        else:
            n, count = a.shape[-1], a.size // a.shape[-1]
            memory, strides = _apart(arrays)
        packed = struct.pack("4I", n, *[*strides, 0, 0][:3])
        kernel("activation", f"{name}_{kind}")(
            *memory,
            *outs,
            np.frombuffer(bytearray(packed), np.uint8),
            threadgroups=(-(-n // THREADS), count),
            threadgroup=(THREADS, 1),
        )
    given = tuple(map(give, outs))
    return given if results > 1 else given[0]


def _apart(arrays: list[Array]) -> tuple[list[Array], list[int]]:
    found = [rows(array) for array in arrays]
    return [memory for memory, _ in found], [stride for _, stride in found]
