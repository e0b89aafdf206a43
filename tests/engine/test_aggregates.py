"""Values of several parts: results of two numbers, complex numbers in structs, through branches, loops and barriers."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.cpu.build import cpu_program
from metalloid.compile import scalar
from metalloid.ir import read
from metalloid.ir.layout import data_layout
from metalloid.source import Source
from metalloid.transforms.scalarize_aggregates import scalarize_aggregates
from tests.engine.both import HEADER, launch, same

X = np.linspace(-9, 9, 100).astype(np.float32)


@pytest.mark.parametrize("math", ["safe", "relaxed", "fast"])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("cos(x) - sin(x)", np.cos(X) - np.sin(X)),
        ("sin(x) * cos(x) + sin(x + 1)", np.sin(X) * np.cos(X) + np.sin(X + 1)),
        ("x > 0 ? sin(x) : cos(x)", np.where(X > 0, np.sin(X), np.cos(X))),
        ("tan(x * 0.1f) + cos(x * 0.1f)", np.tan(X * 0.1) + np.cos(X * 0.1)),
        ("sincos(x, y[i]) * y[i]", np.sin(X) * np.cos(X)),
    ],
)
def test_two_functions_in_one_expression(math: str, body: str, expected: np.ndarray) -> None:
    text = f"""kernel void k(device const float* in, device float* y, uint i [[thread_position_in_grid]]) {{
        float x = in[i]; y[i] = {body}; }}"""
    _, got = same(text, [X, np.full(100, np.nan, np.float32)], 100, 32, math=math, tolerance=1e-6)
    np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-6)


ROTARY = """kernel void k(device float2* x, constant float& base, uint2 p [[thread_position_in_grid]]) {
    float angle = float(p.y) * precise::exp2(-float(p.x) * base);
    float2 v = x[p.y * 16 + p.x];
    float c = precise::cos(angle), s = precise::sin(angle);
    x[p.y * 16 + p.x] = float2(v.x * c - v.y * s, v.x * s + v.y * c); }"""


def test_rotary_embedding() -> None:
    same(
        ROTARY, [np.random.default_rng(0).random((8, 16, 2), np.float32), np.float32([0.5])], (16, 8), (16, 2)
    )


COMPLEX = """
struct complex { float re, im;
  complex operator*(complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; } };
static complex exponential(complex z) { float m = exp(z.re); return {m * cos(z.im), m * sin(z.im)}; }
kernel void k(device const complex* in, device complex* out, uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]]) {
  threadgroup complex shared[32];
  complex z = in[i], product = {1, 0};
  for (uint n = 0; n < i % 5; n++) product = n & 1 ? product * z : exponential(z);
  shared[t] = product;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = i % 3 ? shared[t ^ 1] : product * exponential(z);
}"""


@pytest.mark.parametrize("math", ["safe", "fast"])
def test_complex_numbers(math: str) -> None:
    z = np.random.default_rng(1).random((64, 2), np.float32)
    same(COMPLEX, [z, np.full((64, 2), np.nan, np.float32)], 64, 32, math=math, tolerance=1e-5, widths=(0, 8))


# What no front end writes today: whole structs in memory, phis and selects of nested ones.
NO_WRAP = """
  %in = call ptr addrspace(1) @__mt_buffer(i32 0)
  %out = call ptr addrspace(1) @__mt_buffer(i32 1)
  %t = call i32 @__mt_thread_position_in_grid(i32 0)
  %at = getelementptr { i32, [2 x float], i16 }, ptr addrspace(1) %in, i32 %t
  %a = load { i32, [2 x float], i16 }, ptr addrspace(1) %at, align 4
  %n = extractvalue { i32, [2 x float], i16 } %a, 0
  %pair = extractvalue { i32, [2 x float], i16 } %a, 1
  %odd.bit = and i32 %n, 1
  %odd = icmp ne i32 %odd.bit, 0
  br i1 %odd, label %left, label %right
left:
  %x = extractvalue [2 x float] %pair, 1
  %swapped = insertvalue [2 x float] %pair, float %x, 0
  %b = insertvalue { i32, [2 x float], i16 } %a, [2 x float] %swapped, 1
  br label %end
right:
  %c = insertvalue { i32, [2 x float], i16 } { i32 7, [2 x float] [float 1.0, float 2.0], i16 3 }, i32 %n, 0
  br label %end
end:
  %d = phi { i32, [2 x float], i16 } [ %b, %left ], [ %c, %right ]
  %few = icmp ult i32 %t, 20
  %e = select i1 %few, { i32, [2 x float], i16 } %d, { i32, [2 x float], i16 } zeroinitializer
  %f = freeze { i32, [2 x float], i16 } %e
  %to = getelementptr { i32, [2 x float], i16 }, ptr addrspace(1) %out, i32 %t
  store { i32, [2 x float], i16 } %f, ptr addrspace(1) %to, align 4
  ret void
"""


def test_whole_structs() -> None:
    text = "kernel void k(device int* a, device int* b, uint i [[thread_position_in_grid]]) { a[i] = b[i]; }"
    ir, signature = scalar(Source(HEADER + text), "k")
    start = ir.index("{", ir.index("define")) + 1
    ir = ir[:start] + "\nentry:" + NO_WRAP + ir[ir.index("\n}", start) :]
    module = read(ir)
    function = scalarize_aggregates(module.function["__mt_entry"], data_layout(module.datalayout))
    assert not any(str(i.type).startswith(("{", "[")) for i in function.instructions())
    data = np.zeros((40, 4), np.int32)
    data[:, 0] = np.arange(40) * 7
    data[:, 1:3] = np.random.default_rng(2).random((40, 2), np.float32).view(np.int32)
    data[:, 3] = np.arange(40)
    expected, got = np.zeros_like(data), np.zeros_like(data)
    want = np.array([7, *np.float32([1, 2]).view(np.int32), 3], np.int32) * np.ones((40, 1), np.int32)
    want[:, 0] = data[:, 0]
    odd = data[:, 0] % 2 == 1
    want[odd] = data[odd]
    want[odd, 1] = data[odd, 2]
    want[20:] = 0
    cpu_program(ir, signature).run(launch([data, got], 40, 16))
    np.testing.assert_array_equal(got, want)
    interpret.run(ir, launch([data, expected], 40, 16))
    np.testing.assert_array_equal(expected, want)
