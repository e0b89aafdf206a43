"""What a SIMD-group folds and its first lane adds is added by all lanes: where that is the same, and only there."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import sized
from metalloid.ir.intrinsics import ENTRY, collective
from tests.engine.both import same, scalar_ir

HEAD = """kernel void k(device const T* a, device atomic_T* out, device T* seen, constant uint& n,
    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint part [[simdgroup_index_in_threadgroup]]) {"""
SUM = "T s = simd_sum(a[i]); "
ADD = "atomic_fetch_add_explicit(%s, s, memory_order_relaxed);"
MOVED = {
    "first": SUM + "if (lane == 0) " + ADD % "out",
    "is first": SUM + "if (simd_is_first()) " + ADD % "out",
    "index": SUM + "if (t % 32 == 0) " + ADD % "out",
    "not others": SUM + "if (lane) return; " + ADD % "out",
    "threadgroup": SUM + "if (lane == 0) " + ADD % "&out[g % 4]",
    "parameter": SUM + "if (ushort(lane) == 0) " + ADD % "&out[n % 4]",
    "two": SUM
    + "T q = simd_sum(a[i] * a[i]); if (lane == 0) { "
    + ADD % "out"
    + (ADD % "&out[1]").replace("s,", "q,")
    + "}",
    "behind a loop": "T x = 0; for (uint k = i; k < n; k += 64) x += a[k]; T s = simd_sum(x); if (lane == 0) "
    + ADD % "out",
    "and a store": SUM + "if (lane == 0) {" + ADD % "out" + "seen[i] = 3; }",
}
KEPT = {
    "another lane": SUM + "if (lane == 1) " + ADD % "out",
    "several lanes": SUM + "if (lane < 2) " + ADD % "out",
    "others": SUM + "if (lane != 0) " + ADD % "out",
    "a SIMD-group's own": SUM + "if (lane == 0) " + ADD % "&out[part]",
    "some": "if (i < n) { " + SUM + "if (lane == 0) " + ADD % "out" + "}",
    "first threads": SUM + "if (t == 0) " + ADD % "out",
    "used twice": SUM + "seen[i] = s; if (lane == 0) " + ADD % "out",
    "a store first": SUM + "if (lane == 0) { seen[i] = 3; " + ADD % "out" + "}",
    "rounds": "for (uint k = 0; k < a[i]; k++) {" + SUM + "if (lane == 0) " + ADD % "out" + "}",
    "the largest": "T s = simd_max(a[i]); if (lane == 0) " + ADD % "out",
    "a quad": "T s = quad_sum(a[i]); if (lane == 0) " + ADD % "out",
    "threadgroup memory": "threadgroup atomic_T own[2]; "
    + SUM
    + "if (lane == 0) "
    + ADD % "own"
    + "threadgroup_barrier(mem_flags::mem_threadgroup); seen[i] = atomic_load_explicit(own, memory_order_relaxed);",
}


def text(body: str, kind: str) -> str:
    return re.sub(r"(atomic_|\b)T\b", rf"\1{kind}", HEAD + body + "}")


def folds(body: str, kind: str, math: str) -> bool:
    """Whether SIMD-groups still fold."""
    module = sized(scalar_ir(text(body, kind), "k", math)[0], (64, 1, 1))
    return any(
        found.what != "is_first"
        for i in module.function[ENTRY].instructions()
        if (found := collective(i.called))
    )


@pytest.mark.parametrize("kind", ["int", "uint", "float"])
@pytest.mark.parametrize("name", MOVED)
def test_all_lanes_add(name: str, kind: str) -> None:
    assert not folds(MOVED[name], kind, "fast")
    assert folds(MOVED[name], kind, "safe") == (kind == "float")
    _same(MOVED[name], kind)


@pytest.mark.parametrize("kind", ["int", "float"])
@pytest.mark.parametrize("name", KEPT)
def test_the_first_lane_adds(name: str, kind: str) -> None:
    assert folds(KEPT[name], kind, "fast")
    _same(KEPT[name], kind)


@pytest.mark.parametrize("kind", ["int", "uint"])
@pytest.mark.parametrize("what", ["max", "min", "and", "or", "xor"])
def test_others_than_sums(what: str, kind: str) -> None:
    body = (
        f"T s = simd_{what}(a[i]); if (lane == 0) atomic_fetch_{what}_explicit(out, s, memory_order_relaxed);"
    )
    assert not folds(body, kind, "fast")
    _same(body, kind)


def _same(body: str, kind: str) -> None:
    dtype = {"int": np.int32, "uint": np.uint32, "float": np.float32}[kind]
    for count, group in ((64, 64), (200, 96), (90, 45), (31, 33)):
        a = np.random.default_rng(group).integers(0, 40, count).astype(dtype)
        a[-1] = 77
        out = np.arange(5, 9).astype(dtype)
        same(
            text(body, kind),
            [a, out, np.zeros(count, dtype), np.array([count - 3], np.uint32)],
            count,
            group,
            math="fast",
        )
