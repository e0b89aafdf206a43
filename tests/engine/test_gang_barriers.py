"""Barriers that only the first gang would notice: code between them is one region, of which that gang has its own."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import sized, vector_code
from tests.engine.both import LESSER, WIDE, launch, same, scalar_ir

HEAD = "kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]])"
WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
DOWN = "for (uint d = n / 2; d > 0; d /= 2)"


def tree(step: str, loop: str = DOWN) -> str:
    return f"{loop} {{ {step} {WAIT} }}"


LARGEST = tree("if (t < d) s[t] = max(s[t], s[t + d]);")
SUM = tree("if (t < d) s[t] += s[t + d];")
BODIES = {
    "largest": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} {LARGEST} out[i] = s[0];",
    "every level is read": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} {SUM} out[i] = s[t];",
    "where": f"threadgroup float s[1024]; threadgroup uint w[1024]; s[t] = a[i]; w[t] = t; {WAIT} {tree('if (t < d && s[t + d] > s[t]) { s[t] = s[t + d]; w[t] = w[t + d]; }')} out[i] = float(w[0]);",
    "while": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} uint d = n / 2; while (d > 0) {{ if (t < d) s[t] += s[t + d]; {WAIT} d >>= 1; }} out[i] = s[0];",
    "side by side": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} {tree('uint x = 2 * d * t; if (x + d < n) s[x] += s[x + d];', 'for (uint d = 1; d < n; d *= 2)')} out[i] = s[0];",
    "mean and variance": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} {SUM} float mean = s[0] / float(n); {WAIT} s[t] = (a[i] - mean) * (a[i] - mean); {WAIT} {SUM} out[i] = (a[i] - mean) + s[0];",
    "softmax": f"threadgroup float s[1024]; s[t] = t < 20 ? a[i] : -INFINITY; {WAIT} {LARGEST} float most = s[0]; {WAIT} s[t] = t < 20 ? exp(a[i] - most) : 0; {WAIT} {SUM} if (t < 20) out[i] = exp(a[i] - most) / s[0];",
    "an odd length": f"threadgroup float s[1001]; s[t] = a[i]; {WAIT} {SUM} out[i] = s[0] + s[t];",
    "device memory": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} if (t < 4) out[i] = s[t + 4]; threadgroup_barrier(mem_flags::mem_device); float x = 0; if (t < 4) x = out[i ^ 1]; threadgroup_barrier(mem_flags::mem_device); if (t < 4) out[i] += x; threadgroup_barrier(mem_flags::mem_device); if (t >= n - 4) out[i] = out[g * n + n - 1 - t];",
    "some do not know": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} if (t < 8 && a[i] > 10) s[t] += s[t + 8]; {WAIT} if (t < 4 && a[i] < 40) s[t] = s[7 - t]; {WAIT} if (t < 2) s[t] += s[t + 2]; {WAIT} out[i] = s[t];",
    "one thread": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} if (t == 0) s[1] = s[n - 1]; {WAIT} if (t == 1) s[2] = s[1] + s[5]; {WAIT} out[i] = s[t];",
    "a value that is kept": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} float x = 1; if (t < 8) x = s[t + 8]; {WAIT} float y = x * 2; if (t < 4) {{ s[t] = x; y = s[t + 4]; }} {WAIT} out[i] = s[t] + x + y;",
    "in a loop": f"threadgroup float s[1024]; float all = 0; for (uint r = 0; r < 3; r++) {{ s[t] = a[i] + float(r); {WAIT} {SUM} all += s[0]; {WAIT} }} out[i] = all;",
    "rounds": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} for (uint r = 0; r < uint(a[0]); r++) {{ if (t < 8) s[t] += s[t + 8]; {WAIT} if (t < 4) s[t] += s[t + 4]; {WAIT} }} out[i] = s[t];",
    "other gangs, too": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} if (t < 4) s[t] = s[n - 1 - t]; {WAIT} if (t >= n - 4) s[t] = s[n - 1 - t]; {WAIT} if (t < 4) s[t] += s[n - 1]; {WAIT} out[i] = s[t];",
    "some have left": f"threadgroup float s[1024]; s[t] = a[i]; {WAIT} if (t > 40) return; if (t < 8) s[t] += s[t + 8]; {WAIT} if (t < 4) s[t] += s[t + 4]; {WAIT} out[i] = s[t];",
}


def text_of(name: str) -> str:
    return f"{HEAD} {{ {BODIES[name]} }}"


def data(count: int) -> list[np.ndarray]:
    a = np.random.default_rng(6).integers(0, 50, count).astype(np.float32)
    a[0] = 3
    return [a, np.full(count, 7, np.float32)]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("group", [64, 100])
def test_as_by_the_oracle(name: str, group: int) -> None:
    loose = 1e-5 if name == "softmax" else 0
    same(text_of(name), data(2 * group), 2 * group, group, widths=(8, 16, 32), tolerance=loose, baseline=True)


@pytest.mark.parametrize("name", ["largest", "where", "mean and variance", "softmax"])
@pytest.mark.parametrize("group", [256, 1000, 1024])
def test_wide_threadgroups(name: str, group: int) -> None:
    same(text_of(name), data(group), group, group, widths=(0, 64), tolerance=1e-5)


def test_threads_of_a_plane() -> None:
    text = f"kernel void k(device const float* a, device float* out, uint t [[thread_index_in_threadgroup]], uint2 at [[thread_position_in_threadgroup]]) {{ threadgroup float s[128]; s[t] = a[t]; {WAIT} if (at.y < 2) s[t] += s[t + 32]; {WAIT} if (at.y == 0 && at.x < 8) s[t] += s[t + 8]; {WAIT} out[t] = s[t]; }}"
    same(text, data(128), (16, 8), (16, 8), widths=(16, 32))
    same(text, data(128), (8, 16), (8, 16), widths=(16, 32))


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("target", LESSER)
def test_other_processors(name: str, target: str) -> None:
    ir, arrays = scalar_ir(text_of(name), "k"), data(512)
    expected, got = ([x.copy() for x in arrays] for _ in range(2))
    interpret.run(ir[0], launch(expected, 512, 256))
    cpu_program(*ir, target=codegen.limited(target)).run(launch(got, 512, 256))
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-5)


def code(name: str, size: int = 64, width: int = 16, guard: bool | str = True, brief: bool = False) -> str:
    variant = ((size, 1, 1), False, False, guard, False, None)
    module = sized(scalar_ir(text_of(name), "k")[0], (size, 1, 1))
    return vector_code(module, variant, width, WIDE, brief=brief).text


def regions(text: str) -> list[str]:
    return re.findall(r"define internal i\d+ @(segment[\w.]+)\(", text)


@pytest.mark.parametrize("name", ["largest", "every level is read", "where", "while"])
def test_levels_of_the_first_gang_are_one_region(name: str) -> None:
    """64 threads in gangs of 16: the levels of 32 threads are of two gangs, those of 16 to 1 of the first."""
    assert regions(code(name)) == [
        "segment0", "segment1", "segment2.first", "segment2.others", "segment2", "segment3"
    ]  # fmt: skip


def first_of(text: str) -> str:
    return text[text.index("@segment2.first(") : text.index("@segment2.others(")]


def test_arrays_go_through_registers() -> None:
    """Of 16 lanes that add up 32 numbers two registers are loaded, and one goes back."""
    made = first_of(code("largest"))
    assert len(re.findall(r"load <16 x float>, ptr %start", made)) == 2
    assert len(re.findall(r"store <16 x float> .*, ptr %start", made)) == 1
    assert "masked" not in made


def test_an_array_of_an_odd_length_stays_in_memory() -> None:
    assert "%held" in first_of(code("largest")) and "%held" not in first_of(code("an odd length"))


def test_others_have_next_to_nothing_to_do() -> None:
    text = code("largest")
    others = text[text.index("@segment2.others(") : text.index("@segment2(")]
    assert "<16 x" not in others


def test_baseline_code_has_one_of_each() -> None:
    assert regions(code("largest", brief=True)) == ["segment0", "segment1", "segment2", "segment3"]


@pytest.mark.parametrize("name", ["other gangs, too", "some have left"])
def test_barriers_that_others_notice_stay(name: str) -> None:
    assert not any("first" in region for region in regions(code(name)))


def test_device_memory_is_looked_at_like_any() -> None:
    """The first gang's own accesses are one region; what the last gang reads of it comes behind a barrier."""
    assert [r for r in regions(code("device memory")) if "." not in r] == ["segment0", "segment1", "segment2"]
