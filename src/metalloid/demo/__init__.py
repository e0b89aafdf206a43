"""The kernels that `metalloid demo` runs, each with its inputs, its reference and what it moves and computes.

They are the ones that returned zeros where this project comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """One kernel: how it is launched and what must come out."""

    kernel: str
    arguments: Mapping[str, Any]
    output: str  # the argument that holds the result
    expected: Array
    grid: tuple[int, ...]
    threadgroup: tuple[int, ...]
    moved: int  # bytes
    operations: int  # floating-point
    threadgroup_memory: Mapping[int, int] = field(default_factory=dict)
    tolerance: float = 0.0  # relative

    def fresh(self) -> dict[str, Any]:
        """Arguments for one launch; arrays are copies, so that a case can run again."""
        return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.arguments.items()}


def poisoned(shape: int | tuple[int, ...], dtype: str = "float32") -> Array:
    """An output that nobody could mistake for a result."""
    array = np.empty(shape, dtype)
    array.view(np.uint8)[...] = 0xCD
    return array


def _thread_ids() -> Case:
    out = poisoned(10, "uint32")
    return Case("thread_ids", {"out": out}, "out", np.arange(10, dtype="uint32"), (10,), (10,), 40, 0)


def _vector_add() -> Case:
    i = np.arange(1 << 22, dtype="float32")
    a, b = i * np.float32(2.5), i * np.float32(1.5)
    arguments = {"a": a, "b": b, "out": poisoned(a.size)}
    return Case("vector_add", arguments, "out", a + b, (a.size,), (256,), 12 * a.size, a.size)


def _scalar_multiply() -> Case:
    a = np.sin(0.1 * np.arange(1 << 22)).astype("float32")
    arguments = {"a": a, "scalar": 3.14, "out": poisoned(a.size)}
    expected = a * np.float32(3.14)
    return Case("scalar_multiply", arguments, "out", expected, (a.size,), (256,), 8 * a.size, a.size)


def _sum_reduction() -> Case:
    ones = np.ones(4096, "float32")
    arguments = {"in": ones, "out": np.zeros(1, "float32"), "n": ones.size}
    expected = np.array([4096], "float32")
    return Case("sum_reduction", arguments, "out", expected, (4096,), (256,), 4 * 4096, 4096, {0: 1024})


def _matrix_multiply() -> Case:
    a, b = np.random.default_rng(0).standard_normal((2, 64, 64)).astype("float32")
    arguments = {"a": a, "b": b, "out": poisoned((64, 64)), "size": (64, 64, 64)}
    return Case(
        "matrix_multiply",
        arguments,
        "out",
        a @ b,
        (64, 64),
        (16, 16),
        3 * 4 * 64**2,
        2 * 64**3,
        tolerance=1e-4,
    )


def _double_in_place() -> Case:
    x = np.random.default_rng(1).standard_normal(1 << 20).astype("float32")
    return Case("double_in_place", {"x": x}, "x", x * 2, (x.size,), (256,), 8 * x.size, x.size)


def _rms_norm() -> Case:
    rows, width = 512, 4096
    x = np.random.default_rng(2).standard_normal((rows, width)).astype("float32")
    weight = np.linspace(0.5, 1.5, width, dtype="float32")
    scale = 1 / np.sqrt((x.astype("float64") ** 2).mean(1, keepdims=True) + 1e-5)
    arguments = {"x": x, "weight": weight, "out": poisoned(x.shape), "width": width, "eps": 1e-5}
    return Case(
        "rms_norm",
        arguments,
        "out",
        x * scale * weight,
        (rows * 256,),
        (256,),
        8 * x.size,
        4 * x.size,
        tolerance=1e-5,
    )


CASES: tuple[Callable[[], Case], ...] = (
    _thread_ids,
    _vector_add,
    _scalar_multiply,
    _sum_reduction,
    _matrix_multiply,
    _double_in_place,
    _rms_norm,
)
