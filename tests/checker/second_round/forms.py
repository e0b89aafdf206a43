"""Outputs in the hands of other libraries: torch's tensors, MLX's kernels, positions of 16 bits."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from metalloid.mlx import metal_kernel
from metalloid.runtime.kernel import Kernel
from metalloid.torch import compile_shader
from tests.checker.second_round.case import Case, floats, twin

SQUARE = """kernel void square(device const float* x, device float* out, constant uint& n,
                    uint i [[thread_position_in_grid]]) {
    if (i < n) out[i] = x[i] * x[i];
}"""
EMPTY = "kernel void k(device float* out, uint i [[thread_position_in_grid]]) { out[i] = i; }"
ROW_SUM = """
    uint row = threadgroup_position_in_grid.x;
    uint lane = thread_position_in_threadgroup.x;
    float sum = 0;
    for (uint k = lane; k < 64; k += 32) sum += x[row * 64 + k];
    sum = simd_sum(sum);
    if (lane == 0) out[row] = sum;
"""


def tensors(n: int):
    """Squares of a tensor in torch's call form."""

    def call(kernel: Kernel) -> None:
        import torch

        library = compile_shader("#include <metal_stdlib>\nusing namespace metal;\n" + SQUARE)
        library.square(torch.arange(900, dtype=torch.float32), torch.zeros(900), n, threads=900)

    return call


def rows(grid: int):
    """Sums of 64 rows by MLX's call form, one threadgroup of 32 for each."""

    def call(kernel: Kernel) -> None:
        made = metal_kernel(name="rows", input_names=["x"], output_names=["out"], source=ROW_SUM)
        made(
            inputs=[np.ones((64, 64), np.float32)],
            grid=(grid, 1, 1),
            threadgroup=(32, 1, 1),
            output_shapes=[(64,)],
            output_dtypes=[np.float32],
        )

    return call


NARROW = """kernel void narrow(device const float* x, device float* out, {TYPE} i [[thread_position_in_grid]]) {
    out[i] = x[i];
}"""
MANY = (1 << 16) + 512
MLX = Case("MLX: threadgroups given as the grid", EMPTY, find="M305", call=rows(64))
WIDE = Case(
    "a ushort position and more threads, into fresh memory",
    NARROW.replace("{TYPE}", "ushort"),
    lambda: [floats(MANY), np.zeros(MANY, np.float32)],
    {"grid": MANY, "threadgroup": 512},
    "M404",
    slow=True,
)
TORCH = Case("half of a tensor", EMPTY, find="M106", call=tensors(450))
CASES = (
    MLX,
    twin(MLX, call=rows(64 * 32)),
    WIDE,
    twin(WIDE, text=NARROW.replace("{TYPE}", "uint")),
    *((TORCH, twin(TORCH, call=tensors(900))) if find_spec("torch") else ()),
)
