"""Mistakes in MLX's call form: attention, caches, norms, scans, convolutions, scatters."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checker.second_round.case import floats, halves, ints
from tests.checker.second_round.spoken import Row, mlx_form, told

ROW_CHUNKS = """x -> out
    uint row = threadgroup_position_in_grid.y, chunk = threadgroup_position_in_grid.x;
    float m = simd_max(x[row * 64 + chunk * 32 + thread_index_in_simdgroup]);
    if (thread_index_in_simdgroup == 0) out[row{X}] = m;
"""
WEIGHTS = """x -> out
    uint i = thread_position_in_grid.x;
    float w[9];
    for (int k = 0; k < {X}; ++k) w[k] = x[i + k] * 0.25f;
    float acc = 0;
    for (int k = 0; k < 9; ++k) acc += w[k];
    out[i] = acc;
"""
SOFTMAX = """x -> out
    uint row = threadgroup_position_in_grid.x;
    uint lane = thread_index_in_threadgroup;
    float m = simd_max(x[row * 32 + lane]);
    float e = metal::exp(x[row * 32 + lane] - m);
    out[row * 32 + lane] = e / simd_sum(e);
"""
BLUR = """img -> out
    uint x = thread_position_in_grid.x, y = thread_position_in_grid.y;
    uint w = img_shape[1], h = img_shape[0];
    if ({X}) return;
    float sum = 0;
    for (int d = -1; d <= 1; ++d) sum += img[y * w + clamp(int(x) + d, 0, int(w) - 1)];
    out[y * w + x] = sum / 3;
"""
GAMMA = """x gamma -> out
    uint i = thread_position_in_grid.x;
    out[i] = x[i] * gamma[i % 16];
"""
SCATTER = """updates index -> out
    uint i = thread_position_in_grid.x;
    {X}
"""
MEAN_VAR = """x -> out
    uint lane = thread_index_in_simdgroup, row = thread_position_in_grid.y;
    {X} s = 0;
    for (uint j = lane; j < 2048; j += 32) s += x[row * 2048 + j];
    s = simd_sum(s);
    if (lane == 0) out[row] = {Y};
"""
SHORT = """a b -> out
    uint i = thread_position_in_grid.x;
    {X} acc = 0;
    for (uint k = 0; k < 16; ++k) acc += a[i * 16 + k] * b[k];
    out[i] = acc;
"""
TWO_STAGES = """x -> out
    threadgroup float part[4];
    uint t = thread_position_in_threadgroup.x, g = simdgroup_index_in_threadgroup;
    float s = simd_sum(x[t]);
    if (thread_index_in_simdgroup == 0) part[g] = s;
    {X}
    if (t == 0) out[0] = part[0] + part[1] + part[2] + part[3];
"""
WHOLE = """x -> out
    uint t = thread_position_in_threadgroup.x, row = threadgroup_position_in_grid.x;
    float s = simd_sum(x[row * {X} + t]);
    if (t == 0) out[row] = s;
"""
PAGED = """q pages table -> out
    uint d = thread_position_in_grid.x, t = thread_position_in_grid.y;
    int page = table[t / 4];
    {X}
    out[t * 8 + d] = q[d] * pages[(page * 4 + t % 4) * 8 + d];
"""
ACCUMULATE = """x -> out
    uint i = thread_position_in_grid.x;
    for (uint k = 0; k < 4; ++k) {X};
"""
MASK = """scores mask -> out
    uint j = thread_position_in_grid.x, i = thread_position_in_grid.y;
    float s = mask[{X}] ? scores[i * 12 + j] : -1e9f;
    out[i * 12 + j] = s;
"""
ROPE = """x offset -> out
    uint d = thread_position_in_grid.x, t = thread_position_in_grid.y;
    uint n = threads_per_grid.x;
    float theta = float(t + offset) * metal::exp2(-float(d) * 0.5f);
    float a = x[t * 2 * n + d], b = x[t * 2 * n + d + n];
    out[t * 2 * n + d] = a * metal::cos(theta) - b * metal::sin(theta);
    {X}
