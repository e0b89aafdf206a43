"""Threadgroup arrays in registers: scans and trees at any stride, of any type, with idle lanes, in wide threadgroups."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import sized, vector_code
from metalloid.errors import KernelFault
from tests.engine.both import LESSER, WIDE, launch, program, same, scalar_ir

HEAD = "kernel void k(device const T* a, device T* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]])"
WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
UP = f"uint st = 1; for (uint d = n; d > 0; d >>= 1) {{ {WAIT} if (t < d) s[C(st * (2 * t + 2) - 1)] += s[C(st * (2 * t + 1) - 1)]; st *= 2; }}"
DOWN = f"if (t == 0) s[C(2 * n - 1)] = 0; for (uint d = 1; d <= n; d *= 2) {{ st >>= 1; {WAIT} if (t < d) {{ uint x = C(st * (2 * t + 1) - 1), y = C(st * (2 * t + 2) - 1); T v = s[x]; s[x] = s[y]; s[y] += v; }} }} {WAIT}"
SCAN = f"threadgroup T s[2200]; uint at = g * 2 * n; s[C(2 * t)] = a[at + 2 * t]; s[C(2 * t + 1)] = a[at + 2 * t + 1]; {UP} {DOWN} out[at + 2 * t] = s[C(2 * t)]; out[at + 2 * t + 1] = s[C(2 * t + 1)];"
BODIES = {
    "scan": SCAN.replace("C(", "("),
    "scan with gaps": "#define C(x) ((x) + ((x) >> 4))\n" + SCAN,
    "neighbours": f"threadgroup T s[1024]; T v = a[i]; s[t] = v; {WAIT} for (uint d = 1; d < n; d *= 2) {{ T w = t >= d ? s[t - d] : T(0); {WAIT} v += w; s[t] = v; {WAIT} }} out[i] = t > 0 ? s[t - 1] : T(9);",
    "every second": f"threadgroup T s[1024]; s[t] = a[i]; {WAIT} for (uint d = 1; d < n; d *= 2) {{ if (t % (2 * d) == 0 && t + d < n) s[t] += s[t + d]; {WAIT} }} out[i] = s[0] + s[n - 1];",
    "halves": f"threadgroup T s[1024]; s[t] = a[i]; {WAIT} for (uint d = n / 2; d > 0; d /= 2) {{ if (t < d) s[t] = max(s[t], s[t + d]); {WAIT} }} out[i] = s[0] - s[t];",
    "where": f"threadgroup T s[1024]; threadgroup uint w[1024]; s[t] = a[i]; w[t] = t; {WAIT} for (uint d = n / 2; d > 0; d /= 2) {{ if (t < d && s[t + d] > s[t]) {{ s[t] = s[t + d]; w[t] = w[t + d]; }} {WAIT} }} out[i] = T(w[0] % 50);",
    "flips": f"threadgroup T s[1024]; s[t] = a[i]; {WAIT} for (uint d = n / 2; d > 0; d /= 2) {{ T x = s[t], y = s[t ^ d & 31]; {WAIT} if ((x > y) == ((t & d) == 0)) s[t] = y; {WAIT} }} out[i] = s[t];",
    "pairs": f"threadgroup vec<T, 2> s[2][1024]; s[0][t] = vec<T, 2>(a[i], a[i] + T(1)); {WAIT} for (uint d = 1, now = 0; d < n; d *= 2, now = 1 - now) {{ vec<T, 2> x = s[now][t], y = s[now][t >= d ? t - d : t]; s[1 - now][t] = vec<T, 2>(x.x + y.y, x.y - y.x); {WAIT} }} out[i] = s[0][n - 1 - t].x + s[1][n - 1 - t].y;",
    "one for all": f"threadgroup T s[70]; s[t % 64] = T(3); {WAIT} if (t == n - 1) s[65] = a[i]; {WAIT} if (a[i] > T(10)) s[66] = T(2); {WAIT} out[i] = s[65] + s[66] + s[t % 64] + s[69];",
    "rounds": f"threadgroup T s[1024]; s[t] = a[i]; {WAIT} for (uint r = 0; r < uint(a[0]); r++) {{ T x = s[n - 1 - t]; {WAIT} s[t] = x + T(r); if (a[i] > T(20)) s[t] += T(1); {WAIT} }} out[i] = s[t];",
    "some have left": f"threadgroup T s[1024]; s[t] = a[i]; {WAIT} if (a[i] > T(40)) return; T x = s[n - 1 - t]; {WAIT} s[t] += x; out[i] = s[t];",
}
TYPES = {"float": np.float32, "half": np.float16, "int": np.int32, "ushort": np.uint16, "long": np.int64, "uchar": np.uint8}  # fmt: skip


def text_of(name: str, type: str = "float") -> str:
    return f"#define T {type}\n{BODIES[name].split(chr(10))[0] if '#' in BODIES[name] else ''}\n{HEAD} {{ {BODIES[name].split(chr(10))[-1]} }}"


def data(type: str, count: int) -> list[np.ndarray]:
    a = np.random.default_rng(4).integers(0, 50, count).astype(TYPES[type])
    a[0] = 3
    return [a, np.full(count, 7, TYPES[type])]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("group", [8, 32, 100, 128])
def test_as_in_memory(name: str, group: int) -> None:
    if "scan" in name and group & (group - 1):
        pytest.skip("a scan of a power of two")
    same(text_of(name), data("float", 4 * group), 2 * group, group, widths=(0, 32))


@pytest.mark.parametrize("name", ["scan", "neighbours", "where", "pairs", "rounds"])
@pytest.mark.parametrize("type", [t for t in TYPES if t != "float"])
def test_other_types(name: str, type: str) -> None:
    same(text_of(name, type), data(type, 256), 128, 64, widths=(0,))


@pytest.mark.parametrize("name", ["scan", "scan with gaps", "neighbours", "every second", "where"])
@pytest.mark.parametrize("group", [256, 512, 1024])
def test_wide_threadgroups(name: str, group: int) -> None:
    same(text_of(name, "int"), data("int", 2 * group), group, group)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("target", LESSER)
def test_other_processors(name: str, target: str) -> None:
    ir, arrays = scalar_ir(text_of(name), "k"), data("float", 256)
    expected, got = ([x.copy() for x in arrays] for _ in range(2))
    interpret.run(ir[0], launch(expected, 128, 64))
    cpu_program(*ir, target=codegen.limited(target)).run(launch(got, 128, 64))
    np.testing.assert_array_equal(got[1], expected[1])


def code(text: str, size: int) -> str:
    variant = ((size, 1, 1), False, False, True, False, None)
    return vector_code(sized(scalar_ir(text, "k")[0], (size, 1, 1)), variant, 0, WIDE).text


@pytest.mark.parametrize("name", [n for n in BODIES if n not in ("one for all", "rounds")])
@pytest.mark.parametrize("size", [64, 256])
def test_nothing_goes_through_memory(name: str, size: int) -> None:
    made = code(text_of(name), size)
    assert "ptr %tg, i64" not in made and "%held" in made


@pytest.mark.parametrize("name", ["scan", "scan with gaps", "neighbours", "every second"])
def test_a_threadgroup_of_several_gangs_becomes_one(name: str) -> None:
    assert "ptr %tg, i64" not in code(text_of(name), 512)


def test_what_takes_long_for_some_threads_is_not_done_for_all() -> None:
    """Gangs without such threads are passed by; a gang of all of them would compute it for each."""
    text = f"#define T float\n{HEAD} {{ threadgroup float s[512]; s[t] = t < 64 ? exp(a[i]) : 0; {WAIT} for (uint d = n / 2; d > 0; d /= 2) {{ if (t < d) s[t] += s[t + d]; {WAIT} }} out[i] = s[0]; }}"
    all_threads = code(text.replace("exp(a[i])", "a[i]"), 512)
    assert "@segment1(" in code(text, 512) and "@segment1(" not in all_threads and "%held" in all_threads


def test_what_some_threads_read_twice_is_not_kept_for_all() -> None:
    """Of 1,024 threads 64 registers would be kept for each value, whoever has one."""
    norm = f"threadgroup float s[1024]; uint w = uint(a[0]); float v = 0; if (t < w) v = a[g * w + t]; s[t] = v; {WAIT} for (uint d = n / 2; d > 0; d /= 2) {{ if (t < d) s[t] += s[t + d]; {WAIT} }}"
    once = f"#define T float\n{HEAD} {{ {norm} if (t == 0) out[g] = s[0]; }}"
    twice = (
        f"#define T float\n{HEAD} {{ {norm} if (t < w) out[g * w + t] = a[g * w + t] - s[0] / float(w); }}"
    )
    assert "@segment1(" in code(twice, 1024) and "@segment1(" not in code(once, 1024)
    arrays = data("float", 600)
    arrays[0][0] = 300
    same(twice, arrays, 2048, 1024, tolerance=1e-5)


def test_a_place_that_is_looked_up_stays_in_memory() -> None:
    text = f"#define T uint\n{HEAD} {{ threadgroup uint s[64]; s[t] = a[i]; {WAIT} out[i] = s[a[i] % 64]; }}"
    assert "%held" not in code(text, 64)
    a = np.random.default_rng(5).integers(0, 99, 64).astype(np.uint32)
    same(text, [a, np.zeros(64, np.uint32)], 64, 64)


def test_an_access_outside_is_told() -> None:
    text = f"#define T float\n{HEAD} {{ threadgroup float s[64]; s[t] = a[i]; {WAIT} out[i] = s[t + 1]; }}"
    assert "%held" not in code(text, 64)
    with pytest.raises(KernelFault) as caught:
        program(text, "k").run(launch(data("float", 64), 64, 64))
    assert "thread (63, 0, 0)" in str(caught.value)
