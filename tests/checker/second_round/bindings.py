"""Arguments of the right type in the wrong place."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case, floats, ints, pair, twin

COPY = """kernel void k(device const float* src, device float* dst, uint i [[thread_position_in_grid]]) {
    dst[i] = 2 * src[i];
}"""
ADD = """kernel void k(device const float* a, device const float* b, device float* out,
                     uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + b[i];
}"""
COUNTS = """kernel void k(device const int* keys, device int* out, uint i [[thread_position_in_grid]]) {
    out[i] = keys[i] + 1;
}"""
SWAPPED = Case(
    "source and target swapped", COPY, lambda: [np.zeros(64, np.float32), floats(64)], {"grid": 64}, "M310"
)
LAST = Case(
    "output first in the call",
    ADD,
    lambda: [np.zeros(64, np.float32), floats(64), floats(64) + 1],
    {"grid": 64},
    "M310",
)
WHOLE = Case(
    "whole numbers swapped", COUNTS, lambda: [np.zeros(64, np.int32), ints(64) + 5], {"grid": 64}, "M310"
)
GROUPS = """kernel void k(device const float* x, device float* out, uint row [[{ROW}]],
                     uint t [[thread_index_in_threadgroup]]) {
    float v = simd_sum(x[row * 32 + t]);
    if (t == 0) out[row] = v;
}"""


def labelled(*names: str):
    """A launch of buffers with labels, all of them filled."""

    def launch(kernel):
        buffers = [kernel.device.buffer(floats(64) + n) for n in range(len(names))]
        for buffer, name in zip(buffers, names, strict=True):
            buffer.label = name
        kernel(*buffers, grid=64)

    return launch


def in_turns(kernel):
    src, dst = floats(64), floats(64) + 1
    kernel(src, dst, grid=64)
    kernel(dst, src, grid=64)


def three_moved_on(kernel):
    a, b, out = floats(64), floats(64) + 1, floats(64) + 2
    kernel(out, a, b, grid=64)


def other_way_round(kernel):
    a, b, out = floats(64), floats(64) + 1, np.zeros(64, np.float32)
    kernel(b, a, out, grid=64)


CASES = (
    Case("labels of two inputs swapped", ADD, find="M310", says="'b'", call=labelled("b", "a", "out")),
    Case("labels that are the parameters", ADD, call=labelled("a", "b", "out")),
    Case("labels all moved by one", ADD, find="M310", says="'out'", call=labelled("out", "a", "B")),
    Case("labels that say something else", ADD, call=labelled("b", "bias", "c")),
    Case("an output first in the call, all filled", ADD, find="M310", says="'out'", call=three_moved_on),
    Case("two buffers that take turns", COPY, call=in_turns),
    Case("two labelled buffers that take turns", COPY, call=labelled("dst", "src")),
    Case("two inputs the other way round on purpose", ADD, call=other_way_round),
    SWAPPED,
    twin(SWAPPED, arguments=lambda: [floats(64), np.zeros(64, np.float32)]),
    LAST,
    twin(LAST, arguments=lambda: [floats(64), floats(64) + 1, np.zeros(64, np.float32)]),
    WHOLE,
    twin(WHOLE, arguments=lambda: [ints(64) + 5, np.zeros(64, np.int32)]),
    Case("an output that is used again", COPY, lambda: [floats(64), floats(64) + 3], {"grid": 64}),
    Case(
        "an input of zeros", COPY, lambda: [np.zeros(64, np.float32), np.zeros(64, np.float32)], {"grid": 64}
    ),
    *pair(
        "the thread's position where the threadgroup's was meant",
        GROUPS.replace("{ROW}", "thread_position_in_grid"),
        GROUPS.replace("{ROW}", "threadgroup_position_in_grid"),
        lambda: [floats(256), np.zeros(8, np.float32)],
        {"grid": 256, "threadgroup": 32},
        "M101",
    ),
)
