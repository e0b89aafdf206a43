"""The kernel library beside numpy, MLX and PyTorch on the same processor.

Each operation with what must pass through memory and be computed at the least, so that every implementation is
measured with the same yardstick, whatever it really does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import metalloid.kernels as kernels
from metalloid.kernels import references
from metalloid.measure.kernel import Measurement, Work
from metalloid.measure.timing import Timing, timed

Array = np.ndarray[Any, Any]
Run = Callable[[], object]


@dataclass(frozen=True)
class Operation:
    """One operation of the library on arrays of one size."""

    name: str
    inputs: tuple[Array, ...]
    ours: Callable[..., Any]
    numpy: Callable[..., Any]
    mlx: str  # an expression over mx and the inputs a, b, c...; empty where MLX has none
    torch: str
    operations: int
    written: int  # bytes

    @property
    def work(self) -> Work:
        read = sum(a.nbytes for a in self.inputs)
        return Work(self.operations, read, self.written, read + self.written)


@dataclass(frozen=True)
class Comparison:
    """An operation of the library, and how long others took for it."""

    ours: Measurement
    others: dict[str, Timing]

    def faster(self, name: str) -> float:
        """How many times as long the other one takes."""
        return self.others[name].median / self.ours.timing.median


def _random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def operations() -> Iterator[Operation]:
    """Sizes of a small language model; float32."""
    n = 1024
    a, b = _random(n, n), _random(n, n)
    yield Operation(
        f"matmul {n}^3", (a, b), kernels.matmul, references.matmul, "a @ b", "a @ b", 2 * n**3, a.nbytes
    )
    m, v = _random(4096, 4096), _random(4096)
    yield Operation(
        "matvec 4096x4096", (m, v), kernels.matvec, lambda a, b: a @ b, "a @ b", "a @ b", 2 * m.size, v.nbytes
    )
    x, w = _random(1024, 4096), _random(4096)
    yield Operation(
        "rms_norm 1024x4096",
        (x, w),
        kernels.rms_norm,
        references.rms_norm,
        "mx.fast.rms_norm(a, b, 1e-5)",
        "torch.nn.functional.rms_norm(a, (4096,), b, 1e-5)",
        4 * x.size,
        x.nbytes,
    )
    yield Operation(
        "softmax 1024x4096",
        (x,),
        kernels.softmax,
        references.softmax,
        "mx.softmax(a, axis=-1)",
        "torch.softmax(a, -1)",
        5 * x.size,
        x.nbytes,
    )
    g, u = _random(1024, 4096), _random(1024, 4097)[:, :4096].copy()
    yield Operation(
        "swiglu 1024x4096",
        (g, u),
        kernels.swiglu,
        references.swiglu,
        "a * mx.sigmoid(a) * b",
        "torch.nn.functional.silu(a) * b",
        5 * g.size,
        g.nbytes,
    )
    q, k, values = _random(1, 8, 1, 64), _random(1, 2, 4096, 64), _random(1, 2, 4096, 64)
    yield Operation(
        "attention 1x4096",
        (q, k, values),
        kernels.attention,
        references.attention,
        "mx.fast.scaled_dot_product_attention(a, b, c, scale=0.125)",
        "torch.nn.functional.scaled_dot_product_attention(a, b, c, enable_gqa=True)",
        4 * q.size * 4096,
        q.nbytes,
    )


def compare(operation: Operation, seconds: float = 1.0) -> Comparison:
    """Time the library and whatever else is installed, in turns."""
    runs: dict[str, Run] = {
        "ours": lambda: operation.ours(*operation.inputs),
        "numpy": lambda: operation.numpy(*operation.inputs),
    }
    runs |= {name: run for name, run in (("MLX", _mlx(operation)), ("PyTorch", _torch(operation))) if run}
    timings = dict(zip(runs, timed(*runs.values(), seconds=seconds * len(runs)), strict=True))
    ours = Measurement(operation.name, timings.pop("ours"), operation.work)
    return Comparison(ours, timings)


def _installed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _mlx(operation: Operation) -> Run | None:
    mx = _installed("mlx.core")
    if mx is None or not operation.mlx:
        return None
    given = {name: mx.array(a) for name, a in zip("abcd", operation.inputs, strict=False)}
    code = compile(operation.mlx, operation.name, "eval")
    return lambda: mx.eval(eval(code, {"mx": mx, **given}))  # an expression of the table above


def _torch(operation: Operation) -> Run | None:
    torch = _installed("torch")
    if torch is None or not operation.torch:
        return None
    given = {name: torch.from_numpy(a) for name, a in zip("abcd", operation.inputs, strict=False)}
    code = compile(operation.torch, operation.name, "eval")
    return lambda: eval(code, {"torch": torch, **given})  # an expression of the table above
