"""Numbers that all gangs add to are handed on from gang to gang in registers; all of them arrive, and where they should."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import sized, vector_code
from metalloid.backends.specialize import SHARED
from tests.engine.both import WIDE, same, scalar_ir

ADD = "atomic_fetch_add_explicit(%s, %s, memory_order_relaxed);"
SUB = ADD.replace("add", "sub")
MOST = ADD.replace("add", "max")
ARGUMENTS = """device const T* a, device atomic<T>* out, constant uint& n, constant uint& at, uint i [[thread_position_in_grid]],
    uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint size [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint part [[simdgroup_index_in_threadgroup]]"""
KERNELS = {
    "all": ADD % ("out", "a[i]"),
    "some": "if (i < n) " + ADD % ("out", "a[i]"),
    "at an end": "if (i < n && a[i] > 3) " + ADD % ("&out[3]", "a[i]"),
    "one place of a row": ADD % ("&out[at]", "a[i]"),
    "two": ADD % ("out", "a[i]") + "if (i < n) " + ADD % ("&out[1]", "a[i] * 2"),
    "two of one place": ADD % ("out", "a[i]") + "if (t == 0) " + ADD % ("out", "T(5)"),
    "a loop": "for (uint k = 0; k < n % 5; k++) " + ADD % ("out", "a[(i + k) % n]"),
    "rounds of their own": "for (uint k = 0; k < t % 5; k++) " + ADD % ("&out[2]", "a[(i + k) % n]"),
    "nobody": "if (a[i] > 1000) " + ADD % ("&out[1 << 20]", "a[i]"),
    "threadgroups": ADD % ("&out[g % 4]", "a[i]"),
    "threadgroups, some": "if (i % 3 == 0 && i < n) "
    + ADD % ("&out[g % 4]", "a[i]")
    + ADD % ("&out[at]", "T(1)"),
    "SIMD-groups": "T s = simd_sum(a[i]); if (lane == 0) " + ADD % ("out", "s"),
    "SIMD-groups, some": "T s = simd_sum(i < n ? a[i] : T(0)); if (simd_is_first()) "
    + ADD % ("&out[at]", "s"),
    "SIMD-groups of a threadgroup": "T s = simd_sum(a[i]); if (!lane) " + ADD % ("&out[g % 4 + 1]", "s"),
    "behind a barrier": "threadgroup T parts[32]; T s = simd_sum(a[i]); if (lane == 0) parts[part] = s;"
    "threadgroup_barrier(mem_flags::mem_threadgroup);"
    "if (t == 0) { T all = 0; for (uint k = 0; k < (size + 31) / 32; k++) all += parts[k];"
    + ADD % ("out", "all")
    + "}",
    "before and behind a barrier": "threadgroup T own[256];" + ADD % ("out", "a[i]") + "own[t] = a[i];"
    "threadgroup_barrier(mem_flags::mem_threadgroup);" + ADD % ("&out[g % 2]", "own[(t + 1) % size]"),
    "those that return": "if (i >= n) return; threadgroup T own[256]; own[t] = 1; threadgroup_barrier(mem_flags::mem_threadgroup);"
    + ADD % ("out", "own[t]"),
    "added and taken away": ADD % ("out", "a[i]") + SUB % ("out", "T(1)"),
    "five places": "".join(ADD % (f"&out[{k}]", f"a[i] + {k}") for k in range(5)),
}


def text(name: str, kind: str) -> str:
    kernel = f"kernel void k({ARGUMENTS}) {{ {KERNELS[name]} }}"
    return re.sub(r"\bT\b", kind, kernel).replace(f"atomic<{kind}>", f"atomic_{kind}")


def arrays(kind: str, count: int, n: int) -> list[np.ndarray]:
    dtype = {"int": np.int32, "uint": np.uint32, "float": np.float32}[kind]
    a = np.random.default_rng(count).integers(0, 9, count).astype(dtype)  # sums of floats are exact
    return [a, np.arange(7, 15).astype(dtype), np.array([n], np.uint32), np.array([6], np.uint32)]


@pytest.mark.parametrize("math", ["fast", "safe"])
@pytest.mark.parametrize("kind", ["int", "uint", "float"])
@pytest.mark.parametrize("name", KERNELS)
def test_as_the_oracle(name: str, kind: str, math: str) -> None:
    for count, n, group in ((96, 70, 32), (300, 299, 100), (256, 256, 256), (77, 33, 64)):
        if math == "safe" and group == 100:
            continue
        same(text(name, kind), arrays(kind, count, n), count, group, math=math, baseline=True)


@pytest.mark.parametrize("name", [k for k in KERNELS if k != "nobody"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_many_threadgroups_with_a_proof_and_without(
    name: str, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launches that have copies and such that have none, whole threadgroups and others; all alike."""
    monkeypatch.setenv("METALLOID_THREADS", threads)
    kernel = mt.device("cpu").library(
        "#include <metal_stdlib>\nusing namespace metal;\n" + text(name, "int")
    )["k"]
    for count, group in ((20_000, 64), (20_000, 250), (8192, 256)):
        a, out, n, at = arrays("int", count, count - 5)
        found = []
        for guard in (True, True, True, False, "robust"):
            got = out.copy()
            kernel(a, got, n, at, grid=count, threadgroup=group, guard=guard)
            found.append(got)
        for got in found[1:]:
            np.testing.assert_array_equal(got, found[0])
        if name == "all":
            assert found[0][0] == 7 + a.sum()
        if name == "threadgroups":
            of = np.arange(count) // group % 4
            np.testing.assert_array_equal(found[0][:4] - out[:4], np.bincount(of, a, 4).astype(int))


def test_floats_come_near() -> None:
    source = "#include <metal_stdlib>\nusing namespace metal;\n" + text("SIMD-groups, some", "float")
    kernel = mt.device("cpu").library(source)["k"]
    a = np.random.default_rng(1).random(100_032, np.float32)
    for n in (100_001, 31, 100_032):
        for _ in range(4):
            out = np.full(8, 2, np.float32)
            kernel(a, out, np.uint32(n), np.uint32(4), grid=100_032, threadgroup=96)
            np.testing.assert_allclose(out[4], 2 + a[:n].sum(dtype=np.float64), rtol=1e-5)
            assert (np.delete(out, 4) == 2).all()


def test_minus_zero_stays() -> None:
    source = "#include <metal_stdlib>\nusing namespace metal;\n" + text("all", "float")
    kernel = mt.device("cpu").library(source)["k"]
    for _ in range(4):
        out = np.full(8, -0.0, np.float32)
        kernel(np.full(4096, -0.0, np.float32), out, np.uint32(1), np.uint32(0), grid=4096, threadgroup=64)
        assert np.signbit(out).all()


def test_a_place_outside_is_told() -> None:
    source = "#include <metal_stdlib>\nusing namespace metal;\n" + text("one place of a row", "int")
    kernel = mt.device("cpu").library(source)["k"]
    a, out, n, _ = arrays("int", 4096, 1)
    with pytest.raises(mt.MetalloidError, match="M102"):
        kernel(a, out, n, np.uint32(8), grid=4096, threadgroup=64)
    before = out.copy()
    with pytest.warns(Warning, match="M102"):
        kernel(a, out, n, np.uint32(8), grid=4096, threadgroup=64, guard="robust")
    np.testing.assert_array_equal(out, before)


def code(
    name: str, kind: str = "float", size: int = 256, proof: object = None, target: codegen.Target = WIDE
) -> str:
    module = sized(scalar_ir(text(name, kind), "k", "fast")[0], (size, 1, 1))
    return vector_code(module, ((size, 1, 1), False, False, False, False, proof), 0, target).text


@pytest.mark.parametrize(
    "name", ["all", "some", "SIMD-groups", "SIMD-groups, some", "one place of a row", "two"]
)
def test_one_addition_to_memory_for_a_call(name: str) -> None:
    made = code(name)
    gang = made[: made.index("@carried.launch(")]
    assert "atomicrmw" not in gang and "%copy" not in gang
    assert made.count("call void @carried.launch(") == 1
    assert re.search(r"fadd <32 x float> %t\d+, %t\d+\n  store <32 x float>", gang) or name == "two"
    assert "<2 x float>" not in gang  # lanes are not folded to one


def test_one_addition_for_a_threadgroup_of_several_gangs() -> None:
    made = code("SIMD-groups of a threadgroup", size=1024)
    assert "call void @carried.threadgroup(" in made and "call void @carried.launch(" not in made
    assert "@carried" not in code("SIMD-groups of a threadgroup", size=32)  # a gang each


@pytest.mark.parametrize("name", ["five places", "all"])
def test_not_carried(name: str) -> None:
    assert "@carried" not in code(name, proof=SHARED)  # memory that is bound twice
    assert ("@carried" in code(name)) == (name == "all")


def test_what_others_may_see_is_added_at_once() -> None:
    for more in ("atomic_load_explicit(out, memory_order_relaxed)", (MOST % ("out", "a[i]"))[:-1]):
        KERNELS["seen"] = f"{more}; {KERNELS['all']}"
        assert "@carried" not in code("seen", "int")
    del KERNELS["seen"]


def test_registers_of_other_processors() -> None:
    avx2 = codegen.Target("haswell", "+avx2", "x86_64-unknown-linux-gnu")
    assert re.search(r"fadd <16 x float> %t\d+, %t\d+\n  store <16 x float>", code("all", target=avx2))
