"""Where things lie: vectors off their alignment, rows that run into the next, tables that end before the index."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import blank, floats, pair

HEAD = """kernel void k(device float* out, device const float* x, uint i [[thread_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]]) {
"""
DEVICE = (
    HEAD
    + """    float4 v = *(device const float4*)(x + {AT});
    out[i] = v.x + v.y;
}"""
)
ROW = (
    HEAD
    + """    threadgroup float tile[8][8];
    for (uint k = t; k < 64; k += 32) tile[k / 8][k % 8] = x[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint c = 0; c {TEST} 8; c++) sum += tile[t % 7][c];
    out[i] = sum;
}"""
)
COLUMN = (
    HEAD
    + """    threadgroup float tile[8][4];
    for (uint k = t; k < 32; k += 32) tile[k / 4][k % 4] = x[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[{A}][{B}];
}"""
)
STRUCT = """struct Cell { float values[3]; float weight; };
kernel void k(device float* out, device const Cell* x, uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint j = 0; j {TEST} 3; j++) sum += x[i].values[j];
    out[i] = sum * x[i].weight;
}"""
TABLE = """constant float weights[4] = {1, 2, 3, 4};
kernel void k(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    out[i] = x[i] * weights[i % {N}];
}"""
LOOKUP = (
    HEAD
    + """    int lut[5] = {0, 1, 4, 9, 16};
    out[i] = lut[uint(x[i]) % {N}];
}"""
)


def arrays():
    return [blank(32), floats(80)]


TILE = """kernel void k(device const float* x, device float4* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float odd[3], tile[132];
    if (t < 3) odd[t] = t;
    for (uint j = 0; j < 4; j++) tile[4 * t + j] = x[4 * t + j];
    if (t < 4) tile[128 + t] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    {VALUE}
}"""
REGISTERS = """kernel void k(device const float* x, device float4* out, uint t [[thread_index_in_threadgroup]]) {
    float v[8];
    for (uint j = 0; j < 8; j++) v[j] = x[4 * t + (j & 3)];
    out[t] = *(thread float4*)(v + {AT}) * 2;
}"""
BYTES = """kernel void k(device const uchar* x, device float4* out, uint t [[thread_index_in_threadgroup]]) {
    uchar a[64];
    for (uint j = 0; j < 64; j++) a[j] = x[(64 * t + j) % 256];
    {DO}
}"""
HALVES = """kernel void k(device const float* x, device float4* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup half tile[32 * 6];
    for (uint j = 0; j < 6; j++) tile[6 * t + j] = half(x[t]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    *(threadgroup {TYPE}*)(tile + 6 * t) = {TYPE}(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = float4(tile[t]);
}"""


def tile(value: str) -> str:
    return TILE.replace("{VALUE}", value)


def quads() -> list[np.ndarray]:
    return [floats(132), np.zeros((32, 4), np.float32)]


def bytes_and_quads() -> list[np.ndarray]:
    return [np.zeros(256, np.uint8), np.zeros((32, 4), np.float32)]


ONE = {"grid": 32, "threadgroup": 32}
CASES = (
    *pair(
        "a float4 out of a tile of floats, copied",
        tile("out[t] = *(threadgroup float4*)(tile + t);"),
        tile("out[t] = *(threadgroup float4*)(tile + 4 * t);"),
        quads,
        ONE,
        "M103",
        "offset 4 of 'tile', where a multiple of 16",
    ),
    *pair(
        "a float4 out of a tile of floats, by address",
        tile("out[t] = 2 * *(threadgroup const float4*)&tile[t + 1];"),
        tile("out[t] = 2 * *(threadgroup const float4*)&tile[4 * (31 - t)];"),
        quads,
        ONE,
        "M103",
        "'tile'",
    ),
    *pair(
        "a row of float4 that starts inside a tile",
        tile(
            "threadgroup float4* row = reinterpret_cast<threadgroup float4*>(tile + 1); out[t] = row[t] + odd[t % 3];"
        ),
        tile(
            "threadgroup float4* row = reinterpret_cast<threadgroup float4*>(tile); out[t] = row[t] + odd[t % 3];"
        ),
        quads,
        ONE,
        "M103",
        "'tile'",
    ),
    *pair(
        "a float4 out of registers",
        REGISTERS.replace("{AT}", "(t & 3)"),
        REGISTERS.replace("{AT}", "4 * (t & 1)"),
        quads,
        ONE,
        "M103",
        "'v'",
    ),
    *pair(
        "a float4 out of registers at an index that is known",
        REGISTERS.replace("{AT}", "1"),
        REGISTERS.replace("{AT}", "4"),
        quads,
        ONE,
        "M103",
        "offset 4 of 'v'",
    ),
    *pair(
        "a float4 out of bytes in registers",
        BYTES.replace("{DO}", "out[t] = *(thread float4*)(a + 4);"),
        BYTES.replace("{DO}", "out[t] = *(thread float4*)(a + 32);"),
        bytes_and_quads,
        ONE,
        "M103",
        "offset 4 of 'a', where a multiple of 16",
    ),
    *pair(
        "a pointer to words that starts inside bytes",
        BYTES.replace(
            "{DO}", "thread uint* w = (thread uint*)&a[2]; out[t] = float4(w[0], w[1], w[2], w[3]);"
        ),
        BYTES.replace(
            "{DO}", "thread uint* w = (thread uint*)&a[8]; out[t] = float4(w[0], w[1], w[2], w[3]);"
        ),
        bytes_and_quads,
        ONE,
        "M103",
        "of 'a', where a multiple of 4",
    ),
    *pair(
        "a float4 put into bytes in registers",
        BYTES.replace("{DO}", "*(thread float4*)(a + 4) = 2; out[t] = a[7] + a[11];"),
        BYTES.replace("{DO}", "*(thread packed_float4*)(a + 4) = packed_float4(2); out[t] = a[7] + a[11];"),
        bytes_and_quads,
        ONE,
        "M103",
        "misaligned write at offset 4 of 'a'",
    ),
    *pair(
        "half4 stored at steps of six",
        HALVES.replace("{TYPE}", "half4"),
        HALVES.replace("{TYPE}", "half2"),
        quads,
        ONE,
        "M103",
        "a multiple of 8",
    ),
    *pair(
        "a float4 of a buffer of floats, copied",
        """kernel void k(device const float* x, device float4* out, uint t [[thread_index_in_threadgroup]]) {
    out[t] = *(device const float4*)(x + t);
}""",
        """kernel void k(device const float* x, device float4* out, uint t [[thread_index_in_threadgroup]]) {
    out[t] = *(device const float4*)(x + 4 * t);
}""",
        quads,
        ONE,
        "M103",
        "offset 4 of 'x', where a multiple of 16",
    ),
    *pair(
        "a vector off its place in device memory",
        DEVICE.replace("{AT}", "t"),
        DEVICE.replace("{AT}", "4 * (t / 4)"),
        arrays,
        ONE,
        "M103",
    ),
    *pair(
        "a row overrun in a tile",
        ROW.replace("{TEST}", "<="),
        ROW.replace("{TEST}", "<"),
        arrays,
        ONE,
        "M109",
    ),
    *pair(
        "rows and columns of a tile mixed up",
        COLUMN.replace("{A}", "t % 4").replace("{B}", "t / 4"),
        COLUMN.replace("{A}", "t / 4").replace("{B}", "t % 4"),
        arrays,
        ONE,
        "M109",
    ),
    *pair(
        "an array inside a struct overrun",
        STRUCT.replace("{TEST}", "<="),
        STRUCT.replace("{TEST}", "<"),
        lambda: [blank(16), floats(64)],
        {"grid": 16},
        "M109",
    ),
    *pair(
        "a table of constants overrun",
        TABLE.replace("{N}", "5"),
        TABLE.replace("{N}", "4"),
        lambda: [blank(32), floats(32)],
        ONE,
        "M101",
    ),
    *pair(
        "a private table overrun",
        LOOKUP.replace("{N}", "6"),
        LOOKUP.replace("{N}", "5"),
        lambda: [blank(32), floats(32)],
        ONE,
        "M101",
    ),
)
