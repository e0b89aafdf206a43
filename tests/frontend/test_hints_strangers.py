"""What people who come from OpenCL, C++ and CPUs write, and the sentence they get."""

from __future__ import annotations

import pytest

import metalloid as mt

HEAD = """#include <metal_stdlib>
using namespace metal;
kernel void k(device const int* x, device int* y, device atomic_int* count, device const float* f,
              uint i [[thread_position_in_grid]]) {
"""
OPERATORS = "an atomic is read and changed by functions, not by operators"
CASES = {
    "count[0] += 1;": (OPERATORS, "atomic_fetch_add_explicit(&x, value, memory_order_relaxed)"),
    "count[x[i]]++;": (OPERATORS, "atomic_fetch_add_explicit(&x, 1, memory_order_relaxed)"),
    "count[0] = 1;": (OPERATORS, "atomic_store_explicit"),
    "int v = count[0]; y[i] = v;": (OPERATORS, "atomic_load_explicit"),
    "if (count[0] == 3) y[i] = 1;": (OPERATORS, "atomic_load_explicit"),
    "y[i] = x[i] + count[0];": (OPERATORS, "atomic_load_explicit"),
    "atomic_fetch_add(&count[0], 1);": ("atomic_fetch_add_explicit`, with `memory_order_relaxed`", ""),
    "atomic_add(&count[0], 1);": ("'atomic_add' is OpenCL; Metal has `atomic_fetch_add_explicit", ""),
    "threadgroup_barrier();": ("takes the memory that it is for", "mem_flags::mem_threadgroup"),
    "threadgroup_barrier(mem_threadgroup);": ("Metal has `mem_flags::mem_threadgroup`", ""),
    "barrier(CLK_LOCAL_MEM_FENCE);": ("is OpenCL; Metal has `mem_flags::mem_threadgroup`", ""),
    "y[i] = get_global_id(0);": ("is OpenCL; Metal has `thread_position_in_grid`", "is its `.x`"),
    "y[i] = as_int(f[i]);": ("is OpenCL; Metal has `as_type<int>(x)`", ""),
    "bfloat16_t b = 1; y[i] = int(b);": ("Metal has `bfloat`", ""),
    "y[i] = f[i] % 2.0f;": ("no operator here takes", "`fmod(x, y)`"),
    "y[i] = f[i] << 2;": ("no operator here takes", "`as_type<uint>(x)`"),
    "y[i] = simd_sum(x[i], 2);": ("'simd_sum' takes 1 argument(s); 2 given", "no number of lanes"),
    "y[i] = simd_sum();": ("'simd_sum' takes 1 argument(s); 0 given", ""),
    "y[i] = dot(int3(x[i]), int3(1));": ("takes vectors of float or half; `int3` given", "`float3(...)`"),
    "y[i] = length(uint2(x[i]));": ("takes vectors of float or half; `uint2` given", "`float2(...)`"),
    "y[i] = cross(int3(x[i]), int3(1)).x;": ("`int3` given", "`float3(...)`"),
    "y[i] = dot(f[i], f[i]);": ("'dot' takes vectors; `float` given", "`a * b`"),
    "return 1;": ("returns nothing", "writes what it has found to a buffer"),
}


@pytest.mark.parametrize("body", CASES)
def test_says_what_to_write(body):
    message, hint = CASES[body]
    with pytest.raises(mt.CompileError) as caught:
        mt.device("cpu").library(f"{HEAD}  {body}\n}}", name="stranger.metal")
    (said, *_) = caught.value.diagnostics
    assert said.rule and message in said.message and hint in said.hint


def test_a_long_line_of_indices_is_read_at_once():
    """A pattern tried every way to part them: eleven products took 25 seconds, and sixteen did not end."""
    products = " + ".join(f"m[{n % 4}][{n // 4}] * m[{n // 4}][{n % 4}]" for n in range(16))
    body = f"int m[4][4] = {{}}; y[i] = {products}; count[m[0][m[1][2]]] += 1;"
    with pytest.raises(mt.CompileError) as caught:
        mt.device("cpu").library(f"{HEAD}  {body}\n}}", name="stranger.metal")
    assert OPERATORS in caught.value.diagnostics[0].message


def test_own_names_that_are_words_of_opencl_are_the_authors():
    text = f"{HEAD}  int mad = x[i], barrier = 2, rand = 3; y[i] = mad + barrier + rand;\n}}"
    assert mt.device("cpu").library(text).kernels == ("k",)
