"""Outputs that are written in part, in arrays that the caller made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.checker.second_round.case import Case, blank, floats, pair, twin

SQUARE = """kernel void square(device const float* x, device float* out, constant uint& n,
                    uint i [[thread_position_in_grid]]) {
    if (i < n) out[i] = x[i] * x[i];
}"""
HALF = Case(
    "a guard with half the size",
    SQUARE,
    lambda: [floats(900), np.zeros(900, np.float32), 450],
    {"grid": 900},
    "M106",
)
GRID = Case(
    "the grid covers half",
    """kernel void twice(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = 2 * x[i];
}""",
    lambda: [floats(900), np.zeros(900, np.float32)],
    {"grid": 450},
    "M305",
)
USHORT = """kernel void wide(device const float* x, device float* out, {TYPE} i [[thread_position_in_grid]]) {
    out[i] = x[i] + 1;
}"""
MANY = (1 << 16) + 4096
ROWS = """kernel void rows(device const float* x, device float* out, constant uint& width,
                  uint row [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < width; k++) sum += x[row * width + k];
    out[row] = sum;
}"""
FEW_ROWS = Case(
    "as many threads as threadgroups were meant",
    ROWS,
    lambda: [floats(64 * 32), np.zeros(64, np.float32), 32],
    {"grid": 2, "threadgroup": 2},
    "M305",
)
STRIDE = """kernel void spread(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    out[{AT}] = x[i];
}"""
COLUMN = """kernel void transpose(device const float* x, device float* out, constant uint& n,
                       uint2 p [[thread_position_in_grid]]) {
    out[p.y * n + p.x] = x[p.x * n + p.y];
}"""
TRANSPOSE = Case(
    "a second axis that the grid lacks",
    COLUMN,
    lambda: [floats(32 * 32), np.zeros((32, 32), np.float32), 32],
    {"grid": (32, 1)},
    "M305",
)
BATCH = """kernel void batch(device const float* x, device float* out, constant uint& n,
                   uint3 p [[thread_position_in_grid]], uint3 g [[threads_per_grid]]) {
    uint row = p.x * g.y + p.y;
    for (uint k = p.z; k < n; k += g.z) out[row * n + k] = 2 * x[row * n + k];
}"""
PAIRS = """kernel void pairs(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    out[2 * i] = x[2 * i] + x[2 * i + 1];
    {SECOND}
}"""
SOME = """kernel void threshold(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    if (x[i] > 18) out[i] = x[i];
}"""
TAIL = """kernel void four(device const float4* x, device float4* out, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
    if (i < n / {EACH}) out[i] = 2 * x[i];
}"""


def arrays(count: int):
    return lambda: [floats(count), np.zeros(count, np.float32)]


CASES = (
    HALF,
    twin(HALF, arguments=lambda: [floats(900), np.zeros(900, np.float32), 900]),
    GRID,
    twin(GRID, sizes={"grid": 900}),
    *(
        replace(case, slow=True)
        for case in pair(
            "a position of 16 bits",
            USHORT.replace("{TYPE}", "ushort"),
            USHORT.replace("{TYPE}", "uint"),
            lambda: [floats(MANY), np.zeros(MANY, np.float32)],
            {"grid": MANY, "threadgroup": 256},
            "M404",
        )
    ),
    FEW_ROWS,
    twin(FEW_ROWS, sizes={"grid": 64, "threadgroup": 32}),
    *pair(
        "every second element",
        STRIDE.replace("{AT}", "i & ~1u"),
        STRIDE.replace("{AT}", "i"),
        lambda: [np.ones(256, np.float32), np.zeros(256, np.float32)],
        {"grid": 256},
        "M106",
    ),
    TRANSPOSE,
    twin(TRANSPOSE, sizes={"grid": (32, 32)}),
    Case(
        "one row of a batch, in memory with room for more",
        BATCH,
        lambda: [floats(4 * 64), np.zeros((4, 64), np.float32), 64],
        {"grid": (1, 1, 32)},
    ),
    *pair(
        "the second of two results",
        PAIRS.replace("{SECOND}", ""),
        PAIRS.replace("{SECOND}", "out[2 * i + 1] = x[2 * i] - x[2 * i + 1];"),
        arrays(256),
        {"grid": 128},
        "M106",
    ),
    Case("only some by their values, on purpose", SOME, arrays(256), {"grid": 256}),
    *pair(
        "vectors of four counted twice",
        TAIL.replace("{EACH}", "8"),
        TAIL.replace("{EACH}", "4"),
        lambda: [floats(512), np.zeros(512, np.float32), 512],
        {"grid": 128},
        "M106",
    ),
    Case(
        "a first part that the host asks for by its size",
        SQUARE,
        lambda: [floats(450), np.zeros(900, np.float32), 450],
        {"grid": 450},
    ),
    Case(
        "blank output, all written",
        GRID.text,
        lambda: [floats(64), blank(64)],
        {"grid": 64},
    ),
    Case(
        "the last row is left out",
        """kernel void rows2(device const float* x, device float* out, constant uint& rows,
                   uint2 p [[thread_position_in_grid]]) {
    if (p.y < rows - 1) out[p.y * 16 + p.x] = x[p.y * 16 + p.x];
}""",
        lambda: [floats(256), np.zeros((16, 16), np.float32), 16],
        {"grid": (16, 16)},
        "M106",
    ),
)
