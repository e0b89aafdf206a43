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


SAME_TEMPLATE_PARAMETERS = """#include <metal_stdlib>
using namespace metal;
namespace steps {
template <typename T> struct Plain { device T* x; };
template <typename T> struct Fast { device T* x; device T* speed; };
template <typename T> kernel void move(device Plain<T>& all [[buffer(0)]], constant float& rate [[buffer(1)]],
                                       uint i [[thread_position_in_grid]]) { all.x[i] += T(rate); }
template <typename T> kernel void move(device Fast<T>& all [[buffer(0)]], constant float& rate [[buffer(1)]],
                                       constant float& decay [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  all.speed[i] = T(decay * all.speed[i] + rate);
  all.x[i] += all.speed[i];
}
template <typename T> kernel void move(device Fast<T>& all [[buffer(3)]], constant uint& rate [[buffer(1)]],
                                       uint i [[thread_position_in_grid]]) { all.speed[i] = T(rate); }
#define BOTH(T) \\
  template [[host_name("plain_" #T)]] kernel void move<T>(device Plain<T>& all [[buffer(0)]], \\
      constant float& rate [[buffer(1)]], uint i [[thread_position_in_grid]]); \\
  template [[host_name("fast_" #T)]] kernel void move<T>(device Fast<T>&, constant float&, constant float&, uint); \\
  template [[host_name("set_" #T)]] kernel void move<T>(device Fast<T>& all [[buffer(3)]], \\
      constant uint& rate [[buffer(1)]], uint i [[thread_position_in_grid]]);
BOTH(float)
BOTH(half)
}
"""


def test_templates_with_the_same_parameters_are_told_apart_by_what_the_kernels_take():
    for type in ("float", "half"):
        plain, fast, put = (
            compile_kernel(Source(SAME_TEMPLATE_PARAMETERS), f"{which}_{type}").signature
            for which in ("plain", "fast", "set")
        )
        assert [(p.index, str(p.type)) for p in plain.buffers] == [(0, f"Plain<{type}>"), (1, "float")]
        assert [p.name for p in fast.buffers] == ["all", "rate", "decay"]
        assert [(p.index, str(p.type)) for p in put.buffers] == [(1, "uint"), (3, f"Fast<{type}>")]
