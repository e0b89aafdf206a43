"""What is not supported is refused in one sentence with its line; the rest of the file still works."""
# ruff: noqa: E501  a row of a table is one line

import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.language.launch import build, poisoned, run

# Each a kernel on line 3, what the message must name, the line it must give.
KERNELS = {
    "texture": ("kernel void bad(texture2d<float> t [[texture(0)]], device float* o) { o[0] = t.read(uint2(0)).x; }", "texture2d", 3),
    "written texture": ("kernel void bad(device float* o,\n  texture2d<half, access::write> t [[texture(0)]]) { t.write(half4(1), uint2(0)); }", "texture2d", 4),
    "array of textures": ("kernel void bad(array<texture2d<float>, 4> t [[texture(0)]], device float* o) { o[0] = 1; }", "texture2d", 3),
    "qualified texture": ("kernel void bad(metal::texture3d<float> t [[texture(0)]], device float* o) { o[0] = 1; }", "texture3d", 3),
    "texture buffer": ("kernel void bad(texture_buffer<float> t [[texture(0)]], device float* o) { o[0] = 1; }", "texture_buffer", 3),
    "depth": ("kernel void bad(depth2d<float> t [[texture(0)]], device float* o) { o[0] = 1; }", "depth2d", 3),
    "sampler argument": ("kernel void bad(sampler s [[sampler(0)]], device float* o) { o[0] = 1; }", "sampler", 3),
    "sampler constant": ("constexpr sampler s(filter::linear);\nkernel void bad(device float* o) { o[0] = sizeof(s); }", "sampler", 3),
    "texture in a helper": ("float pick(texture2d<float> t) { return t.read(uint2(0)).x; }\nkernel void bad(texture2d<float> t [[texture(0)]], device float* o) { o[0] = pick(t); }", "texture2d", None),
    "texture in a struct": ("struct Args { texture2d<float> t [[id(0)]]; device float* o [[id(1)]]; };\nkernel void bad(constant Args& a [[buffer(0)]]) { a.o[0] = 1; }", "texture2d", 3),
    "ray tracing": ("kernel void bad(raytracing::primitive_acceleration_structure a [[buffer(0)]], device float* o) { o[0] = 1; }", "ray tracing", 3),
    "intersector": ("using namespace metal::raytracing;\nkernel void bad(device float* o) { intersector<triangle_data> i; o[0] = 1; }", "ray tracing|intersector", None),
    "acceleration structure": ("kernel void bad(acceleration_structure<> a [[buffer(0)]], device float* o) { o[0] = 1; }", "acceleration_structure", 3),
    "instance structure": ("using namespace raytracing;\nkernel void bad(instance_acceleration_structure a [[buffer(0)]], device float* o) { o[0] = 1; }", "ray tracing|instance_acceleration_structure", None),
    "function table": ("kernel void bad(visible_function_table<float(float)> f [[buffer(0)]], device float* o) { o[0] = f[0](1); }", "visible_function_table", 3),
    "intersection table": ("kernel void bad(raytracing::intersection_function_table<> f [[buffer(0)]], device float* o) { o[0] = 1; }", "intersection_function_table|ray tracing", 3),
    "tensor": ("kernel void bad(tensor<device half, dextents<int, 2>> t [[buffer(0)]], device float* o) { o[0] = 1; }", "tensor", 3),
    "imageblock": ("struct P { half4 c; };\nkernel void bad(imageblock<P> b, device float* o) { o[0] = 1; }", "imageblock", 4),
    "command buffer": ("kernel void bad(command_buffer c [[buffer(0)]], device float* o) { o[0] = 1; }", "command_buffer", 3),
    "pipeline state": ("kernel void bad(constant compute_pipeline_state& p [[buffer(0)]], device float* o) { o[0] = 1; }", "compute_pipeline_state", 3),
}  # fmt: skip
GOOD = "\nkernel void good(device float* o, uint i [[thread_position_in_grid]]) { o[i] = i * 2; }\n"


@pytest.mark.parametrize("name", KERNELS)
def test_unsupported_constructs(name: str) -> None:
    text, word, line = KERNELS[name]
    with pytest.raises(CompileError) as caught:
        build(text + GOOD, "bad")
    found = caught.value.diagnostics
    assert len(found) == 1, str(caught.value)
    assert any(w in found[0].message for w in word.split("|")) and "not supported" in found[0].message, found[
        0
    ]
    assert found[0].line == line or (line is None and found[0].line in (3, 4)), found[0]
    assert "\n" not in found[0].message
    out = poisoned(3, np.float32)
    run(text + GOOD, out, grid=3, threadgroup=2, kernel="good")
    np.testing.assert_array_equal(out, [0, 2, 4])


