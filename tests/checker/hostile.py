"""Kernels that mean harm, or are as broken as if they did; `python hostile.py check|call` runs them all.

Each line of what is printed is a kernel's name before it runs, and what came of it after.
"""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
X = "device int* x, uint i [[thread_position_in_grid]]"
LOCAL = "device int* x, uint i [[thread_position_in_threadgroup]]"


def numbers() -> np.ndarray:
    return np.arange(1, 65, dtype=np.int32)


def addresses() -> np.ndarray:
    return np.array([0xDEADBEEF00, 0x10, 0x7FFF_FFFF_F000, 1, 2, 0xFFFF_FFFF_FFFF_FFFF], np.uint64)


@dataclass(frozen=True)
class Hostile:
    """A kernel `k`, how it is called, and what is to come of it: rules, `stopped`, `refused`, or nothing bad."""

    text: str
    outcome: frozenset[str]
    grid: Any = 64
    threadgroup: int = 64
    memory: int = 0
    buffer: Callable[[], np.ndarray] = numbers


def kernel(body: str, outcome: str, parameters: str = X, before: str = "", **more: Any) -> Hostile:
    return Hostile(f"{before}kernel void k({parameters}) {{ {body} }}", frozenset(outcome.split()), **more)


KERNELS = {
    "a loop without an end": kernel("while (x[0] == 1) { x[1 + (i & 7)] += 1; }", "stopped M202"),
    "a loop that only computes": kernel("volatile int a = 1; while (a) a = a | 1; x[i] = a;", "stopped"),
    "a barrier in a loop without an end": kernel(
        "threadgroup int f; if (i == 0) f = 0; threadgroup_barrier(mem_flags::mem_threadgroup);"
        "while (f == 0) { threadgroup_barrier(mem_flags::mem_threadgroup); } x[i] = f;",
        "stopped",
        LOCAL,
    ),
    "a lock among lanes": kernel(
        "device atomic_int* a = (device atomic_int*)x;"
        "while (atomic_exchange_explicit(a, 1, memory_order_relaxed) == 1) { }",
        "stopped",
    ),
    "2^64 rounds": kernel(
        "for (uint a = 0; a < ~0u; a++) for (uint b = 0; b < ~0u; b++) x[(a * b) & 63] += b;", "stopped M202"
    ),
    "more threads than a lifetime": kernel("x[i & 63] = i;", "refused", grid=(1 << 31, 1 << 31, 1 << 31)),
    "more threadgroups than memory": kernel("x[i & 63] = 1;", "stopped", grid=(1 << 31, 4, 1), threadgroup=1),
    "numbers as device pointers": kernel(
        "*(device int*)(0x7fff00000000ul + (ulong)i * 0x10001) = 1; x[i] = *(device int*)(ulong(x[1]) << 40);",
        "M102 M101 M202",
    ),
    "numbers as threadgroup pointers": kernel(
        "threadgroup int t[4]; t[i & 3] = 1; *(threadgroup int*)(0x7ffff000u + i) = 1;"
        "t[x[2] * -100000] = 3; x[i] = *(threadgroup int*)(uint)(x[1] * 77777);",
        "M102 M101 M104 M201 M202",  # what x[1] is depends on who runs first
        LOCAL,
    ),
    "atomics on numbers": kernel(
        "atomic_fetch_add_explicit((device atomic_int*)(0x41414141ul * (i + 1)), 1, memory_order_relaxed);"
        "atomic_fetch_max_explicit((device atomic_int*)x + x[1] * 100000000, 1, memory_order_relaxed);"
        "atomic_store_explicit((threadgroup atomic_int*)(uint)(x[2] << 20), 1, memory_order_relaxed);",
        "M102 M202",
    ),
    "an atomic across two words": kernel(
        "atomic_fetch_add_explicit((device atomic_int*)((device char*)x + 2), 1, memory_order_relaxed);", "M103"
    ),
    "stores through null": kernel(
        "device int* p = x[0] > 1000 ? x : nullptr; p[i] = x[i]; p[x[1] * 1000000] = 3;", "M102 M404 M105"
    ),
    "negative threadgroup indices": kernel(
        "t[int(i) - 100] = 1; t[x[1] - 1000000000] = 2; threadgroup_barrier(mem_flags::mem_threadgroup);"
        "x[i] = t[-1] + t[0x7fffffff];",
        "M102 M101 M205 M202",
        "device int* x, threadgroup int* t [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]]",
        memory=256,
    ),
    "the largest threadgroup with all the memory": kernel(
        "threadgroup int t[8192]; for (uint n = 0; n < 8192; n++) t[(n * i) % 8192] += n; x[i & 63] = t[i];",
        "M104 M201 M202 M203 stopped",
        LOCAL,
        grid=2048,
        threadgroup=1024,
    ),
    "a private array of 4 MiB": kernel(
        "int a[1 << 20]; for (int n = 0; n < 1 << 20; n += 512) a[n] = n * x[i]; x[i] = a[x[1] * 1024 & 0xfffff];",
        "M202 M206",
    ),
    "a private array of 1 GiB": kernel(
        "int a[1 << 28]; for (int n = 0; n < 1 << 10; n++) a[n * 1000] = n * x[i]; x[i] = a[x[1] * 1000];",
        "refused",
    ),
    "outside a private array": kernel(
        "int a[4] = {1, 2, 3, 4}; a[x[1] * 1000000] = 5; a[-x[2] * 77777777] = 6; x[i] = a[x[3] << 28];",
        "M102 M101 M404 M202 M206",
    ),
    "outside a table": kernel(
        "x[i] = T[x[1] * 1000000 + i] + T[-1 - int(i)]; *(device int*)(T + x[2]) = 4;",
        "M101 M102 M202 M206",
        before="constant int T[4] = {1, 2, 3, 4};\n",
    ),
    "a function that calls itself for ever": kernel(
        "x[i] = f(x[i] + 30);", "refused", before="int f(int n) { return f(n - 1) + f(n - 2); }\n"
    ),
    "barriers in loops of different length": kernel(
        "for (uint n = 0; n < i; n++) { threadgroup_barrier(mem_flags::mem_threadgroup); x[n & 63] = n; }",
        "M204 stopped",
        LOCAL,
    ),
    "barriers of both kinds on both sides": kernel(
        "if (i & 1) { simdgroup_barrier(mem_flags::mem_threadgroup); x[i] = simd_sum(x[i]); }"
        "else { x[i] = simd_sum(i); threadgroup_barrier(mem_flags::mem_device); }",
        "M204 stopped",
        LOCAL,
    ),
    "lanes that do not exist": kernel(
        "int v = x[i]; x[i] = simd_shuffle(v, ushort(x[1] * 7777)) + simd_shuffle_down(v, ushort(65535)) +"
        "simd_broadcast(v, ushort(40000)) + simd_shuffle_xor(v, ushort(x[2] << 9)) + quad_shuffle(v, ushort(1234));",
        "M207 M202 M206",
    ),
    "divisions by 0 and shifts too far": kernel(
        "int z = x[0] - 1; x[i] = x[i] / z + x[i] % z + (-2147483647 - 1) / (z - 1) + (1 << x[1] * 40);",
        "M202 M206 M106 M407",
    ),
    "numbers that no int holds": kernel(
        "float f = as_type<float>(x[i]); x[i] = int(f * 1e38f * 1e38f) + int(sqrt(-float(x[i])));", "M405"
    ),
    "garbage in an argument buffer": kernel(
        "a[0].p[i] = 1; a[1].next->next->p[i] = 2; a[0].q->p[7] = 1;",
        "M101 M102 M105",
        "device A* a, uint i [[thread_position_in_grid]]",
        "struct A { device int* p; device A* next; device A* q; };\n",
        buffer=addresses,
    ),
}  # fmt: skip


def outcome(hostile: Hostile, how: str) -> list[str]:
    """What came of it: rules and `stopped`, `refused`, or `ran`."""
    import metalloid as mt

    sizes: dict[str, Any] = {"grid": hostile.grid, "threadgroup": hostile.threadgroup}
    if hostile.memory:
        sizes["threadgroup_memory"] = {0: hostile.memory}
    try:
        made = mt.device().library(HEADER + hostile.text)["k"]
        if how == "check":
            report = mt.check(made, hostile.buffer(), **sizes)
            if any(f.rule in ("M306", "M301", "M303") for f in report.findings):
                return ["refused"]
            said = [f.rule for f in report.findings if f.severity != "note"]
            assert all(f.location and f.location.line for f in report.findings), report.text()
            return [*said, *(["stopped"] if report.stopped else [])]
        made(hostile.buffer(), **sizes)
    except (mt.CompileError, mt.LaunchError, mt.DeviceError):
        return ["refused"]
    return ["ran"]


if __name__ == "__main__":
    from metalloid.checker import engines

    faulthandler.enable()
    engines.SECONDS = 0.5
    for name, one in KERNELS.items():
        print(name, end=": ", flush=True)
        print(" ".join(outcome(one, sys.argv[1])), flush=True)