"""


def made(
    shape: tuple[int, ...], grid: Any, group: Any, kind: type = np.float32, **more: Any
) -> dict[str, Any]:
    return {"output_shapes": [shape], "output_dtypes": [kind], "grid": grid, "threadgroup": group, **more}


def lines(*pages: int):
    return lambda: [floats(8), floats(6 * 4 * 8), np.array(pages, np.int32)]


ROWS = (
    Row(
        "two halves of a row store one maximum",
        ROW_CHUNKS,
        "M203",
        lambda: [floats(4 * 64)],
        made((4,), (64, 4, 1), (32, 1, 1)),
        "",
        " * 2 + chunk",
        "'out'",
        sizes_right=made((4, 2), (64, 4, 1), (32, 1, 1)),
    ),
    Row(
        "eight of nine weights are set",
        WEIGHTS,
        "M110",
        lambda: [floats(80)],
        made((64,), (64, 1, 1), (32, 1, 1)),
        "x_shape[0] / 10",
        "9",
        "'w'",
    ),
    Row(
        "a threadgroup for each row, counted as threads",
        SOFTMAX,
        "M304",
        lambda: [floats(24 * 32).reshape(24, 32)],
        made((24, 32), (24, 1, 1), (32, 1, 1)),
        sizes_right=made((24, 32), (24 * 32, 1, 1), (32, 1, 1)),
    ),
    Row(
        "a border that nobody sets in new memory",
        BLUR,
        "M106",
        lambda: [floats(12 * 16).reshape(12, 16)],
        made((12, 16), (16, 12, 1), (16, 4, 1)),
        "y == 0 || y + 1 >= h",
        "y >= h",
    ),
    Row(
        "weights and rows in each other's place",
        GAMMA,
        "M101",
        lambda: [floats(16), floats(160)],
        made((160,), (160, 1, 1), (32, 1, 1)),
        arguments_right=lambda: [floats(160), floats(16)],
        says="'x'",
    ),
    Row(
        "rows that are added to one place",
        SCATTER,
        "M202",
        lambda: [floats(64), ints(64) % 8],
        made((8,), (64, 1, 1), (64, 1, 1), init_value=0),
        "out[index[i]] += updates[i];",
        "atomic_fetch_add_explicit(&out[index[i]], updates[i], memory_order_relaxed);",
        sizes_right=made((8,), (64, 1, 1), (64, 1, 1), init_value=0, atomic_outputs=True),
    ),
    Row(
        "a mean of 2,048 halves added up in half",
        MEAN_VAR,
        "M402",
        lambda: [halves(4096, 0.3)],
        made((2,), (32, 2, 1), (32, 1, 1), np.float16),
        ("half", "s / 2048"),
        ("float", "half(s / 2048)"),
    ),
    Row(
        "products of bytes added up in 16 bits",
        SHORT,
        "M408",
        lambda: [np.full(32 * 16, 100, np.int8), np.full(16, 90, np.int8)],
        made((32,), (32, 1, 1), (32, 1, 1), np.int32),
        "short",
        "int",
    ),
    Row(
        "sums of SIMD-groups read without a barrier",
        TWO_STAGES,
        "M201",
        lambda: [floats(128)],
        made((1,), (128, 1, 1), (128, 1, 1)),
        "",
        "threadgroup_barrier(mem_flags::mem_threadgroup);",
        "'part'",
    ),
    Row(
        "a row of 64 added up by one SIMD-group of two",
        WHOLE,
        "M208",
        lambda: [floats(4 * 64)],
        made((4,), (4 * 64, 1, 1), (64, 1, 1)),
        "64",
        "32",
        sizes_right=made((8,), (8 * 32, 1, 1), (32, 1, 1)),
    ),
    Row(
        "a page that was never given out",
        PAGED,
        "M404",
        lines(2, -1, 0),
        made((12, 8), (8, 12, 1), (8, 4, 1)),
        "",
        "if (page < 0) { out[t * 8 + d] = 0; return; }",
        "'pages'",
    ),
    Row(
        "a sum that starts in new memory",
        ACCUMULATE,
        "M105",
        lambda: [floats(4 * 32)],
        made((32,), (32, 1, 1), (32, 1, 1)),
        "out[i] += x[i * 4 + k]",
        "out[i] = (k ? out[i] : 0) + x[i * 4 + k]",
        "'out'",
    ),
    Row(
        "a mask with the rows' length of something else",
        MASK,
        "M101",
        lambda: [floats(144), (ints(144) % 3 > 0)],
        made((12, 12), (12, 12, 1), (12, 1, 1)),
        "i * 16 + j",
        "i * 12 + j",
        "'mask'",
    ),
    Row(
        "half of a rotation that is not stored",
        ROPE,
        "M106",
        lambda: [floats(8 * 16), np.array(3, np.int32)],
        made((8, 16), (8, 8, 1), (8, 1, 1)),
        "",
        "out[t * 2 * n + d + n] = a * metal::sin(theta) + b * metal::cos(theta);",
        "'out'",
    ),
)
CASES = tuple(told(ROWS, mlx_form, "MLX"))
