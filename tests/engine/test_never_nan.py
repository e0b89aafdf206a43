"""The greatest and the least of floats that cannot be NaN are folded without looking for NaNs; all others with."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import sized, vector_code
from tests.engine.both import WIDE, same, scalar_ir

HEAD = """kernel void k(device const float* a, device float* out, constant uint& n, uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) { float most = -3; """
LOOP = "for (uint k = lane; k < n; k += 32) "
NUMBERS = {
    "greatest": LOOP + "most = max(most, a[k]); out[i] = simd_max(most);",
    "least": LOOP + "most = min(most, a[k]); out[i] = simd_min(most);",
    "of sizes": LOOP + "most = max(most, fabs(a[k])); out[i] = simd_max(most);",
    "chosen": LOOP + "most = a[k] > most ? a[k] : most; out[i] = simd_max(most);",
    "chosen the other way": LOOP + "most = !(a[k] > most) ? most : a[k]; out[i] = simd_max(most);",
    "whole numbers": "out[i] = simd_max(float(int(i * 7 % 13))) - simd_min(-fabs(float(i)));",
    "fmax": LOOP + "most = fmax(a[k], most); out[i] = simd_max(most);",
    "some lanes": "if (lane % 3 < 2) {" + LOOP + "most = max(most, a[k]); out[i] = simd_max(most); }",
    "quads": LOOP + "most = max(most, a[k]); out[i] = quad_max(most) + quad_min(most);",
}
OTHERS = {
    "any": "out[i] = simd_max(a[i]);",
    "the last one": LOOP + "most = a[k]; out[i] = simd_max(most);",
    "the other": LOOP + "most = a[k] > most ? most : a[k]; out[i] = simd_max(most);",
    "not greater": LOOP + "most = !(a[k] <= most) ? a[k] : most; out[i] = simd_max(most);",
    "a sum": LOOP + "most = max(most, a[k]); out[i] = simd_min(most + a[i]);",
    "from anything": "most = a[i]; " + LOOP + "most = a[k] > most ? a[k] : most; out[i] = simd_max(most);",
    "a step": LOOP + "most = max(most, a[k]) - most; out[i] = simd_max(most);",
}


def data() -> list[np.ndarray]:
    a = np.random.default_rng(3).normal(0, 9, 160).astype(np.float32)
    a[::7], a[3::11], a[5], a[40], a[41] = np.nan, -0.0, np.inf, -np.inf, 0.0
    return [a, np.full(160, 5, np.float32), np.array([150], np.uint32)]


@pytest.mark.parametrize("name", [*NUMBERS, *OTHERS])
def test_as_the_oracle_with_nans(name: str) -> None:
    body = (NUMBERS | OTHERS)[name]
    for math in ("safe", "fast") if "fmax" not in body else ("safe",):
        same(f"{HEAD}{body} }}", data(), 160, 80, math=math, widths=(0, 32, 64))


def code(body: str, target: codegen.Target = WIDE) -> str:
    module = sized(scalar_ir(f"{HEAD}{body} }}", "k", "fast")[0], (64, 1, 1))
    return vector_code(module, ((64, 1, 1), False, False, False, False, None), 0, target).text


@pytest.mark.parametrize("name", [n for n in NUMBERS if n != "fmax"])
def test_no_test_for_nans(name: str) -> None:
    assert "@llvm.maxnum.v16" not in code(NUMBERS[name]) and "@llvm.minnum.v16" not in code(NUMBERS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_a_test_for_nans(name: str) -> None:
    made = code(OTHERS[name])
    assert "@llvm.maxnum.v16" in made or "@llvm.minnum.v16" in made


def test_where_it_is_one_instruction_it_stays() -> None:
    arm = codegen.Target("neoverse-n1", "+neon", "aarch64-unknown-linux-gnu")
    assert "@llvm.maxnum.v16" in code(NUMBERS["greatest"], arm)
