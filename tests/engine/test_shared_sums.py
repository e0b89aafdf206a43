"""Long sums that all lanes share are added up by halves, where the author leaves their order open."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import sized, vector_code
from tests.engine.both import WIDE, same, scalar_ir

HEAD = """kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
    uint n [[threads_per_threadgroup]]) { threadgroup float s[256]; s[t] = a[i]; threadgroup_barrier(mem_flags::mem_threadgroup); """
KERNELS = {
    "all": "float y = 0; for (uint k = 0; k < 16; k++) y += s[k]; out[i] = y * t;",
    "more and more": "float y = t == 3 ? 2 : 1; for (uint k = 0; k < n; k++) y += s[k]; out[i] = y;",
    "rounds": "float y = 5; for (uint r = 0; r < 3; r++) for (uint k = 0; k < n / 32 * 8; k++) y += s[k] * r; out[i] = y;",
    "two": "float y = 0, z = 1; for (uint k = 0; k < 24; k++) { y += s[k]; z += s[k] * s[k]; } out[i] = y * z;",
    "an odd number": "float y = a[0]; for (uint k = 0; k < 11; k++) y += s[k + 2]; out[i] = y;",
    "taken away": "float y = 0; for (uint k = 0; k < 12; k++) y = (y + s[k]) - s[k + 3]; out[i] = y;",
    "of each": "float y = 0; for (uint k = 0; k < 12; k++) y += s[(t + k) % n]; out[i] = y;",
    "few": "out[i] = s[0] + s[1] + s[2] + s[3];",
    "halves": "half y = 0; for (uint k = 0; k < 16; k++) y += half(s[k]); out[i] = y;",
}


@pytest.mark.parametrize("math", ["fast", "safe"])
@pytest.mark.parametrize("name", KERNELS)
def test_as_the_oracle(name: str, math: str) -> None:
    for group in (32, 64, 100):
        a = np.random.default_rng(group).integers(-9, 9, 2 * group).astype(np.float32)  # sums are exact
        same(
            f"{HEAD}{KERNELS[name]} }}",
            [a, np.full(2 * group, 7, np.float32)],
            2 * group,
            group,
            math=math,
            baseline=True,
        )


def chain(name: str, math: str = "fast") -> int:
    """How many additions of single floats wait for one another."""
    module = sized(scalar_ir(f"{HEAD}{KERNELS[name]} }}", "k", math)[0], (128, 1, 1))
    made = vector_code(module, ((128, 1, 1), False, False, False, False, None), 32, WIDE).text
    depth: dict[str, int] = {}
    for one, a, b in re.findall(r"(%\w+) = fadd (?:\w+ )*float (%?[\w.-]+), (%?[\w.-]+)", made):
        depth[one] = 1 + max(depth.get(a, 0), depth.get(b, 0))
    used = set(re.findall(r"(?:insertelement .*|store )float (%[\w.]+), ", made))
    return max((d for one, d in depth.items() if one in used), default=0)


@pytest.mark.parametrize("name", ["all", "an odd number"])
def test_few_wait_for_each_other(name: str) -> None:
    assert 0 < chain(name) <= 7
    assert chain(name, "safe") >= 11


def test_a_sum_of_few_stays() -> None:
    assert chain("few") == 3
