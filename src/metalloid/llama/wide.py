"""A token's launches on a device with memory of its own, which runs thousands of threads at once (wide.metal).

There a launch costs more than most of what a token needs, so a layer is five of them, and each uses all the device has.
Weights in q4_0 are kept in another order: eight blocks together, so that a lane loads 16 bytes at once.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from metalloid.kernels.families import target
from metalloid.llama.buffers import PARTS, Buffers
from metalloid.llama.config import Config
from metalloid.llama.formats import Array
from metalloid.llama.layers import Layer, Matrix
from metalloid.llama.own_kernels import own_kernel
from metalloid.runtime.recording import Recording

FORMAT = "q4_0x8"
SIMDS, THREADS = 8, 256  # of a threadgroup
MOST = 8192  # floats that threadgroup memory has room for
_BLOCK, _TOGETHER = 18, 8  # bytes of a block, and the blocks that are kept together


_kernel = partial(own_kernel, "wide.metal")


def apart() -> bool:
    """Whether the device is one of those."""
    return not target().backend.unified


def suits(config: Config) -> bool:
    """Whether a model's weights are regrouped: what is normed on its way into a product must fit at once."""
    return apart() and config.width < MOST


def regrouped(data: Array, columns: int) -> Array | None:
    """Weights in q4_0 as FORMAT has them; None where rows have no multiple of eight blocks."""
    if columns % (32 * _TOGETHER):
        return None
    groups = data.reshape(-1, _TOGETHER, _BLOCK)
    return np.concatenate(
        [
            groups[:, :, 2:].reshape(len(groups), -1),
            np.ascontiguousarray(groups[:, :, :2]).reshape(len(groups), -1),
        ],
        axis=1,
    ).reshape(-1)


def heads_fit(layer: Layer, config: Config) -> bool:
    """Whether queries, keys and values can be one launch, and attention too."""
    return layer.qkv is not None and attends(config)


def attends(config: Config) -> bool:
    return config.head <= 256 and config.head % 2 == 0


def heads(run: Recording, layer: Layer, b: Buffers, n: int, shape: dict[str, int], config: Config) -> None:
    """Queries, and what goes into the cache of layer `n`."""
    pairs = (config.heads + 2 * config.kv_heads) * config.head // 2
    assert layer.qkv is not None
    run.add(
        _kernel(f"norm_heads_{FORMAT}"),
        *(layer.qkv, b.x[0], layer.attention_norm),
        *(b.q[0], b.keys[n], b.values[n], b.turns, shape, b.place, config.width, config.eps),
        threadgroups=_groups(pairs, SIMDS),
        threadgroup=THREADS,
        threadgroup_memory={0: 4 * config.width},
    )


def attend(run: Recording, layer: Layer, b: Buffers, n: int, shape: dict[str, int], config: Config) -> None:
    run.add(
        _kernel("attend"),
        *(b.q[0], b.keys[n], b.values[n], b.scores[0], b.mixed[0], shape, b.place),
        threadgroups=config.heads,
        threadgroup=1024,
    )


def gate_up(run: Recording, gate: Matrix, up: Matrix, x: Array, gain: Array, out: Array, eps: float) -> None:
    run.add(
        _kernel(f"norm_gate_up_{FORMAT}"),
        *(gate.data, up.data, x, gain, out, gate.rows, gate.columns, eps),
        threadgroups=_groups(gate.rows, 2 * SIMDS),
        threadgroup=THREADS,
        threadgroup_memory={0: 4 * gate.columns},
    )


def project(run: Recording, matrix: Matrix, x: Array, gain: Array, out: Array, eps: float) -> None:
    run.add(
        _kernel(f"norm_matvec_{FORMAT}"),
        *(matrix.data, x, gain, out, matrix.rows, matrix.columns, eps),
        threadgroups=_groups(matrix.rows, 4 * SIMDS),
        threadgroup=THREADS,
        threadgroup_memory={0: 4 * matrix.columns},
    )


def multiply_add(run: Recording, matrix: Matrix, x: Array, out: Array) -> None:
    """As many launches as the input has parts that fit into threadgroup memory."""
    for start in range(0, matrix.columns, MOST):
        count = min(MOST, matrix.columns - start)
        run.add(
            _kernel(f"matvec_add_{FORMAT}"),
            *(matrix.data, x, out, matrix.rows, matrix.columns, start, count),
            threadgroups=_groups(matrix.rows, SIMDS),
            threadgroup=THREADS,
            threadgroup_memory={0: 4 * count},
        )


def sample(run: Recording, b: Buffers) -> None:
    count = len(b.logits)
    stretch = _groups(count, PARTS)
    parts = _groups(count, stretch)
    run.add(
        _kernel("largest"),
        *(b.logits, b.best, b.best_at, count, stretch),
        threadgroups=parts,
        threadgroup=THREADS,
    )
    run.add(
        _kernel("choose"),
        *(b.logits, b.kept, b.token, count, b.choice, b.step, b.best, b.best_at, parts),
        threadgroups=1,
        threadgroup=1024,
    )


def _groups(count: int, each: int) -> int:
    return -(-count // each)
