"""What was found in other people's kernels, and the twins of what cried wolf there (`docs/found-in-the-wild.md`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import metalloid as mt
from metalloid.runtime.kernel import Kernel
from tests.checker.second_round.case import Case, blank, floats, pair
from tests.checker.triplet import HEADER

# Of one file: a kernel, and another that divides by a function constant of its own, as ggml's mul_mv.metal has.
TWO_OF_A_FILE = """constant int rows [[function_constant(0)]];
kernel void k(device float* out, device const float* x, uint i [[thread_position_in_grid]]) { out[i] = 2 * x[i]; }
inline int share(int n) { return n / rows; }
kernel void other(device int* out, uint i [[thread_position_in_grid]]) { out[i] = share(i); }
"""
# A reference that is not there is passed by value, and not used: MLX's gemv_wide.
SWITCHED_OFF = """constant bool scaled [[function_constant(0)]];
struct Sizes { int n; float alpha, beta; };
struct Run {
    static void run(device float* out, device const float* x, float s, float b, float beta, int n, uint i) {
        float v = x[i];
        if ({TEST}) v = v * s + b * beta + n;
        if (i < 60) out[i] = v;
    }
};
kernel void k(device float* out [[buffer(0)]], device const float* x [[buffer(1)]],
              constant float& s [[buffer(2), function_constant(scaled)]],
              device const float* b [[buffer(3), function_constant(scaled)]],
              constant Sizes* sizes [[buffer(4), function_constant(scaled)]],
              constant int& n [[buffer(5), function_constant(scaled)]], uint i [[thread_position_in_grid]]) {
    Run::run(out, x, s, b[i], sizes->beta, n, i);
}"""
# The way of threadgroups of one SIMD-group, which larger ones do not take: ggml's argmax.
ONE_OR_MORE = """kernel void k(device float* out, device const float* x, uint g [[threadgroup_position_in_grid]],
              uint i [[thread_position_in_grid]], uint sg [[simdgroup_index_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint threads [[threads_per_threadgroup]]) {
    threadgroup float sums[32];
    float v = simd_max(x[i]);
    if ({TEST}) {
        if (sg == 0) sums[lane] = 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lane == 0) sums[sg] = v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[g] = simd_max(sums[lane]);
        return;
    }
    out[g] = v;
}"""


def given(text: str, name: str, constants: dict[Any, Any], *arguments: Any) -> Callable[[Kernel], None]:
    """A launch of 64 threads with function constants."""

    def call(_: Kernel) -> None:
        library = mt.device().library(HEADER + text, name="kernel.metal")
        library.kernel(name, constants=constants)(*arguments, grid=64)

    return call


USED, IDLE = SWITCHED_OFF.replace("{TEST}", "x[i] > 3"), SWITCHED_OFF.replace("{TEST}", "scaled")
CASES = (
    *pair(
        "a way for threadgroups of one SIMD-group",
        ONE_OR_MORE.replace("{TEST}", "threads > 128"),
        ONE_OR_MORE.replace("{TEST}", "threads > 32"),
        lambda: [blank(2), floats(256)],
        {"grid": 256, "threadgroup": 128},
        "M208",
    ),
    Case(
        "a division by a function constant that another kernel uses",
        TWO_OF_A_FILE,
        call=given(TWO_OF_A_FILE, "k", {}, blank(64), floats(64)),
    ),
    Case(
        "a division by a function constant of 0",
        TWO_OF_A_FILE,
        call=given(TWO_OF_A_FILE, "other", {0: 0}, blank(64).astype("int32")),
        find="M621",
    ),
    Case(
        "a division by a function constant of 3",
        TWO_OF_A_FILE,
        call=given(TWO_OF_A_FILE, "other", {0: 3}, blank(64).astype("int32")),
    ),
    Case(
        "values of parameters that are switched off, passed on and used",
        USED,
        call=given(USED, "k", {0: False}, blank(60), floats(64)),
        find="M101",
    ),
    Case(
        "values of parameters that are switched off, passed on and not used",
        IDLE,
        call=given(IDLE, "k", {0: False}, blank(60), floats(64)),
    ),
)
