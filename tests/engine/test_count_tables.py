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


# Bins that are cut off, and the same by numpy: of signed numbers as well.
CUT = {
    "min(a[i], 63u)": lambda a: np.minimum(a, 63),
    "clamp(int(a[i]), 0, 63)": lambda a: np.clip(a.view(np.int32), 0, 63),
    "max(0, min(int(a[i]), 63))": lambda a: np.clip(a.view(np.int32), 0, 63),
    "max(5, min(int(a[i]), 60))": lambda a: np.clip(a.view(np.int32), 5, 60),
    "min(63, max(int(a[i]) / 2, 0))": lambda a: np.clip(np.trunc(a.view(np.int32) / 2), 0, 63).astype("i4"),
    "min(int(a[i] & 127), 40)": lambda a: np.minimum(a & 127, 40),
}


@pytest.mark.parametrize("index", CUT)
def test_bins_that_are_cut_off_have_tables(index: str) -> None:
    body = f"{ADD}(&bins[{index}], 1u, memory_order_relaxed);"
    module = canonical(scalar_ir(f"kernel void k({ARGUMENTS}) {{ {body} }}", "k")[0])
    variant = ((256, 1, 1), False, False, False, False, None)
    assert "%counts1 = getelementptr" in vector_code(module, variant, 0, codegen.host()).text
    a = np.random.default_rng(5).integers(-40, 120, 5_003).astype(np.int32).view(np.uint32)
    bins, every = np.arange(64, dtype=np.uint32), np.full(1, 11, np.uint32)
    wanted = bins.copy()
    np.add.at(wanted, CUT[index](a), 1)
    kernel = mt.device("cpu").library(f"{HEAD}kernel void k({ARGUMENTS}) {{ {body} }}")["k"]
    for _ in range(3):
        got = bins.copy()
        kernel(a, got, every, grid=len(a), threadgroup=64)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    "index", ["min(int(a[i]), 63)", "max(int(a[i]), 0)", "max(int(a[i]), min(int(a[i] >> 1), 63))"]
)
def test_bins_that_may_be_anywhere_have_none(index: str) -> None:
    body = f"{ADD}(&bins[{index}], 1u, memory_order_relaxed);"
    module = canonical(scalar_ir(f"kernel void k({ARGUMENTS}) {{ {body} }}", "k")[0])
    variant = ((256, 1, 1), False, False, False, False, None)
    assert "%counts1 = getelementptr" not in vector_code(module, variant, 0, codegen.host()).text


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


TWICE = """kernel void k(device atomic_uint* bins, device atomic_uint* out, device const uint* again,
    uint t [[thread_position_in_threadgroup]]) {
    BODY
    atomic_fetch_add_explicit(&out[t & 63], again[READ], memory_order_relaxed);
}"""
SEEN = {
    "behind a barrier": (
        f"{ADD}(&bins[t & 63], t + 1, memory_order_relaxed); threadgroup_barrier(mem_flags::mem_device);",
        "(t + 1) & 63",
    ),
    "by the same thread": (
        f"for (uint n = 0; n < 2 + (again[t & 63] & 1); n++) {ADD}(&bins[t & 63], 2u, memory_order_relaxed);",
        "t & 63",
    ),
}


@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.parametrize("name", SEEN)
def test_counters_that_are_bound_twice_are_seen_under_the_other_name(
    name: str, guard: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a call, and as dispatches of an encoder; before and after launches that bind them once."""
    body, read = SEEN[name]
    device = mt.device("cpu")
    kernel = device.library(HEAD + TWICE.replace("BODY", body).replace("READ", read))["k"]
    before = np.arange(0, 192, 3, dtype=np.uint32)
    t = np.arange(64, dtype=np.uint32)
    bins = before + (t + 1 if name == "behind a barrier" else 4 + 2 * (before & 1))
    seen = np.roll(bins, -1) if name == "behind a barrier" else bins
    size = {"grid": 64, "threadgroup": 64}
    for _ in range(3):
        got, out = before.copy(), np.zeros(64, np.uint32)
        kernel(got, out, before, guard=guard, **size)
        np.testing.assert_array_equal(got, bins)
        x, out = before.copy(), np.zeros(64, np.uint32)
        kernel(x, out, x, overlap=True, guard=guard, **size)
        np.testing.assert_array_equal(x, bins)
        np.testing.assert_array_equal(out, seen)
    monkeypatch.setenv("METALLOID_GUARD", "stop" if guard else "off")
    x, out = before.copy(), np.zeros(64, np.uint32)
    shared, result = device.buffer(x), device.buffer(out)
    for _ in range(3):
        shared.numpy()[...], result.numpy()[...] = before, 0
        commands = device.queue().command_buffer()
        encoder = commands.compute_encoder()
        encoder.set_pipeline(kernel)
        for index, buffer in enumerate((shared, result, shared)):
            encoder.set_buffer(buffer, index=index)
        encoder.dispatch_threads((64, 1, 1), (64, 1, 1))
        encoder.end_encoding()
        commands.commit()
        commands.wait_until_completed()
        np.testing.assert_array_equal(result.numpy(), seen)
