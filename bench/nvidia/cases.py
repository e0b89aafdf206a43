"""The kernels of the comparison: their memory, their launches, and what they move and compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Case:
    """`arguments` in the order of both languages; those in `outputs` are compared."""

    name: str
    arguments: Callable[[np.random.Generator], list[Any]]
    groups: Triple
    block: Triple
    bytes: float = 0.0  # that have to move
    flops: float = 0.0
    outputs: tuple[int, ...] = (1,)
    tolerance: float = 1e-5  # of the largest magnitude


def _floats(r: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return r.standard_normal(shape, np.float32)


def _out(*shape: int) -> np.ndarray[Any, Any]:
    return np.full(shape, np.nan, np.float32)


def _prices(r: np.random.Generator, n: int) -> list[Any]:
    between = [(5, 30), (1, 100), (0.25, 10)]
    given = [r.uniform(low, high, n).astype(np.float32) for low, high in between]
    return [*given, _out(n), _out(n), np.uint32(n)]


def _q4(r: np.random.Generator, rows: int, blocks: int) -> list[Any]:
    w = r.integers(0, 256, (rows, blocks, 18), np.uint8)
    w[:, :, :2] = (r.random((rows, blocks)) * 0.1).astype(np.float16)[..., None].view(np.uint8)
    return [w, _floats(r, blocks * 32), _out(rows), np.uint32(blocks)]


def _attention(r: np.random.Generator, heads: int, n: int) -> list[Any]:
    keys, values = (r.standard_normal((heads, n, 128), np.float32).astype(np.float16) for _ in range(2))
    return [_floats(r, heads, 128), keys, values, _out(heads, 128), np.uint32(n)]


N, ROWS, SIDE, BODIES, OPTIONS = 1 << 26, 16384, 8192, 32768, 1 << 25
Q, B, H, K = 32768, 128, 512, 4096
CASES = (
    Case("add", lambda r: [_floats(r, N), _floats(r, N), _out(N), np.uint32(N)], (N // 256, 1, 1), (256, 1, 1), 12.0 * N, outputs=(2,)),  # noqa: E501
    Case("rms_norm", lambda r: [_floats(r, ROWS, 4096), _floats(r, 4096), _out(ROWS, 4096), np.uint32(4096)], (ROWS, 1, 1), (256, 1, 1), 8.0 * ROWS * 4096, outputs=(2,)),  # noqa: E501
    Case("softmax", lambda r: [_floats(r, ROWS, 4096), _out(ROWS, 4096), np.uint32(4096)], (ROWS, 1, 1), (256, 1, 1), 8.0 * ROWS * 4096),  # noqa: E501
    Case("tree", lambda r: [_floats(r, N), _out(N // 2048)], (N // 2048, 1, 1), (256, 1, 1), 4.0 * N),
    Case("product16", lambda r: [_floats(r, 2048, 2048), _floats(r, 2048, 2048), _out(2048, 2048), np.uint32(2048)], (128, 128, 1), (16, 16, 1), flops=2.0 * 2048**3, outputs=(2,)),  # noqa: E501
    Case("product32", lambda r: [_floats(r, 2048, 2048), _floats(r, 2048, 2048), _out(2048, 2048), np.uint32(2048)], (64, 64, 1), (32, 32, 1), flops=2.0 * 2048**3, outputs=(2,)),  # noqa: E501
    Case("stencil", lambda r: [_floats(r, SIDE, SIDE), _out(SIDE, SIDE), np.uint32(SIDE)], (SIDE // 32, SIDE // 8, 1), (32, 8, 1), 8.0 * SIDE**2),  # noqa: E501
    Case("scan", lambda r: [_floats(r, N), _out(N)], (N // 1024, 1, 1), (1024, 1, 1), 8.0 * N),
    Case("histogram", lambda r: [r.integers(0, 256, N, np.uint8), np.zeros(256, np.uint32), np.uint32(N)], (1056, 1, 1), (256, 1, 1), 1.0 * N),  # noqa: E501
    Case("transpose", lambda r: [_floats(r, SIDE, SIDE), _out(SIDE, SIDE), np.uint32(SIDE)], (SIDE // 32, SIDE // 32, 1), (32, 8, 1), 8.0 * SIDE**2),  # noqa: E501
    Case("nbody", lambda r: [_floats(r, BODIES, 4), _out(BODIES, 4), np.uint32(BODIES)], (BODIES // 256, 1, 1), (256, 1, 1), flops=20.0 * BODIES**2),  # noqa: E501
    Case("black_scholes", lambda r: _prices(r, OPTIONS), (OPTIONS // 256, 1, 1), (256, 1, 1), 20.0 * OPTIONS, outputs=(3, 4)),  # noqa: E501
    Case("rope", lambda r: [_floats(r, 4096, 8192), _out(4096, 8192), r.random(4096, np.float32), np.uint32(4096)], (16, 4096, 1), (256, 1, 1), 8.0 * 4096 * 8192, tolerance=1e-4),  # noqa: E501
    Case("q4_0", lambda r: _q4(r, Q, B), (Q // 4, 1, 1), (128, 1, 1), 18.0 * Q * B, outputs=(2,)),
    Case("attention", lambda r: _attention(r, H, K), (H, 1, 1), (256, 1, 1), 512.0 * H * K, outputs=(3,)),
)  # fmt: skip
