"""What clang would take and Apple's compiler does not: refused by rule, with what to write instead."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import pytest

import metalloid as mt

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
WHO = "uint i [[thread_position_in_grid]]"

REFUSED = {
    "an array of a length that comes at run time": (
        f"kernel void k(device float* o, constant uint& n, {WHO}) {{ float a[n]; a[0] = 1; o[i] = a[0]; }}",
        "M613 the size of an array must be known",
        "use a constant",
    ),
    "the same in a function": (
        f"float f(int n) {{ float a[n]; a[n / 2] = 1; return a[0]; }}\nkernel void k(device float* o, {WHO}) {{ o[i] = f(int(i)); }}",
        "M613 the size of an array must be known",
        "use a constant",
    ),
    "a thread's array as device memory": (
        f"kernel void k(device float* o, {WHO}) {{ float x[8]; for (int j = 0; j < 8; j++) x[j] = j; device float* p = (device float*)x; o[i] = p[i & 7]; }}",
        "M615 'x' lies in the thread's own memory and is cast to `device`",
        "copy the values",
    ),
    "a thread's variable as threadgroup memory": (
        f"kernel void k(device float* o, {WHO}) {{ float x = i; threadgroup float* p = (threadgroup float*)&x; o[i] = *p; }}",
        "M615 'x' lies in the thread's own memory and is cast to `threadgroup`",
        "copy the values",
    ),
    "device memory as the thread's own": (
        f"kernel void k(device float* o, {WHO}) {{ thread float* p = (thread float*)o; o[i] = p[i]; }}",
        "M615 'o' lies in device memory and is cast to `thread`",
        "copy the values",
    ),
    "a thread's pointer to device memory": (
        f"kernel void k(device float* o, {WHO}) {{ thread float* p = o; o[i] = p[i]; }}",
        "M615 'o' lies in device memory and `p` is declared to point at the thread's own",
        "declare it `device float\\* p`",
    ),
    "a pointer without a space to device memory": (
        f"kernel void k(device float* o, {WHO}) {{ const float* p = o + 1; o[i] = p[i]; }}",
        "M615 `p` does not say which memory it points into, and 'o' lies in device memory",
        "declare it `device const float\\* p`",
    ),
    "a pointer without a space to constants": (
        f"kernel void k(device float* o, constant uint4* q, {WHO}) {{ uint4 const *p = q; o[i] = p[i].x; }}",
        "M615 `p` does not say which memory it points into, and 'q' lies in constant memory",
        "declare it `constant uint4 const\\* p`",
    ),
    "a thread's pointer to an element of threadgroup memory": (
        f"float f(threadgroup float* s, int n) {{ const thread float* p = &s[n * (n + 1)]; return *p; }}\nkernel void k(device float* o, threadgroup float* s [[threadgroup(0)]], {WHO}) {{ o[i] = f(s, 1); }}",
        "M615 's' lies in threadgroup memory and `p` is declared",
        "declare it `threadgroup float\\* p`",
    ),
    "a trap": (
        f"kernel void k(device float* o, {WHO}) {{ if (o[i] > 1) __builtin_trap(); o[i] = 1; }}",
        "M613 Metal has no `__builtin_trap`",
        "write an error code",
    ),
    "constant memory as device memory": (
        f"kernel void k(device float* o, constant int* q, {WHO}) {{ device int* p = (device int*)q; o[i] = p[i]; }}",
        "M615 'q' lies in constant memory and is cast to `device`",
        "copy the values",
    ),
    "device memory as threadgroup memory": (
        f"kernel void k(device float* o, {WHO}) {{ threadgroup float* p = (threadgroup float*)o; o[i] = p[0]; }}",
        "address spaces|M615",
        "",
    ),
    "device memory as the thread's own, in a function": (
        f"float get(device const float* p) {{ thread const float* q = (thread const float*)p; return q[0]; }}\nkernel void k(device float* o, {WHO}) {{ o[i] = get(o + i); }}",
        "M615 'p' lies in device memory and is cast to `thread`",
        "copy the values",
    ),
    "a type with a name, in a macro": (
        f"typedef device uint* P;\n#define AS_DEVICE(x) ((P)(x))\nkernel void k(device uint* o, constant uint* c, {WHO}) {{ AS_DEVICE(c)[i] = 3; o[i] = c[i]; }}",
        "M615 'c' lies in constant memory and is cast to `device`",
        "copy the values",
    ),
    "a reinterpret_cast": (
        f"kernel void k(device float* o, threadgroup float* s [[threadgroup(0)]], {WHO}) {{ auto p = reinterpret_cast<device float*>(s + i); o[i] = *p; }}",
        "M615 a pointer to threadgroup memory cannot become `device float\\*`",
        "declare the pointer `threadgroup`, or copy the data",
    ),
    "a threadgroup variable in a lambda": (
        f"kernel void k(device float* o, {WHO}) {{ auto f = [&](float v) -> float {{ threadgroup float t[4]; t[i & 3] = v; return t[i & 3]; }}; o[i] = f(1); }}",
        "M613 threadgroup variable 't' is declared in a lambda, which is not a kernel",
        "in front of the lambda",
    ),
    "a sum of 64 bits": (
        f"kernel void k(device atomic_ulong* o, {WHO}) {{ atomic_fetch_add_explicit(o, 1ul, memory_order_relaxed); }}",
        "M613 Metal's atomic_ulong has a minimum and a maximum",
        "two atomic_uint",
    ),
    "acquire": (
        f"kernel void k(device atomic_uint* o, device uint* p, {WHO}) {{ p[i] = atomic_load_explicit(o, memory_order_acquire); }}",
        "M613 Metal's atomics take memory_order_relaxed only",
        "atomic_thread_fence",
    ),
    "seq_cst in a compare and exchange": (
        f"kernel void k(device atomic_uint* o, {WHO}) {{ uint e = 0; atomic_compare_exchange_weak_explicit(o, &e, 1u, memory_order_relaxed, memory_order_seq_cst); }}",
        "M613 Metal's atomics take memory_order_relaxed only",
        "atomic_thread_fence",
    ),
    "a threadgroup variable in a helper": (
        f"float f(uint i) {{ threadgroup float t[4]; t[i & 3] = 1; return t[i & 3]; }}\nkernel void k(device float* o, {WHO}) {{ o[i] = f(i); }}",
        "M613 threadgroup variable 't' is declared in a function that is not a kernel",
        "pass it on",
    ),
    "a read-only value in a buffer": (
        f"kernel void k(device float4* o [[buffer(0)]], const float4 w [[buffer(1)]], {WHO}) {{ o[i] = w; }}",
        "M612 'w' is bound to a buffer and declared by value",
        r"constant float4& w \[\[buffer\(1\)\]\]",
    ),
    "a value in a buffer": (
        f"kernel void k(device float* o [[buffer(0)]], uint w [[buffer(1)]], {WHO}) {{ o[i] = w; }}",
        "M612 'w' is bound to a buffer and declared by value",
        r"constant uint& w \[\[buffer\(1\)\]\]",
    ),
}

ALLOWED = {
    "an array of a constant length": f"kernel void k(device float* o, {WHO}) {{ const int n = 4; constexpr int m = n * 2; float a[m]; a[i & 7] = 1; o[i] = a[0]; }}",
    "an array of a template's length": f"template <int N> float f(uint i) {{ float a[N]; a[i % N] = 2; return a[0]; }}\nkernel void k(device float* o, {WHO}) {{ o[i] = f<5>(i); }}",
    "casts within a space": f"kernel void k(device float* o, device const int* q, {WHO}) {{ float x[4] = {{}}; thread int* p = (thread int*)x; o[i] = ((device float*)o)[i] + p[i & 3] + *(device const float*)q; }}",
    "a thread's pointer to its own memory": f"float f(thread float* x, device float* y) {{ thread float* p = x + 1; device float* q = &y[1]; return *p + *q; }}\nkernel void k(device float* o, {WHO}) {{ float a[4] = {{}}; thread float* p = &a[i & 1]; o[i] = f(p, o) + *p; }}",
    "pointers whose space is deduced, or has a name": f"using shared = device float;\ntemplate <class T> float f(T y) {{ T p = y; auto q = y; auto* r = y; return *p + *q + *r; }}\nkernel void k(device float* o, {WHO}) {{ shared* p = o; auto g = [](device float* y) {{ auto p = y; return *p; }}; o[i] = f(o) + *p + g(o); }}",
    "a product that is compared": f"kernel void k(device float* o, {WHO}) {{ float a[4] = {{}}; thread float* y = a; int n = 3, p = 2; bool b = n * p == 6; o[i] = b + y[0]; }}",
    "an element that is compared": f"kernel void k(device uint* o, device const uint* q, {WHO}) {{ uint n = uint(q[i + 1]) > q[i] ? 1 : 0; if (n > q[3]) n = ((device const ushort*)q)[i]; o[i] = n; }}",
    "an address as a number": f"kernel void k(device float* o, {WHO}) {{ ulong a = (ulong)o; o[i] = *(device float*)a; }}",
    "an element as an address": f"kernel void k(device float* o, device ulong* q, {WHO}) {{ ulong a[2]; a[0] = q[0]; a[1] = q[1]; o[i] = *(device float*)a[i & 1]; }}",
    "minimum and maximum of 64 bits": f"kernel void k(device atomic_ulong* o, {WHO}) {{ atomic_max_explicit(o, ulong(i), memory_order_relaxed); atomic_min_explicit(o + 1, 3ul, memory_order_relaxed); }}",
    "orders of fences": f"kernel void k(device atomic_uint* o, {WHO}) {{ atomic_store_explicit(o, i, memory_order_relaxed); atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device); }}",
    "threadgroup memory passed to a helper": f"void f(threadgroup float* t, uint i) {{ t[i & 3] = 1; }}\nkernel void k(device float* o, {WHO}) {{ threadgroup float t[4]; f(t, i); o[i] = t[0]; }}",
    "threadgroup memory in a template that becomes a kernel": 'template <typename T> [[kernel]] void f(device T* o, uint i [[thread_position_in_grid]]) { threadgroup T t[4]; t[i & 3] = 1; o[i] = t[0]; }\ntemplate [[host_name("k")]] [[kernel]] void f<float>(device float*, uint);',
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_what_to_write_instead(name: str) -> None:
    text, message, hint = REFUSED[name]
    with pytest.raises(mt.CompileError, match=message) as caught:
        _ = mt.device().library(HEADER + text)["k"].ir
    shown = str(caught.value)
    assert "hint:" in shown or not hint
    assert re.search(hint, shown)
    assert "metalloid/" not in shown.replace("tests/frontend", ""), "a path of metalloid's own"


@pytest.mark.parametrize("name", ALLOWED)
def test_is_allowed(name: str) -> None:
    assert mt.device().library(HEADER + ALLOWED[name])["k"].ir
