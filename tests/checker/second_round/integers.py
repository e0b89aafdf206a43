"""Whole numbers: divisors that are 0 in a few threads, and results that 8 or 16 bits do not hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.checker.second_round.case import Case, floats, ints, pair, twin

MEAN = """kernel void k(device const int* sums, device const int* counts, device int* out,
                     uint i [[thread_position_in_grid]]) {
    out[i] = {VALUE};
}"""
BUCKET = """kernel void k(device const uint* keys, device uint* out, constant uint& buckets,
                     uint i [[thread_position_in_grid]]) {
    uint key = keys[i];
    key %= {BUCKETS};
    out[i] = key;
}"""
TILES = """struct Shape { int width; int height; };
kernel void k(device const int* x, device int* out, constant Shape& shape, uint i [[thread_position_in_grid]]) {
    int row = int(i) / {WIDTH};
    out[i] = x[i] + row;
}"""
GATED = """kernel void k(device const int* x, device int* out, constant int& step, uint i [[thread_position_in_grid]]) {
    int v = x[i];
    if (step != 0) v /= step;
    out[i] = v;
}"""
PIXEL = """kernel void k(device const float* x, device float* out, constant uint& width,
                     uint2 p [[thread_position_in_grid]]) {
    {TYPE} at = p.y * width + p.x;
    out[at] = x[at] + 1;
}"""
SUM = """kernel void k(device const short* x, device int* out, uint i [[thread_position_in_grid]]) {
    {TYPE} sum = 0;
    for (uint j = 0; j < 64; j++) sum += x[64 * i + j];
    out[i] = sum;
}"""
BLEND = """kernel void k(device const uchar* a, device const uchar* b, device uchar* out,
                     uint i [[thread_position_in_grid]]) {
    out[i] = {VALUE};
}"""
DOWN = """kernel void k(device const float* x, device float* out, constant uint& n,
                     ushort i [[thread_position_in_grid]]) {
    ushort left = i - 1;
    out[i] = left < n ? x[left] : 0;
}"""
ONE_LINE = " ".join(PIXEL.split())
HASH = """kernel void k(device const uchar* x, device ushort* out, uint i [[thread_position_in_grid]]) {
    ushort h = 5381;
    for (uint j = 0; j < 8; j++) h = h * 33 + x[8 * i + j];
    out[i] = h;
}"""
BITS = """kernel void k(device const ushort* x, device ushort* out, uint i [[thread_position_in_grid]]) {
    ushort v = ~x[i];
    v ^= v << 7;
    out[i] = v;
}"""
CAST = """kernel void k(device const ushort* x, device uchar* out, uint i [[thread_position_in_grid]]) {
    out[i] = uchar(x[i] * 3);
}"""
HALVES = """kernel void k(device const int* x, device int* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup int s[64];
    s[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ushort n = 32; n > 0; n /= 2) {
        if (t < n) s[t] += s[t + n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) out[0] = s[0] / {COUNT};
}"""

VECTORS = """kernel void k(device const {TYPE}* a, device const {TYPE}* b, device {TYPE}* out,
                     uint i [[thread_position_in_grid]]) {
    out[i] = {VALUE};
}"""
SCALED = """kernel void k(device const int3* x, device int3* out, constant int& by,
                     uint i [[thread_position_in_grid]]) {
    int3 v = x[i];
    v {OP} by;
    out[i] = v;
}"""


def vectors(type: str, value: str) -> str:
    return VECTORS.replace("{TYPE}", type).replace("{VALUE}", value)


def with_a_zero(count: int, kind: type) -> np.ndarray:
    array = np.arange(1, count + 1).astype(kind)
    array[count // 2 + 1] = 0
    return array


PRIVATE = """kernel void k(device const int* x, device int* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    int tile[4];
    for (uint j = 0; j < 4; j++) tile[j] = x[4 * i + j];
    ushort sum = 0;
    for (uint j = 0; j < 4; j++) sum += tile[(i + j) % n];
    out[i] = sum;
}"""


def counted():
    counts = np.full(256, 3, np.int32)
    counts[200] = 0
    return [ints(256) + 7, counts, np.zeros(256, np.int32)]


def bytes_of(value: int, count: int = 64) -> np.ndarray:
    return np.full(count, value, np.uint8)


BUCKETS = Case(
    "a remainder by an argument that is 0",
    BUCKET.replace("{BUCKETS}", "buckets"),
    lambda: [ints(64, np.uint32), np.zeros(64, np.uint32), 0],
    {"grid": 64},
    "M407",
    "'buckets' is 0",
)
WIDTH = Case(
    "a field of a struct that was never set",
    TILES.replace("{WIDTH}", "shape.width"),
    lambda: [ints(64), np.zeros(64, np.int32), {"width": 0, "height": 8}],
    {"grid": 64},
    "M407",
    "'shape.width' is 0",
)
MIXED = Case(
    "private arrays, narrow sums and a divisor of 0 together",
    PRIVATE,
    lambda: [ints(256) % 100, np.zeros(64, np.int32), 0],
    {"grid": 64},
    "M407",
    "'n' is 0",
)
SCALE = Case(
    "a vector divided by an argument that is 0",
    SCALED.replace("{OP}", "/="),
    lambda: [ints(64), np.zeros(64, np.int32), 0],
    {"grid": 16},
    "M407",
    "'by' is 0",
)
WIDE = {"grid": (300, 240), "threadgroup": (60, 8)}
CASES = (
    *pair(
        "one of many counts is 0",
        MEAN.replace("{VALUE}", "sums[i] / counts[i]"),
        MEAN.replace("{VALUE}", "counts[i] > 0 ? sums[i] / counts[i] : 0"),
        counted,
        {"grid": 256},
        "M407",
        "thread (200,0,0)",
    ),
    *pair(
        "one element of a vector of divisors is 0",
        vectors("int4", "a[i] / b[i]"),
        vectors("int4", "a[i] / max(b[i], 1)"),
        lambda: [ints(64), with_a_zero(64, np.int32), np.zeros(64, np.int32)],
        {"grid": 16},
        "M407",
        "'b[i]' is 0",
    ),
    *pair(
        "a number divided by a vector",
        vectors("uint2", "1000 % b[i]"),
        vectors("uint2", "1000 % (b[i] + 1)"),
        lambda: [ints(64, np.uint32), with_a_zero(64, np.uint32), np.zeros(64, np.uint32)],
        {"grid": 32},
        "M407",
    ),
    SCALE,
    twin(SCALE, arguments=lambda: [ints(64), np.zeros(64, np.int32), 3]),
    *pair(
        "pixels of four bytes added",
        vectors("uchar4", "a[i] + b[i]"),
        vectors("uchar4", "uchar4(min(uint4(a[i]) + uint4(b[i]), 255))"),
        lambda: [bytes_of(200), bytes_of(100), bytes_of(0)],
        {"grid": 16},
        "M408",
        "write uchar4(min(uint4(a) + uint4(b), 255u))",
    ),
    *pair(
        "shorts multiplied in a vector",
        vectors("short2", "a[i] * b[i]"),
        vectors("short2", "short2(int2(a[i]) * int2(b[i]) >> 8)"),
        lambda: [np.full(64, 300, np.int16), np.full(64, 200, np.int16), np.zeros(64, np.int16)],
        {"grid": 32},
        "M408",
        "60000",
    ),
    BUCKETS,
    twin(BUCKETS, arguments=lambda: [ints(64, np.uint32), np.zeros(64, np.uint32), 7]),
    MIXED,
    twin(MIXED, arguments=lambda: [ints(256) % 100, np.zeros(64, np.int32), 4]),
    WIDTH,
    twin(WIDTH, arguments=lambda: [ints(64), np.zeros(64, np.int32), {"width": 8, "height": 8}]),
    *pair(
        "a mean of a tree over nothing",
        HALVES.replace("{COUNT}", "(x[0] - x[0])"),
        HALVES.replace("{COUNT}", "64"),
        lambda: [ints(64), np.zeros(1, np.int32)],
        {"grid": 64, "threadgroup": 64},
        "M407",
    ),
    Case(
        "a divisor that is asked for first",
        GATED,
        lambda: [ints(64), np.zeros(64, np.int32), 0],
        {"grid": 64},
    ),
    *(
        replace(case, slow=True)
        for case in pair(
            "an index of 16 bits",
            PIXEL.replace("{TYPE}", "ushort"),
            PIXEL.replace("{TYPE}", "uint"),
            lambda: [np.arange(72000, dtype=np.float32), np.zeros(72000, np.float32), 300],
            WIDE,
            "M408",
            "65700 does not fit a ushort",
        )
    ),
    *pair(
        "a sum of shorts in a short",
        SUM.replace("{TYPE}", "short"),
        SUM.replace("{TYPE}", "int"),
        lambda: [np.full(64 * 8, 1000, np.int16), np.zeros(8, np.int32)],
        {"grid": 8},
        "M408",
        "keep it in an int",
    ),
    *pair(
        "a sum of chars that goes below",
        BLEND.replace("uchar", "char").replace("{VALUE}", "a[i] + b[i]"),
        BLEND.replace("uchar", "char").replace("{VALUE}", "max(a[i] + b[i], -128)"),
        lambda: [np.full(64, -100, np.int8), np.full(64, -40, np.int8), np.zeros(64, np.int8)],
        {"grid": 64},
        "M408",
        "where it is meant to stop at -128, as pixels and samples do, write char(clamp(value, -128, 127))",
    ),
    *pair(
        "two pixels added in 8 bits",
        BLEND.replace("{VALUE}", "a[i] + b[i]"),
        BLEND.replace("{VALUE}", "min(a[i] + b[i], 255)"),
        lambda: [bytes_of(200), bytes_of(100), bytes_of(0)],
        {"grid": 64},
        "M408",
        "write uchar(clamp(value, 0, 255)); where it is meant to wrap around",
    ),
    Case(
        "a neighbour below 0 that a comparison turns away",
        DOWN,
        lambda: [np.ones(64, np.float32), np.zeros(64, np.float32), 64],
        {"grid": 64},
    ),
    Case("a hash of 16 bits", HASH, lambda: [bytes_of(77, 512), np.zeros(64, np.uint16)], {"grid": 64}),
    Case(
        "bits that fall off",
        BITS,
        lambda: [ints(64, np.uint16) * 999, np.zeros(64, np.uint16)],
        {"grid": 64},
    ),
    Case(
        "a cast to 8 bits that is written out",
        CAST,
        lambda: [ints(64, np.uint16) * 9, bytes_of(0)],
        {"grid": 64},
    ),
    *(
        replace(case, slow=True)
        for case in pair(
            "a whole kernel on one line, with a reference",
            ONE_LINE.replace("{TYPE}", "ushort"),
            ONE_LINE.replace("{TYPE}", "uint"),
            lambda: [floats(70_000), np.zeros(70_000, np.float32), 700],
            {"grid": (700, 100), "threadgroup": (64, 1)},
            "M408",
            "ushort",
        )
    ),
)
