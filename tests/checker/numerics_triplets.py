"""M401 to M406: kernels whose numbers go wrong, and twins whose infinities, halves and hashes are meant."""

from __future__ import annotations

import numpy as np

from tests.checker.triplet import Triplet, blank, floats


def halves(count: int, scale: float = 1.0) -> np.ndarray:
    return (scale * ((np.arange(count) * 37 % 64) / 64 + 0.25)).astype(np.float16)


def blank_halves(count: int) -> np.ndarray:
    return np.full(count, 7, np.float16)


def with_zeros(count: int) -> np.ndarray:
    x = floats(count)
    x[::5] = 0
    return x


def masked(count: int) -> np.ndarray:
    x = floats(count)
    x[3::4] = -np.inf
    return x


DIVIDE = """
kernel void divide(device float* out, device const float* x, device const float* y,
                   uint i [[thread_position_in_grid]]) {
    float inverse = 1 / y[i];
    out[i] = x[i] * {USED};
}
"""
ONE = """
kernel void one(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    float v = x[i];
    out[i] = {RESULT};
}
"""
SOFTMAX = """
kernel void softmax(device float* out, device const float* x, uint row [[thread_position_in_grid]]) {
    float top = -INFINITY;
    for (uint k = 0; k < 8; k++) {
        top = max(top, k <= row {MASK} ? x[row * 8 + k] : -INFINITY);
    }
    float sum = 0;
    for (uint k = 0; k < 8; k++) {
        float score = k <= row {MASK} ? x[row * 8 + k] : -INFINITY;
        float e = exp(score - top);
        out[row * 8 + k] = e;
        sum += e;
    }
    for (uint k = 0; k < 8; k++) {
        out[row * 8 + k] /= sum;
    }
}
"""
MAXIMUM = """
kernel void maximum(device float* out, device const float* x, constant uint& n,
                    uint lid [[thread_position_in_threadgroup]]) {
    float best = -INFINITY;
    for (uint k = lid; k < n; k += 32) {
        best = max(best, x[k]);
    }
    best = simd_max(best);
    if (lid == 0) {
        out[0] = best;
        out[1] = INFINITY;
    }
}
"""
SHARED = """
kernel void shared(device float* out, device const float* x, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = {VALUE};
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = s[63 - i] + 1;
}
"""
ROW_SUMS = """
kernel void row_sums(device half* out, device const half* x, constant uint& n,
                     uint row [[thread_position_in_grid]]) {
    {TYPE} sum = 0;
    for (uint i = 0; i < n; i++) {
        sum += {TYPE}(x[i]) * {TYPE}(row + 1);
    }
    out[row] = half(sum / {TYPE}(n));
}
"""
DOT = """
kernel void dots(device half* out, device const half* x, uint i [[thread_position_in_grid]]) {
    half4 a = half4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]);
    out[i] = dot(a, a) + a.x;
}
"""
NARROW_LOCAL = """
kernel void tree(device half* out, device const half* x, uint i [[thread_position_in_threadgroup]]) {
    threadgroup half s[256];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    {REDUCE}
    if (i == 0) {
        out[0] = s[0];
    }
}
"""
TREE = """for (uint step = 128; step > 0; step /= 2) {
        if (i < step) { s[i] += s[i + step]; }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }"""
CHAIN = """if (i == 0) { for (uint k = 1; k < 256; k++) { s[0] += s[k]; } }
    threadgroup_barrier(mem_flags::mem_threadgroup);"""
SQUARES = """
kernel void squares(device half* out, device const half* x, uint i [[thread_position_in_grid]]) {
    half v = x[i];
    out[i] = {RESULT};
}
"""
PREVIOUS = """
kernel void previous(device float* out, device const float* x, constant uint& D,
                     uint row [[thread_position_in_grid]]) {
    out[row] = {READ};
}
"""
HASHED = """
kernel void hashed(device float* out, device const float* x, constant uint& n,
                   uint i [[thread_position_in_grid]]) {
    uint h = (i ^ 61u) ^ (i >> 16);
    h *= 9u;
    h = (h ^ (h >> 4)) * 0x27d4eb2du;
    out[i] = x[(h * 2654435761u) % n] + x[(h ^ (h >> 15)) & 31u] + x[i - 1 + 1];
}
"""
FAR = """
kernel void far(device float* out, device const float* x, constant uint& stride,
                uint i [[thread_position_in_grid]]) {
    {WIDE} at = {WIDE}(i) * stride;
    if (at < 64) {
        out[i] = x[at];
    } else {
        out[i] = 0;
    }
}
"""
MASKED = """
kernel void masked(device float* out, device const float* x, constant uint& n,
                   uint i [[thread_position_in_grid]]) {
    float score = x[i] + (i < n ? 0.0f : {MASK});
    out[i] = exp(score);
}
"""
TESTED = """
kernel void tested(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    out[i] = isnan(x[i]) ? 0.0f : x[i];
}
"""
BINS = """kernel void histogram(device atomic_uint* out, device const uint* x,
                      uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint bins[4];
    if (t < 4) atomic_store_explicit(&bins[t], 0, memory_order_relaxed);
    {WAIT}
    atomic_fetch_add_explicit(&bins[x[i] % 4], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 4) atomic_fetch_add_explicit(&out[t], atomic_load_explicit(&bins[t], memory_order_relaxed),
                                         memory_order_relaxed);
}
"""
LAST = """
kernel void last(device atomic_uint* out, device const float* x, uint i [[thread_position_in_grid]]) {
    if (x[i] > 30) {
        {KEEP};
    }
}
"""
FIRST_COME = """
kernel void first_come(device atomic_uint* next, device float* out, device const float* x,
                       uint i [[thread_position_in_grid]]) {
    uint at = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    out[{WHERE}] = {WHAT};
}
"""
KEEP = "atomic_{}_explicit(out, i, memory_order_relaxed)"


