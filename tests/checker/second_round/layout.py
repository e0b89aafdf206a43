"""Where things lie: vectors off their alignment, rows that run into the next, tables that end before the index."""

from __future__ import annotations

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


ONE = {"grid": 32, "threadgroup": 32}
CASES = (
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
