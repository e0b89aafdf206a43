"""A token's launches on a device with memory of its own, where inputs of products are rounded to bytes.

That is what bytewise.py does on processors. Weights are those of wide.py, so that one model serves both; kernels are in
wide_bytes.metal and wide_attend.metal.
"""

from __future__ import annotations

from metalloid.kernels.families import target
from metalloid.llama.buffers import Buffers
from metalloid.llama.config import Config
from metalloid.llama.formats import Array
from metalloid.llama.layers import Layer, Matrix
from metalloid.llama.own_kernels import own_kernel
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.recording import Recording

SIMDS, THREADS = 16, 512  # of a threadgroup
GATES, ROWS = 2, 4  # rows that a SIMD-group takes at once: of each of gate and up, of other weights
STRETCH = 2048  # columns that a SIMD-group takes at once
SLICES = 4  # SIMD-groups that share longer rows
MOST_COLUMNS = 24576  # whose bytes, scales and sums fit into threadgroup memory
MOST_CONTEXT = 4096  # positions whose scores do


def _kernel(name: str) -> Kernel:
    return own_kernel("wide_bytes.metal", name)


def fits(columns: int) -> bool:
    """Whether an input of so many numbers fits into threadgroup memory."""
    return columns <= MOST_COLUMNS


def near(context: int) -> bool:
    """Whether scores of so many positions do."""
    return context <= MOST_CONTEXT


def _lines(columns: int) -> dict[int, int]:
    """Threadgroup memory of a rounded input: 40 bytes for each block of 32."""
    return {0: columns // 32 * 40}


def heads(run: Recording, layer: Layer, b: Buffers, n: int, shape: dict[str, int], config: Config) -> None:
    """Queries, keys and values, which `attend` puts into the cache of layer `n`."""
    pairs = (config.heads + 2 * config.kv_heads) * config.head // 2
    assert layer.qkv is not None
    run.add(
        _kernel("norm_heads"),
        *(layer.qkv, b.x[0], layer.attention_norm),
        *(b.q[0], b.k[0], b.v[0], b.turns, shape, b.place, config.width, config.eps),
        threadgroups=_groups(pairs, SIMDS),
        threadgroup=THREADS,
        threadgroup_memory=_lines(config.width),
    )


def attend(run: Recording, layer: Layer, b: Buffers, n: int, shape: dict[str, int], config: Config) -> None:
    run.add(
        own_kernel("wide_attend.metal", "attend_near"),
        *(b.q[0], b.k[0], b.v[0], b.keys[n], b.values[n], b.mixed[0], shape, b.place),
        threadgroups=config.heads,
        threadgroup=THREADS,
        threadgroup_memory={0: 4 * shape["context"]},
    )


def gate_up(run: Recording, gate: Matrix, up: Matrix, x: Array, gain: Array, out: Array, eps: float) -> None:
    run.add(
        _kernel("norm_gate_up"),
        *(gate.data, up.data, x, gain, out, gate.rows, gate.columns, eps),
        threadgroups=_at_once(gate.rows, GATES),
        threadgroup=THREADS,
        threadgroup_memory=_lines(gate.columns),
    )


def project(run: Recording, matrix: Matrix, x: Array, gain: Array, out: Array, eps: float) -> None:
    run.add(
        _kernel("norm_matvec"),
        *(matrix.data, x, gain, out, matrix.rows, matrix.columns, eps),
        threadgroups=_at_once(matrix.rows, ROWS),
        threadgroup=THREADS,
        threadgroup_memory=_lines(matrix.columns),
    )


def multiply_add(run: Recording, matrix: Matrix, x: Array, out: Array) -> None:
    """A SIMD-group takes a short row; several take parts of long ones."""
    short = matrix.columns <= STRETCH
    run.add(
        _kernel("matvec_add_short" if short else "matvec_add_long"),
        *(matrix.data, x, out, matrix.rows, matrix.columns),
        threadgroups=_groups(matrix.rows, SIMDS if short else SIMDS // SLICES * ROWS),
        threadgroup=THREADS,
        threadgroup_memory=_lines(matrix.columns),
    )


def _at_once(rows: int, each: int) -> int:
    """Threadgroups for rows that are taken in turns: no more than a device runs side by side."""
    return min(_groups(rows, each * SIMDS), target().backend.multiprocessors)


def _groups(count: int, each: int) -> int:
    return -(-count // each)