def _replaced(text: str, **words: str) -> str:
    for word, value in words.items():
        text = text.replace("{" + word + "}", value)
    return text


def _simple(
    name: str, text: str, find: tuple[tuple[str, int], ...] = (), x=floats, math: str = "safe", **words: str
):
    return Triplet(
        name,
        _replaced(text, **words),
        lambda: [blank(64), x(64)],
        {"grid": 64, "threadgroup": 64},
        find,
        math,
    )


TRIPLETS = (
    Triplet(
        "M401 divisor of zero",
        _replaced(DIVIDE, USED="inverse"),
        lambda: [blank(64), floats(64), with_zeros(64)],
        {"grid": 64},
        (("M401", 4),),
        "safe",
    ),
    Triplet(
        "M401 twin: the quotient is used only where there is one",
        _replaced(DIVIDE, USED="(y[i] != 0 ? inverse : 0)"),
        lambda: [blank(64), floats(64), with_zeros(64)],
        {"grid": 64},
    ),
    _simple("M401 logarithm of zero", ONE, (("M401", 4),), with_zeros, RESULT="log(v)"),
    _simple("M401 twin: logarithm with epsilon", ONE, (), with_zeros, RESULT="log(max(v, 1e-6f))"),
    _simple("M401 root of a negative number", ONE, (("M401", 4),), RESULT="sqrt(v - 2)"),
    _simple("M401 exponential that does not fit", ONE, (("M401", 4),), RESULT="exp(v * 10)"),
    _simple("M401 twin: sigmoid may overflow inside", ONE, (), RESULT="1 / (1 + exp(v * 10))"),
    _simple("M401 twin: infinities of the input pass through", ONE, (), masked, RESULT="v * 2"),
    _simple("M401 born in threadgroup memory", SHARED, (("M401", 4),), with_zeros, VALUE="1 / x[i]"),
    _simple("M401 twin: nothing born in threadgroup memory", SHARED, (), with_zeros, VALUE="1 / (x[i] + 1)"),
    Triplet(
        "M401 a row that is masked completely",
        _replaced(SOFTMAX, MASK="&& row != 5"),
        lambda: [blank(8, 8), floats(64)],
        {"grid": 8},
        (("M401", 10),),
        "safe",
    ),
    Triplet(
        "M401 twin: softmax with -INFINITY masks",
        _replaced(SOFTMAX, MASK=""),
        lambda: [blank(8, 8), floats(64)],
        {"grid": 8},
        (),
        "safe",
    ),
    Triplet(
        "M401 twin: a maximum that starts at -INFINITY, of nothing",
        MAXIMUM,
        lambda: [blank(2), floats(64), 0],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M402 mean in half",
        _replaced(ROW_SUMS, TYPE="half"),
        lambda: [blank_halves(32), np.full(150, 0.7, np.float16), 150],
        {"grid": 32},
        (("M402", 6),),
    ),
    Triplet(
        "M402 twin: mean in float",
        _replaced(ROW_SUMS, TYPE="float"),
        lambda: [blank_halves(32), np.full(150, 0.7, np.float16), 150],
        {"grid": 32},
    ),
    Triplet(
        "M402 one thread adds up all partial sums in half",
        _replaced(NARROW_LOCAL, REDUCE=CHAIN),
        lambda: [blank_halves(1), halves(256)],
        {"grid": 256, "threadgroup": 256},
        (("M402", 6),),
    ),
    Triplet(
        "M402 twin: a tree in half",
        _replaced(NARROW_LOCAL, REDUCE=TREE),
        lambda: [blank_halves(1), halves(256)],
        {"grid": 256, "threadgroup": 256},
    ),
    Triplet("M402 twin: four terms", DOT, lambda: [blank_halves(64), halves(256)], {"grid": 64}),
    Triplet(
        "M403 squares in half",
        _replaced(SQUARES, RESULT="v * v"),
        lambda: [blank_halves(64), halves(64, 300)],
        {"grid": 64},
        (("M403", 4),),
    ),
    Triplet(
        "M403 twin: squares that fit",
        _replaced(SQUARES, RESULT="v * v"),
        lambda: [blank_halves(64), halves(64, 100)],
        {"grid": 64},
    ),
    Triplet(
        "M403 the output is zeros",
        _replaced(SQUARES, RESULT="v / (v * v + half(1))"),
        lambda: [blank_halves(64), halves(64, 300)],
        {"grid": 64},
        (("M403", 4),),
    ),
    Triplet(
        "M403 twin: the same in float",
        _replaced(SQUARES, RESULT="half(float(v) / (float(v) * float(v) + 1))"),
        lambda: [blank_halves(64), halves(64, 300)],
        {"grid": 64},
    ),
    Triplet(
        "M403 twin: sigmoid in half may overflow inside",
        _replaced(SQUARES, RESULT="half(1) / (half(1) + exp(v))"),
        lambda: [blank_halves(64), halves(64, 300)],
        {"grid": 64},
    ),
    Triplet(
        "M404 row * D - 1",
        _replaced(PREVIOUS, READ="x[row * D - 1]"),
        lambda: [blank(8), floats(64), 8],
        {"grid": 8},
        (("M404", 4),),
    ),
    Triplet(
        "M404 twin: row * D - 1 where there is a row before",
        _replaced(PREVIOUS, READ="row > 0 ? x[row * D - 1] : 0"),
        lambda: [blank(8), floats(64), 8],
        {"grid": 8},
    ),
    Triplet(
        "M404 twin: below zero on the way only",
        _replaced(PREVIOUS, READ="x[row - 1 + D] + x[int(row) - 1 + int(D)]"),
        lambda: [blank(8), floats(64), 1],
        {"grid": 8},
    ),
    Triplet("M404 twin: hashes wrap", HASHED, lambda: [blank(64), floats(64), 64], {"grid": 64}),
    Triplet(
        "M404 a product of 32 bits",
        _replaced(FAR, WIDE="uint"),
        lambda: [blank(64), floats(64), 1 << 28],
        {"grid": 64},
        (("M404", 6),),
    ),
    Triplet(
        "M404 twin: a product of 64 bits",
        _replaced(FAR, WIDE="ulong"),
        lambda: [blank(64), floats(64), 1 << 28],
        {"grid": 64},
    ),
    Triplet(
        "M405 -INFINITY as a mask",
        _replaced(MASKED, MASK="-INFINITY"),
        lambda: [blank(64), floats(64), 40],
        {"grid": 64},
        (("M405", 4),),
    ),
    Triplet(
        "M405 twin: -INFINITY as a mask in safe math",
        _replaced(MASKED, MASK="-INFINITY"),
        lambda: [blank(64), floats(64), 40],
        {"grid": 64},
        (),
        "safe",
    ),
    _simple("M405 a mask of the caller", ONE, (("M405", 4),), masked, math="fast", RESULT="exp(v - 37)"),
    _simple("M405 twin: a mask of the caller in safe math", ONE, (), masked, RESULT="exp(v - 37)"),
    Triplet(
        "M405 twin: a finite mask",
        _replaced(MASKED, MASK="-1e30f"),
        lambda: [blank(64), floats(64), 40],
        {"grid": 64},
    ),
    _simple("M405 isnan", TESTED, (("M405", 3),), math="fast"),
    _simple("M405 twin: isnan in safe math", TESTED),
    Triplet(
        "M405 twin: a maximum that starts at -INFINITY",
        MAXIMUM,
        lambda: [blank(2), floats(64), 64],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M406 the last one wins",
        _replaced(LAST, KEEP=KEEP.format("store")),
        lambda: [np.zeros(1, np.uint32), floats(256)],
        {"grid": 256, "threadgroup": 64},
        (("M406", 4),),
    ),
    Triplet(
        "M406 twin: the largest wins",
        _replaced(LAST, KEEP=KEEP.format("fetch_max")),
        lambda: [np.zeros(1, np.uint32), floats(256)],
        {"grid": 256, "threadgroup": 64},
    ),
    Triplet(
        "M406 who comes first decides what is computed",
        _replaced(FIRST_COME, WHERE="i", WHAT="x[i] * at"),
        lambda: [np.zeros(1, np.uint32), blank(256), floats(256)],
        {"grid": 256, "threadgroup": 64},
        (("M406", 4),),
    ),
    Triplet(
        "M406 twin: a counter hands out places",
        _replaced(FIRST_COME, WHERE="at", WHAT="x[i]"),
        lambda: [np.zeros(1, np.uint32), blank(256), floats(256)],
        {"grid": 256, "threadgroup": 64},
    ),
    Triplet(
        "M406 bins are cleared while others count",
        _replaced(BINS, WAIT=""),
        lambda: [np.zeros(4, np.uint32), np.arange(128, dtype=np.uint32)],
        {"grid": 128, "threadgroup": 128},
        (("M406", 4),),
    ),
    Triplet(
        "M406 twin: a barrier behind clearing the bins",
        _replaced(BINS, WAIT="threadgroup_barrier(mem_flags::mem_threadgroup);"),
        lambda: [np.zeros(4, np.uint32), np.arange(128, dtype=np.uint32)],
        {"grid": 128, "threadgroup": 128},
    ),
)
