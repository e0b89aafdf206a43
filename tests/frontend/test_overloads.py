"""Kernel templates of one name: an instantiation takes the one its arguments fit."""

from metalloid.frontend import compile_kernel
from metalloid.source import Source

TEXT = """#include <metal_stdlib>
using namespace metal;
template <typename T, typename M, int B> [[kernel, max_total_threads_per_threadgroup(B * 32)]]
void k(device T* x, device M* m) { x[0] = T(m[0]); }
template <typename T, int B, int C> [[kernel, max_total_threads_per_threadgroup(B * C * 32)]]
void k(device T* x) { x[0] = C; }
template [[host_name("with_mask")]] [[kernel]] decltype(k<float, bool, 2>) k<float, bool, 2>;
template [[host_name("without")]] [[kernel]] decltype(k<float, 2, 3>) k<float, 2, 3>;
"""


def test_each_instantiation_finds_its_template():
    masked = compile_kernel(Source(TEXT), "with_mask").signature
    plain = compile_kernel(Source(TEXT), "without").signature
    assert [p.name for p in masked.parameters] == ["x", "m"]
    assert [p.name for p in plain.parameters] == ["x"]
    assert (masked.max_total_threads, plain.max_total_threads) == (64, 192)
