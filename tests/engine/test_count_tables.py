"""Kernels that only count keep counters of their own for a run of threadgroups; every one arrives, exactly once."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import sized, vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, scalar_ir

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
ADD = "atomic_fetch_add_explicit"
ARGUMENTS = (
    "device const uint* a, device atomic_uint* bins, device atomic_uint* all,"
    " uint i [[thread_position_in_grid]]"
)
KERNELS = {
    "bins": f"{ADD}(&bins[a[i] & 63], 1u, memory_order_relaxed);",
    "some": f"if (a[i] % 3 == 0) {ADD}(&bins[uchar(a[i]) & 63], a[i], memory_order_relaxed);",
    "both": f"{ADD}(&bins[a[i] >> 26], 2u, memory_order_relaxed); {ADD}(all, a[i], memory_order_relaxed);",
    "loop": f"for (uint n = 0; n < 3; n++) {ADD}(&bins[(a[i] >> n) & 63], n, memory_order_relaxed);",
}


def expected(name: str, a: np.ndarray, bins: np.ndarray, every: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    bins, every = bins.copy(), every.copy()
    if name == "bins":
        np.add.at(bins, a & 63, 1)
    elif name == "some":
        some = a[a % 3 == 0]
        np.add.at(bins, some & 63, some)
    elif name == "both":
        np.add.at(bins, a >> 26, 2)
        every += a.sum(dtype=np.uint32)
    else:
        for n in range(3):
            np.add.at(bins, (a >> n) & 63, n)
    return bins, every


@pytest.mark.parametrize("name", KERNELS)
def test_every_count_arrives_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = f"{HEAD}kernel void k({ARGUMENTS}) {{ {KERNELS[name]} }}"
    a = np.random.default_rng(3).integers(0, 1 << 32, 50_021, np.uint32)
    for threads in ("1", "2"):
        monkeypatch.setenv("METALLOID_THREADS", threads)
        kernel = mt.device("cpu").library(source)["k"]
        for count, group, guard in (
            (50_021, 64, True),
            (50_021, 1000, "robust"),
            (5_000, 33, False),
            (7, 7, True),
        ):
            bins, every = np.arange(64, dtype=np.uint32), np.full(1, 11, np.uint32)
            wanted = expected(name, a[:count], bins, every)
            kernel(a[:count], bins, every, grid=count, threadgroup=group, guard=guard)
            np.testing.assert_array_equal(bins, wanted[0])
            np.testing.assert_array_equal(every, wanted[1])


def test_only_a_few_counters_that_nobody_reads_have_a_table() -> None:
    def tables(body: str, guard: bool = False) -> int:
        module = canonical(scalar_ir(f"kernel void k({ARGUMENTS}) {{ {body} }}", "k")[0])
        variant = ((256, 1, 1), False, False, guard, False, None)
        return vector_code(module, variant, 0, codegen.host()).text.count("%counts1 = getelementptr")

    assert tables(KERNELS["bins"]) == 1
    assert tables(KERNELS["bins"], guard=True) == 0  # nobody has shown that the buffer is long enough
    assert tables(f"{ADD}(&bins[a[i]], 1u, memory_order_relaxed);") == 0
    assert tables(f"{ADD}(&bins[a[i] & 65535], 1u, memory_order_relaxed);") == 0
    old = f"uint n = {ADD}(&bins[a[i] & 63], 1u, memory_order_relaxed);"
    assert tables(f"{old} {ADD}(all, n, memory_order_relaxed);") == 0
    assert (
        tables(f"atomic_fetch_max_explicit(&bins[a[i] & 63], 1u, memory_order_relaxed); {KERNELS['bins']}")
        == 0
    )


OWN = """kernel void k(device const uint* a, device atomic_uint* bins, constant uint& each,
    uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
    uint n [[threads_per_threadgroup]]) {
    threadgroup atomic_uint own[200];
    for (uint b = t; b < 200; b += n) atomic_store_explicit(&own[b], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < each; i++)
        atomic_fetch_add_explicit(&own[a[(g * each + i) * n + t] % 200], 3u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint b = t; b < 200; b += n)
        atomic_fetch_add_explicit(&bins[b], atomic_load_explicit(&own[b], memory_order_relaxed), memory_order_relaxed);
}"""


@pytest.mark.parametrize("group", [8, 32, 33, 64, 200, 256])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_counters_of_threadgroups_are_added_up_as_rows(
    group: int, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each threadgroup adds its own counters to all: the loop's test says how many there are."""
    monkeypatch.setenv("METALLOID_THREADS", threads)
    groups, each = 301, 3
    a = np.random.default_rng(5).integers(0, 1 << 32, group * groups * each, np.uint32)
    kernel = mt.device("cpu").library(HEAD + OWN)["k"]
    bins, wanted = np.arange(200, dtype=np.uint32), np.arange(200, dtype=np.uint32)
    np.add.at(wanted, a % 200, 3)
    for again in range(3):
        kernel(a, bins, np.uint32(each), grid=group * groups, threadgroup=group, guard=again < 2)
    np.testing.assert_array_equal(bins, 3 * (wanted - np.arange(200, dtype=np.uint32)) + np.arange(200))


@pytest.mark.parametrize("size", [32, 64])
def test_a_table_is_as_long_as_the_loop_says(size: int) -> None:
    module = sized(scalar_ir(OWN, "k")[0], (size, 1, 1))
    text = vector_code(module, ((size, 1, 1), False, False, False, False, None), 0, WIDE).text
    assert "%more.counts1 = icmp ult i64 %k1.next, 200" in text
    assert text.count("atomicrmw") == 1  # what a run of threadgroups has counted


def test_a_long_run_of_threadgroups_can_be_stopped() -> None:
    body = f"for (uint n = 0; n < a[0]; n++) {ADD}(&bins[(a[i] + n) & 63], 1u, memory_order_relaxed);"
    kernel = mt.device("cpu").library(f"{HEAD}kernel void k({ARGUMENTS}) {{ {body} }}")["k"]
    a, bins, every = np.full(1 << 16, 1 << 20, np.uint32), np.zeros(64, np.uint32), np.zeros(1, np.uint32)
    with pytest.raises(mt.MetalloidError):
        kernel(a, bins, every, grid=1 << 16, threadgroup=64, timeout=0.5)
