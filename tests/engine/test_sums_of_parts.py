"""Sums of vectors' parts are added up part by part, where threads have such vectors one behind the other."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import patience
from metalloid.transforms.partial_sums import TOTAL
from tests.engine.both import HEADER, WIDE, same
from tests.engine.test_carried_vectors import code_of, widths

RNG = np.random.default_rng(9)
HEAD = "kernel void k(device const {T}* a, device const float* x, device float* out, constant uint& n, uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]])"
BODIES = {
    "parts of a loop's vector": "device const vec<{T}, 4>* v = (device const vec<{T}, 4>*)a; device const float4* w = (device const float4*)x; float4 s = 0; for (uint k = lane; k < n / 4; k += 32) s += float4(v[k]) * w[k]; out[i] = simd_sum(s.x + s.y + s.z + s.w);",
    "four by four": "float s = 0; for (uint k = 4 * lane; k < (n & ~3u); k += 128) s += float(a[k]) * x[k] + float(a[k + 1]) * x[k + 1] + float(a[k + 2]) * x[k + 2] + float(a[k + 3]) * x[k + 3]; out[i] = simd_sum(s);",
    "by a loop of two": "float s = 0; for (uint k = 2 * lane; k < (n & ~1u); k += 64) for (uint j = 0; j < 2; j++) s += float(a[k + j]) * float(a[k + j]); out[i] = simd_sum(s);",
    "the greatest": "float m = -1e9; for (uint k = 4 * lane; k < (n & ~3u); k += 128) m = max(m, max(max(float(a[k]), float(a[k + 1])), max(float(a[k + 2]), float(a[k + 3])))); out[i] = simd_max(m);",
    "once": "float s = 0; if (4 * i + 3 < n) for (uint j = 0; j < 4; j++) s += float(a[4 * i + j]) * x[4 * i + j]; s = simd_sum(s); out[i] = s;",
    "with something else": "float s = 0.5f * i; for (uint k = 4 * lane; k < (n & ~3u); k += 128) s += 0.125f + float(a[k]) + float(a[k + 1]) + float(a[k + 2]) + float(a[k + 3]); out[i] = s;",
    "two that meet": "float s = 0, t = 1; if (n > 100) for (uint k = 2 * lane; k < (n & ~1u); k += 64) s += float(a[k]) + float(a[k + 1]); else for (uint k = 2 * lane; k < (n & ~1u); k += 64) { t += float(a[k]) * x[k] + float(a[k + 1]) * x[k + 1]; s = t; } out[i] = s;",
    "left at different rounds": "float s = 0; for (uint k = 2 * lane; k < (n & ~1u); k += 64) { s += float(a[k]) + float(a[k + 1]); if ((k & 66) == (i & 66)) break; } out[i] = s + lane;",
}  # fmt: skip
DTYPES = {"float": np.float32, "half": np.float16}


def text(name: str, kind: str) -> str:
    return f"{HEAD} {{ {BODIES[name]} }}".replace("{T}", kind)


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", BODIES)
def test_as_the_oracle(name: str, kind: str) -> None:
    for n in (3, 64, 101, 520):
        given = [
            RNG.uniform(-1, 1, n + 8).astype(DTYPES[kind]),
            RNG.uniform(-1, 1, n + 8).astype(np.float32),
            np.full(96, 7, np.float32),
            np.array([n], np.uint32),
        ]
        for guard in (False, True):
            same(
                *(text(name, kind), given, 96, 48 if n == 64 else 32),
                widths=widths(text(name, kind)),
                guard=guard,
                baseline=True,
                math="fast",
                tolerance=2e-5,
            )


@pytest.mark.parametrize(
    "name", ["parts of a loop's vector", "four by four", "by a loop of two", "the greatest"]
)
def test_loops_carry_the_parts(name: str) -> None:
    assert "carried" in code_of(text(name, "float"), WIDE, "fast")


def test_parts_stay_where_they_are() -> None:
    assert "fmul reassoc nsz arcp contract afn <128 x float>" in code_of(text("once", "half"), WIDE, "fast")


@pytest.mark.parametrize("name", BODIES)
def test_every_code_of_a_kernel_adds_up_alike(name: str) -> None:
    """Guarded, proved, before and after the good code is there. Not where a proof takes a loop of one round away that
    begins with another number than 0: there that number is added last (a last bit)."""
    made = mt.device("cpu").library(HEADER + text(name, "half"), math="fast")["k"]
    for n in (64, 520):
        a, x = RNG.uniform(-1, 1, n + 8).astype(np.float16), RNG.uniform(-1, 1, n + 9).astype(np.float32)
        x[n + 8 :].view(np.uint32)[0] = n
        shared = x[n + 8 :].view(np.uint32)  # it may change while the kernel runs: nothing is proved with it
        found = {}
        for count, guard, good in product((np.uint32(n), shared), (True, "robust", False), (False, True)):
            out = np.full(96, np.nan, np.float32)
            with patience.measuring() if good else nullcontext():
                made(a, x, out, count, grid=96, threadgroup=32, guard=guard)
            found[count is shared, guard, good] = out
        first = found[False, True, True]
        assert not [key for key, out in found.items() if out.tobytes() != first.tobytes()], (name, n)


def test_parts_that_are_wanted_in_turn_as_well_are_taken_apart_once() -> None:
    body = "device const vec<{T}, 4>* v = (device const vec<{T}, 4>*)a; float s = 0, q = 0; for (uint k = lane; k < n / 4; k += 32) { float4 y = float4(v[k]); s += y.x + y.y + y.z + y.w; q += dot(y, y); } out[i] = simd_sum(s) * simd_sum(q);"
    for kind in DTYPES:
        assert "carried" not in code_of(f"{HEAD} {{ {body} }}".replace("{T}", kind), WIDE, "fast")
        alone = body.replace("q += dot(y, y)", "q += 1")
        assert "carried" in code_of(f"{HEAD} {{ {alone} }}".replace("{T}", kind), WIDE, "fast")


def test_the_order_of_a_strict_sum_stays() -> None:
    assert "carried" not in code_of(text("four by four", "float"), WIDE, "safe")


def test_the_name_of_a_total_is_ours() -> None:
    """No call of it is left in code."""
    assert all(TOTAL not in code_of(text(name, "float"), WIDE, "fast") for name in BODIES)