STAGES = """
struct Vertex { float4 position [[position]]; float2 uv [[user(uv)]]; };
vertex Vertex shade(uint id [[vertex_id]], constant float4* p [[buffer(0)]]) { return {p[id], float2(0)}; }
fragment half4 paint(Vertex v [[stage_in]], texture2d<half> t [[texture(0)]]) {
  constexpr sampler s(coord::normalized, filter::linear);
  return t.sample(s, v.uv);
}
[[vertex]] float4 other(uint id [[vertex_id]]) { return float4(id); }
[[fragment]] half4 last() { return half4(1); }
"""


@pytest.mark.parametrize("name", ["shade", "paint", "other", "last"])
def test_other_stages_are_not_kernels(name: str) -> None:
    with pytest.raises(CompileError) as caught:
        build(STAGES + GOOD, name)
    message = caught.value.diagnostics[0].message
    assert name in message and ("vertex" in message or "fragment" in message or "not a kernel" in message), (
        message
    )
    out = poisoned(3, np.float32)
    run(STAGES + GOOD, out, grid=3, threadgroup=3, kernel="good")
    np.testing.assert_array_equal(out, [0, 2, 4])


def test_a_visible_function_can_still_be_called() -> None:
    body = """
[[visible]] float twice(float x) { return x * 2; }
[[stitchable]] float thrice(float x) { return x * 3; }
kernel void k(device float* o) { o[0] = twice(4) + thrice(5); }"""
    out = poisoned(1, np.float32)
    run(body, out)
    assert out[0] == 23


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("kernel void k(device double* o) { o[0] = 1; }", "double"),
        ("kernel void k(device float* o) { float* p = new float[3]; o[0] = p[0]; }", "new"),
        ("struct A { virtual int f() { return 1; } };\nkernel void k(device int* o) { A a; o[0] = a.f(); }", "virtual"),
        ("kernel void k(device int* o) { again: o[0] += 1; if (o[0] < 5) goto again; }", "goto"),
        ("kernel int k(device int* o) { return 1; }", "returns"),
        ("kernel void k(device int* o, int n) { o[0] = n; }", "'n'"),
        ("kernel void k(float* o) { o[0] = 1; }", "address space"),
        ("kernel void k(device float* o [[buffer(31)]]) { o[0] = 1; }", "31"),
        ("kernel void k(device float* o [[buffer(1)]], device float* p [[buffer(1)]]) { o[0] = 1; p[0] = 1; }", "buffer(1)"),
        ("kernel void k(device float* o) { threadgroup float t[9000]; t[0] = o[0]; o[0] = t[1]; }", "32,768"),
        ("kernel void k(device float* o) { device float* p = (device float*)&o; thread float x = 1; p = &x; }", "address space"),
        ("float a(float x) { return x; }\nfloat b(float x) { return -x; }\nkernel void k(device float* o) { float (*f)(float) = o[0] > 1 ? a : b; o[0] = f(o[1]); }", "chosen at run time"),
        ("int counter = 0;\nkernel void k(device int* o) { counter++; o[0] = counter; }", "'counter' at file scope must be in `constant` memory"),
        ("threadgroup float x[4];\nkernel void k(device float* o) { x[0] = 1; o[0] = x[1]; }", "'x' at file scope"),
        ("kernel void k(device int* o) { static int n = 0; n++; o[0] = n; }", "all threads would share the variable 'n'"),
        ("kernel void k(device float* o) { threadgroup float x = 1; o[0] = x; }", "'x' cannot have an initial value"),
        ("kernel void k(device float* o) { threadgroup float y[2], x[2] = {1, 2}; o[0] = x[0] + y[0]; }", "'x' cannot have an initial value"),
        ("kernel void k(device float4* o) { o[0].xyx += o[1].xyz; }", "'.xyx' names a component twice"),
        ("kernel void k(device float* o, constant int& n) { float x[n]; for (int i = 0; i < n; i++) x[i] = o[i]; o[0] = x[int(o[1])]; }", "size of an array"),
        ("kernel void k(constant float* o) { o[0] = 1; }", "const"),
    ],
)  # fmt: skip
def test_what_metal_does_not_allow(text: str, word: str) -> None:
    with pytest.raises(CompileError) as caught:
        build(text)
    assert word in str(caught.value)
    assert caught.value.diagnostics[0].line >= 3


def test_constants_in_their_many_spellings_are_allowed() -> None:
    body = """
constant float a = 1; const constant float b = 2; constexpr constant float c = 3; static constant float d = 4;
constant constexpr static const float e = 5; inline constexpr constant float f = 6; constexpr float g = 7; const float h = 8;
constant float table[] = {9}; struct S { int v; } constant s = {10};
kernel void k(device float* o) { o[0] = a + b + c + d + e + f + g + h + table[0] + s.v; }"""
    out = poisoned(1, np.float32)
    run(body, out)
    assert out[0] == 55
