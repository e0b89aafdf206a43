"""What C++ leaves undefined, and the optimiser with it: private arrays, variables nobody set, divisions and shifts."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case, blank, floats, ints, pair

HEAD = "kernel void k(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {"
ARRAY = HEAD + " float a[4] = {1, 2, 3, 4}; out[i] = x[i] * a[{AT}]; }"
FILL = HEAD + " float a[4]; for (uint k = 0; k {TEST} 4; k++) a[k] = x[i]; out[i] = a[3]; }"
UNSET = HEAD + " float scale{SET}; if (i > 3) scale = 2; out[i] = x[i] * scale; }"
NEVER = HEAD + " float sum{SET}; for (uint k = 0; k < 4; k++) sum += x[i]; out[i] = sum; }"
DEAD_STORE = HEAD + " threadgroup float s[64]; s[{AT}] = 1; out[i] = x[i]; }"
BY_ZERO = HEAD + " out[i] = int(x[i]) / {D}; }"
SHIFT = HEAD + " out[i] = 1u << {N}; }"
SIGNED = """kernel void k(device float* out, device const float* x, constant int& n,
                     uint i [[thread_position_in_grid]]) {
    if ({TEST}) return;
    out[i] = x[i];
}"""
PRIVATE_2D = (
    HEAD + " float a[4][4]; for (int k = 0; k < 16; k++) a[k / 4][k % 4] = k; out[i] = a[1][i % {N}]; }"
)
NO_RETURN = (
    "inline float twice(float v) { if (v > 0) return 2 * v; {REST} }\n" + HEAD + " out[i] = twice(x[i]); }"
)
SELF = HEAD + " float v = {INIT}; out[i] = v; }"
LOCAL = """kernel void k(device float* out, device const float* x, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = s[{AT}];
}"""


def arrays():
    return [blank(64), floats(64)]


def whole():
    return [np.full(64, 77, np.int32), ints(64), ints(64) % 4]


ONE = {"grid": 64}
CASES = (
    *pair(
        "a constant index past a private array",
        ARRAY.replace("{AT}", "4"),
        ARRAY.replace("{AT}", "3"),
        arrays,
        ONE,
        "M623",
    ),
    *pair(
        "a private array filled past its end",
        FILL.replace("{TEST}", "<="),
        FILL.replace("{TEST}", "<"),
        arrays,
        ONE,
        "M109",
    ),
    *pair(
        "a variable set on one way only",
        UNSET.replace("{SET}", ""),
        UNSET.replace("{SET}", " = 1"),
        arrays,
        ONE,
        "M622",
    ),
    *pair(
        "a sum that starts anywhere",
        NEVER.replace("{SET}", ""),
        NEVER.replace("{SET}", " = 0"),
        arrays,
        ONE,
        "M622",
    ),
    *pair(
        "a store outside that nobody reads",
        DEAD_STORE.replace("{AT}", "i + 1"),
        DEAD_STORE.replace("{AT}", "i"),
        arrays,
        {"grid": 64, "threadgroup": 64},
        "M102",
    ),
    *pair(
        "a division by a constant 0",
        BY_ZERO.replace("{D}", "0"),
        BY_ZERO.replace("{D}", "3"),
        arrays,
        ONE,
        "M621",
    ),
    *pair("a shift by all bits", SHIFT.replace("{N}", "32"), SHIFT.replace("{N}", "31"), arrays, ONE, "M621"),
    *pair(
        "a negative number compared with an unsigned one",
        SIGNED.replace("{TEST}", "i >= n"),
        SIGNED.replace("{TEST}", "int(i) >= n"),
        lambda: [blank(64), floats(64), 64],
        ONE,
        "",
    ),
    *pair(
        "a row overrun in a private array of two axes",
        PRIVATE_2D.replace("{N}", "5"),
        PRIVATE_2D.replace("{N}", "4"),
        arrays,
        ONE,
        "M109",
    ),
    *pair(
        "a function without a value on one way",
        NO_RETURN.replace("{REST}", ""),
        NO_RETURN.replace("{REST}", "return 0;"),
        arrays,
        ONE,
        "M622",
    ),
    *pair(
        "a variable made of itself",
        SELF.replace("{INIT}", "v + 1"),
        SELF.replace("{INIT}", "x[i] + 1"),
        arrays,
        ONE,
        "M622",
    ),
    *pair(
        "a constant index past threadgroup memory",
        LOCAL.replace("{AT}", "64"),
        LOCAL.replace("{AT}", "63"),
        arrays,
        {"grid": 64, "threadgroup": 64},
        "M101",
    ),
)
CASES = tuple(c for c in CASES if isinstance(c, Case))
