"""A Llama of 1B parameters with random weights in q4_0, token by token: how much of the card's bandwidth it uses."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np

from metalloid.llama.config import Config
from metalloid.llama.formats import F32, Q4_0, Tensor
from metalloid.llama.model import Llama
from metalloid.llama.weights import Layer, Weights

# The shape of Llama 3.2 1B.
SHAPE = Config(
    *(16, 2048, 32, 8, 64, 8192, 128256, 4096, 1e-5),
    tuple(500000.0 ** (-n / 32) for n in range(32)),
    interleaved=False,
    tied=True,
)
BEFORE, STEPS = 64, 64  # tokens before the first that is timed, and tokens that are


def random_weights() -> tuple[Weights, int]:
    """Weights, and the bytes of them that one token reads."""
    rng = np.random.default_rng(1)
    total = 0

    def matrix(rows: int, columns: int) -> Tensor:
        nonlocal total
        blocks = rows * columns // 32
        data = rng.integers(0, 256, (blocks, 18), np.uint8)
        data[:, :2] = np.full(blocks, 0.02 * (2048 / columns) ** 0.5 / 4, np.float16)[:, None].view(np.uint8)
        total += data.nbytes
        return Tensor("random", Q4_0, (rows, columns), data.reshape(-1))

    def gain() -> Tensor:
        return Tensor("ones", F32, (SHAPE.width,), np.ones(SHAPE.width, np.float32).view(np.uint8))

    w, kv, h = SHAPE.width, SHAPE.kv_width, SHAPE.hidden
    layers = tuple(
        Layer(gain(), matrix(w, w), matrix(kv, w), matrix(kv, w), matrix(w, w), gain(), matrix(h, w), matrix(h, w),
              matrix(w, h))
        for _ in range(SHAPE.layers)
    )  # fmt: skip
    table = matrix(SHAPE.vocabulary, w)
    return Weights(SHAPE, table, layers, gain(), table, {}), total


def measured(bandwidth: float) -> dict[str, Any]:
    """Milliseconds of a token, and the share of `bandwidth` (bytes a second) that its weights make."""
    weights, total = random_weights()
    session = Llama(weights).session(BEFORE + STEPS + 8)
    session.prefill(list(range(1, BEFORE + 1)))
    token = session.choose()
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        token = session.step(token)
        times.append(time.perf_counter() - begin)
    seconds = median(times)
    return {"ms": seconds * 1e3, "gb": total / 1e9, "share": total / seconds / bandwidth}
