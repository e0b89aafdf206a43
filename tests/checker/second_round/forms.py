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
OUTER = """kernel void outer(device const float* a, device const float* b, device float* out, constant uint& n,
                   uint i [[thread_position_in_grid]]) {
    out[i] = a[i / n] * b[i % n];
}"""
FILL = """kernel void put(device const float* value, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = value[0];
}"""
APPEND = """kernel void append(device const float* row, device float* cache, constant uint& at,
                    uint i [[thread_position_in_grid]]) {
    cache[16 * at + i] = row[i];
}"""


def threads_by_default(text: str, sizes: tuple[int, ...], number: int | None, **given: int):
    """Tensors of these sizes, and a number; how many threads run only where `given` says it."""

    def call(kernel: Kernel) -> None:
        import torch

        library = compile_shader("#include <metal_stdlib>\nusing namespace metal;\n" + text)
        tensors = [torch.zeros(n) if n == sizes[-1] else torch.ones(n) for n in sizes]
        casts = {} if number is None else {"arg_casts": {len(sizes): "int32"}}
        more = [] if number is None else [number]
        getattr(library, dir(library)[0])(*tensors, *more, **casts, **given)

    return call


PRODUCT = Case(
    "an outer product with as many threads as its first vector",
    EMPTY,
    find="M305",
    says="threads was not passed, and is the number of elements of the first tensor, 'a'",
    call=threads_by_default(OUTER, (16, 32, 512), 32),
)
VALUE = Case(
    "filled from a tensor of one element",
    EMPTY,
    find="M305",
    says="threads=256",
    call=threads_by_default(FILL, (1, 256), None),
)
BY_DEFAULT = (
    PRODUCT,
    twin(PRODUCT, call=threads_by_default(OUTER, (16, 32, 512), 32, threads=512)),
    VALUE,
    twin(VALUE, call=threads_by_default(FILL, (1, 256), None, threads=256)),
    Case("the first row of a cache", EMPTY, call=threads_by_default(APPEND, (16, 256), 0)),
)
TORCH = Case("half of a tensor", EMPTY, find="M106", call=tensors(450))
CASES = (
    MLX,
    twin(MLX, call=rows(64 * 32)),
    WIDE,
    twin(WIDE, text=NARROW.replace("{TYPE}", "uint")),
    *((TORCH, twin(TORCH, call=tensors(900)), *BY_DEFAULT) if find_spec("torch") else ()),
)
