"""Mistakes as they stood in the histories of real kernels, and how they were mended: norms, products, caches, scans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.checker.second_round.case import Case, floats, halves, ints, pair, twin

NORM = """kernel void k(device const float* x, device float* out, uint t [[thread_index_in_threadgroup]],
                     uint row [[threadgroup_position_in_grid]]) {
    threadgroup float sum[64];
    float v = x[row * 64 + t];
    sum[t] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 32; n > 0; n /= 2) {
        if (t < n) sum[t] += sum[t + n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float mean = sum[0] / 64;
    {BETWEEN}
    v -= mean;
    sum[t] = v * v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 32; n > 0; n /= 2) {
        if (t < n) sum[t] += sum[t + n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[row * 64 + t] = v * rsqrt(sum[0] / 64 + 1e-5f);
}"""
PRODUCT = """kernel void k(device const float* a, device const float* b, device float* c,
                     uint2 t [[thread_position_in_threadgroup]], uint2 p [[thread_position_in_grid]]) {
    threadgroup float ta[8][8], tb[8][8];
    float sum = 0;
    for (uint k0 = 0; k0 < 16; k0 += 8) {
        ta[t.y][t.x] = a[p.y * 16 + k0 + t.x];
        tb[t.y][t.x] = b[(k0 + t.y) * 16 + p.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < 8; j++) sum += ta[t.y][j] * tb[j][t.x];
        {AFTER}
    }
    c[p.y * 16 + p.x] = sum;
}"""
PING_PONG = """kernel void k(device const float* x, device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[2][64];
    float sum = 0;
    for (uint r = 0; r < 4; r++) {
        tile[r % 2][t] = x[64 * r + t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += tile[r % 2][63 - t];
    }
    out[t] = sum;
}"""
EXPERTS = """kernel void k(device const int* ids, device const float* scales, device float* out,
                     uint i [[thread_position_in_grid]]) {
    {TYPE} expert = ids[i];
    out[i] = scales[expert];
}"""
ONLINE = """kernel void k(device const float* x, device float* out, uint row [[thread_position_in_grid]]) {
    float m = -INFINITY, sum = 0;
    for (uint j = 0; j < 32; j++) {
        float v = x[row * 32 + j], top = max(m, v);
        {SCALE}
        m = top;
    }
    out[row] = m + log(sum);
}"""
STRIDED = """kernel void k(device const float* x, device uchar* out, constant uint& stride, constant uint& width,
                     uint2 p [[thread_position_in_grid]]) {
    out[p.y * {STEP} + p.x] = isfinite(x[p.y * stride + p.x]);
}"""
COLUMNS = """kernel void k(device const float* image, device float* out, constant int& width,
                     uint i [[thread_position_in_grid]]) {
    int x = int(i) * 2 - 1;
    out[i] = {INSIDE} ? image[x] : 0.0f;
}"""
ROPE = """kernel void k(device const float* x, device float* out, constant uint& half_width,
                     uint i [[thread_position_in_grid]]) {
    float a = x[i], b = x[i + {PARTNER}];
    out[i] = a - b;
    out[i + {PARTNER}] = a + b;
}"""
ARGMAX = """kernel void k(device const float* x, device uint* out, uint t [[thread_index_in_threadgroup]]) {
    float v = x[t], top = simd_max(v);
    {STORE}
}"""
APPEND = """kernel void k(device const float* x, device const int* positions, device float* cache,
                     uint2 p [[thread_position_in_grid]]) {
    cache[positions[p.y] * 8 + p.x] = x[p.y * 8 + p.x];
}"""
QUANTIZE = """kernel void k(device const float* x, device char* q, constant float& scale,
                     uint i [[thread_position_in_grid]]) {
    q[i] = {VALUE};
}"""
BINS = """kernel void k(device const uchar* x, device uint* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint bins[64];
    {CLEAR} atomic_store_explicit(&bins[j], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[x[t] % 64], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = t; j < 64; j += 32) out[j] = atomic_load_explicit(&bins[j], memory_order_relaxed);
}"""
LAST_ONE = """kernel void k(device const float* x, device float* partial, device atomic_uint* done, device float* total,
                     uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
                     uint groups [[threadgroups_per_grid]]) {
    float sum = simd_sum(x[g * 32 + t]);
    if (t == 0) {
        partial[g] = sum;
        {FENCE}
        if (atomic_fetch_add_explicit(done, 1, memory_order_relaxed) == groups - 1) {
            {FENCE}
            float all = 0;
            for (uint j = 0; j < groups; j++) all += partial[j];
            *total = all;
        }
    }
}"""
TRANSPOSE = """kernel void k(device const float* x, device float* out, constant uint& width, constant uint& height,
                     uint2 p [[thread_position_in_grid]]) {
    out[p.x * {STEP} + p.y] = x[p.y * width + p.x];
}"""
TREE = """kernel void k(device const float* x, device float* out, uint t [[thread_index_in_threadgroup]],
                     uint lanes [[threads_per_threadgroup]]) {
    float v = x[t];
    for (ushort n = 16; n > 0; n /= 2) {
        float other = simd_shuffle_down(v, n);
        v += {TAKE};
    }
    if (t % 32 == 0) out[t / 32] = v;
}"""
GROUPS = """kernel void k(device const char* q, device const float* scales, device float* out,
                     uint i [[thread_position_in_grid]]) {
    out[i] = q[i] * scales[i / {EACH}];
}"""
LOOP = """kernel void k(device const float* x, device float* out, constant uint& n,
                     uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[64];
    float sum = 0;
    for (uint i = {START}; i < n; i += 64) {
        tile[t] = {VALUE};
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += tile[63 - t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[t] = sum;
}"""
DOT = """kernel void k(device const half* a, device const half* b, device half* out,
                     uint i [[thread_position_in_grid]]) {
    {TYPE} sum = 0;
    for (uint j = 0; j < 4096; j++) sum += a[j] * b[4096 * i + j];
    out[i] = half(sum);
}"""
EMBED = """kernel void k(device const int* tokens, device const float* table, device float* out,
                     uint2 p [[thread_position_in_grid]]) {
    int token = tokens[p.y];
    out[p.y * 8 + p.x] = {VALUE};
}"""
SCAN = """kernel void k(device const float* x, device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 1; n < 64; n *= 2) {
        float v = t >= n ? s[t - n] : 0;
        {BETWEEN}
        s[t] += v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[t] = s[t];
}"""
SCATTER_ADD = """kernel void k(device const float* x, device const int* at, device {TYPE}* out,
                     uint i [[thread_position_in_grid]]) {
    {ADD};
}"""
DOWN = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    float last = 0;
    for ({LOOP}) last = last * 0.5f + x[j];
    out[i] = last;
}"""
MASK = """kernel void k(device const float* scores, device const half* mask, device float* out, constant uint& rows,
                     uint2 p [[thread_position_in_grid]]) {
    out[p.y * 16 + p.x] = scores[p.y * 16 + p.x] + float(mask[({ROW}) * 16 + p.x]);
}"""
CROWD = """kernel void k(device const float* x, device float* out, uint t [[thread_index_in_threadgroup]],
                     uint n [[threads_per_threadgroup]]) {
    threadgroup float s[{ROOM}];
    s[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = s[n - 1 - t];
}"""
FOURS = """kernel void k(device const float* x, device float* out, constant uint& n,
                     uint i [[thread_position_in_grid]]) {
    for (uint j = 4 * i; j < 4 * i + 4 {LIMIT}; j++) out[j] = 2 * x[j];
}"""
BYTES = """kernel void k(device const char4* a, device const char4* b, device int* out,
                     uint i [[thread_position_in_grid]]) {
    {TYPE} p = {A} * {B};
    out[i] = p.x + p.y + p.z + p.w;
}"""
HALF_SUM = """kernel void k(device const half* x, device half* out, uint t [[thread_index_in_threadgroup]],
                     uint row [[threadgroup_position_in_grid]]) {
    threadgroup {TYPE} s[8];
    {TYPE} v = simd_sum({TYPE}(x[row * 256 + t]) * {TYPE}(x[row * 256 + t]));
    if (t % 32 == 0) s[t / 32] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    {TYPE} all = 0;
    for (uint j = 0; j < 8; j++) all += s[j];
    out[row * 256 + t] = half(x[row * 256 + t] * rsqrt(float(all) / 256));
}"""
RETRY = """kernel void k(device const float* x, device atomic_uint* top, uint i [[thread_position_in_grid]]) {
    uint old = atomic_load_explicit(top, memory_order_relaxed);
    {LOOP} (as_type<float>(old) < x[i]
        {NOT}atomic_compare_exchange_weak_explicit(top, &old, as_type<uint>(x[i]), memory_order_relaxed,
                                                  memory_order_relaxed)) {}
}"""
SPREAD = """kernel void k(device const float* x, device float* out, constant uint& n,
                     uint t [[thread_index_in_simdgroup]]) {
    float v = 0;
    {BEFORE}
    out[t] = v;
}"""
SLICES = """kernel void k(device const float* x, device float* out, constant uint& first, constant uint& count,
                     uint i [[thread_position_in_grid]]) {
    if (i < count) out[first + i] = x[i];
}"""
ROUTED = """kernel void k(device const float* x, device const int* expert, device float* out, constant int& mine,
                     uint2 p [[thread_position_in_grid]]) {
    if (expert[p.y] != mine) return;
    out[p.y * 8 + p.x] = 2 * x[p.y * 8 + p.x];
}"""
NIBBLES = """kernel void k(device const uchar* q, device char* out, uint i [[thread_position_in_grid]]) {
    uchar b = q[i];
    out[2 * i] = (b & 15) - 8;
    out[2 * i + 1] = (b >> 4) - 8;
}"""


def fill(text: str, **words: str) -> str:
    for name, word in words.items():
        text = text.replace("{" + name + "}", word)
    return text


def masked() -> list[np.ndarray]:
    x = floats(8 * 32).reshape(8, 32)
    x[3, :5] = -np.inf
    return [x, np.zeros(8, np.float32)]


def grows(rows: int) -> list[np.ndarray]:
    big = np.full((rows, 256), 1, np.float16)
    big[rows - 2] = 40
    return [big, np.zeros((rows, 256), np.float16)]


GROUP = {"grid": 64, "threadgroup": 64}
WAVE = {"grid": 32, "threadgroup": 32}
FULL = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"
CACHE = Case(
    "a position behind the end of a cache",
    APPEND,
    lambda: [floats(16), np.array([3, 8], np.int32), np.zeros(64, np.float32)],
    {"grid": (8, 2)},
    "M102",
    "'cache'",
)
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
CASES = (
    *pair(
        "a sum that is used again before all have read it",
        fill(NORM, BETWEEN=""),
        fill(NORM, BETWEEN=BARRIER),
        lambda: [floats(128), np.zeros(128, np.float32)],
        {"grid": 128, "threadgroup": 64},
        "M201",
        "'sum'",
    ),
    *pair(
        "a tile that is loaded again before all have used it",
        fill(PRODUCT, AFTER=""),
        fill(PRODUCT, AFTER=BARRIER),
        lambda: [floats(256), floats(256), np.zeros(256, np.float32)],
        {"grid": (16, 16), "threadgroup": (8, 8)},
        "M201",
    ),
    Case(
        "two tiles in turn, one barrier each",
        PING_PONG,
        lambda: [floats(256), np.zeros(64, np.float32)],
        GROUP,
    ),
    *pair(
        "an expert's number in a byte",
        fill(EXPERTS, TYPE="uchar"),
        fill(EXPERTS, TYPE="ushort"),
        lambda: [ints(300), floats(300), np.zeros(300, np.float32)],
        {"grid": 300, "threadgroup": 100},
        "M408",
        "256 does not fit a uchar",
    ),
    *pair(
        "a softmax whose first scores are masked",
        fill(ONLINE, SCALE="sum = sum * exp(m - top) + exp(v - top);"),
        fill(ONLINE, SCALE="if (top > -INFINITY) sum = sum * exp(m - top) + exp(v - top);"),
        masked,
        {"grid": 8},
        "M401",
        math="safe",
    ),
    *pair(
        "the input's stride for a packed output",
        fill(STRIDED, STEP="stride"),
        fill(STRIDED, STEP="width"),
        lambda: [floats(20 * 8), np.zeros(6 * 8, np.uint8), 20, 6],
        {"grid": (6, 8)},
        "M102",
        "'out'",
        math="safe",
    ),
    *pair(
        "padding on the left that nobody asks for",
        fill(COLUMNS, INSIDE="x < width"),
        fill(COLUMNS, INSIDE="(x >= 0 && x < width)"),
        lambda: [floats(32), np.zeros(17, np.float32), 32],
        {"grid": 17},
        "M101",
        "'image'",
    ),
    *pair(
        "pairs of a rotation that overlap",
        fill(ROPE, PARTNER="1"),
        fill(ROPE, PARTNER="half_width"),
        lambda: [floats(33), np.zeros(33, np.float32), 16],
        {"grid": 32},
        "M206",
        "let one lane write each element of 'out'",
    )[:1],
    Case(
        "pairs of a rotation, mended",
        fill(ROPE, PARTNER="half_width"),
        lambda: [floats(64), np.zeros(64, np.float32), 32],
        {"grid": 32},
    ),
    *pair(
        "the place of a maximum that two lanes have",
        fill(ARGMAX, STORE="if (v == top) out[0] = t;"),
        fill(ARGMAX, STORE="uint at = simd_min(v == top ? t : 32u); if (t == 0) out[0] = at;"),
        lambda: [np.maximum(floats(32), 30) % 31, np.zeros(1, np.uint32)],
        WAVE,
        "M202",
        "'out'",
    ),
    CACHE,
    twin(CACHE, arguments=lambda: [floats(16), np.array([3, 7], np.int32), np.zeros(64, np.float32)]),
    *pair(
        "a float that a char does not hold",
        fill(QUANTIZE, VALUE="round(x[i] / scale)"),
        fill(QUANTIZE, VALUE="clamp(round(x[i] / scale), -128.0f, 127.0f)"),
        lambda: [np.linspace(-128, 128, 64, dtype=np.float32), np.zeros(64, np.int8), 1.0],
        {"grid": 64},
        "M408",
        "128 does not fit a char",
    ),
    *pair(
        "more bins than threads that clear them",
        fill(BINS, CLEAR="uint j = t;"),
        fill(BINS, CLEAR="for (uint j = t; j < 64; j += 32)"),
        lambda: [np.arange(32, dtype=np.uint8) * 2, np.zeros(64, np.uint32)],
        WAVE,
        "M104",
        "'bins'",
    ),
    *pair(
        "the last threadgroup adds up without a fence",
        fill(LAST_ONE, FENCE=""),
        fill(LAST_ONE, FENCE=FULL),
        lambda: [floats(128), np.zeros(4, np.float32), np.zeros(1, np.uint32), np.zeros(1, np.float32)],
        {"grid": 128, "threadgroup": 32},
        "M203",
        "'partial'",
    ),
    *pair(
        "a transpose with the wrong width",
        fill(TRANSPOSE, STEP="width"),
        fill(TRANSPOSE, STEP="height"),
        lambda: [floats(12 * 20), np.zeros(12 * 20, np.float32), 20, 12],
        {"grid": (20, 12), "threadgroup": (20, 1)},
        "M102",
        "'out'",
    ),
    *pair(
        "a tree over a SIMD-group that is not full",
        fill(TREE, TAKE="other"),
        fill(TREE, TAKE="t + n < lanes ? other : 0"),
        lambda: [floats(48), np.zeros(2, np.float32)],
        {"grid": 48, "threadgroup": 48},
        "M207",
    ),
    *pair(
        "scales for groups of another size",
        fill(GROUPS, EACH="32"),
        fill(GROUPS, EACH="64"),
        lambda: [ints(256, np.int8), floats(4), np.zeros(256, np.float32)],
        {"grid": 256},
        "M101",
        "'scales'",
    ),
    *pair(
        "a barrier in a loop that ends earlier for some",
        fill(LOOP, START="t", VALUE="x[i]"),
        fill(LOOP, START="0", VALUE="i + t < n ? x[i + t] : 0"),
        lambda: [floats(100), np.zeros(64, np.float32), 100],
        GROUP,
        "M204",
    ),
    *pair(
        "a dot product of 4,096 terms in half",
        fill(DOT, TYPE="half"),
        fill(DOT, TYPE="float"),
        lambda: [halves(4096, 0.25), halves(8 * 4096, 0.25), halves(8, 0)],
        {"grid": 8},
        "M402",
    ),
    *pair(
        "padding tokens of -1",
        fill(EMBED, VALUE="table[token * 8 + p.x]"),
        fill(EMBED, VALUE="token < 0 ? 0.0f : table[token * 8 + p.x]"),
        lambda: [np.array([2, 0, -1, 3], np.int32), floats(32), np.zeros(32, np.float32)],
        {"grid": (8, 4)},
        "M404",
        "a negative number came into the index",
    ),
    *pair(
        "a scan in place without a barrier between reading and adding",
        fill(SCAN, BETWEEN=""),
        fill(SCAN, BETWEEN=BARRIER),
        lambda: [floats(64), np.zeros(64, np.float32)],
        GROUP,
        "M201",
        "'s'",
    ),
    *pair(
        "rows that are added to without atomics",
        fill(SCATTER_ADD, TYPE="float", ADD="out[at[i]] += x[i]"),
        fill(
            SCATTER_ADD,
            TYPE="atomic_float",
            ADD="atomic_fetch_add_explicit(&out[at[i]], x[i], memory_order_relaxed)",
        ),
        lambda: [floats(64), ints(64) % 5, np.zeros(5, np.float32)],
        {"grid": 64},
        "M202",
        "'out'",
    )[:1],
    Case(
        "rows that are added to with atomics, in whole numbers",
        fill(
            SCATTER_ADD,
            TYPE="atomic_int",
            ADD="atomic_fetch_add_explicit(&out[at[i]], int(x[i]), memory_order_relaxed)",
        ),
        lambda: [floats(64), ints(64) % 5, np.zeros(5, np.int32)],
        {"grid": 64},
    ),
    *pair(
        "a mask with fewer rows than there are queries",
        fill(MASK, ROW="p.y"),
        fill(MASK, ROW="p.y % rows"),
        lambda: [floats(16 * 12), halves(16 * 4, 0), np.zeros(16 * 12, np.float32), 4],
        {"grid": (16, 12)},
        "M101",
        "'mask'",
    ),
    *pair(
        "a threadgroup larger than its tile",
        fill(CROWD, ROOM="64"),
        fill(CROWD, ROOM="128"),
        lambda: [floats(128), np.zeros(128, np.float32)],
        {"grid": 128, "threadgroup": 128},
        "M102",
        "'s'",
    ),
    *pair(
        "rows of four whose last is not full",
        fill(FOURS, LIMIT=""),
        fill(FOURS, LIMIT="&& j < n"),
        lambda: [floats(130), np.zeros(130, np.float32), 130],
        {"grid": 33},
        "M101",
    ),
    *pair(
        "bytes multiplied as bytes",
        fill(BYTES, TYPE="char4", A="a[i]", B="b[i]"),
        fill(BYTES, TYPE="int4", A="int4(a[i])", B="int4(b[i])"),
        lambda: [np.full(64, 100, np.int8), np.full(64, 3, np.int8), np.zeros(16, np.int32)],
        {"grid": 16},
        "M408",
        "300",
    ),
    *(
        replace(case, slow=True)
        for case in pair(
            "squares of one row of many that half does not hold",
            fill(HALF_SUM, TYPE="half"),
            fill(HALF_SUM, TYPE="float"),
            lambda: grows(24),
            {"grid": 24 * 256, "threadgroup": 256},
            "M403",
        )
    ),
    *pair(
        "a compare-exchange that is tried once",
        fill(RETRY, LOOP="if", NOT="&& "),
        fill(RETRY, LOOP="while", NOT="&& !"),
        lambda: [floats(64), np.zeros(1, np.uint32)],
        {"grid": 64},
        "M210",
        "'top'",
    ),
    *pair(
        "a value from a lane that has left",
        fill(SPREAD, BEFORE="if (t < n) v = simd_broadcast(x[t], 16);"),
        fill(SPREAD, BEFORE="float w = x[t]; v = simd_broadcast(w, 16); if (t >= n) v = 0;"),
        lambda: [floats(32), np.zeros(32, np.float32), 8],
        WAVE,
        "M207",
    ),
    Case(
        "a slice of an output on purpose",
        SLICES,
        lambda: [floats(16), np.zeros(64, np.float32), 32, 16],
        {"grid": 16},
    ),
    Case(
        "rows of one expert only",
        ROUTED,
        lambda: [floats(64), ints(8) % 3, np.zeros(64, np.float32), 1],
        {"grid": (8, 8)},
    ),
    Case(
        "nibbles less eight", NIBBLES, lambda: [ints(64, np.uint8) * 3, np.zeros(128, np.int8)], {"grid": 64}
    ),
)
