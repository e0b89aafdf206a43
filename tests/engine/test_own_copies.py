"""Threads have copies of buffers that a kernel only adds to; everything arrives, exactly once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import sized, vector_code
from metalloid.backends.specialize import SHARED
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
def test_of_bins_that_are_cut_off_as_much_is_copied(index: str) -> None:
    body = f"{ADD}(&bins[{index}], 1u, memory_order_relaxed);"
    last = 41 if "40" in index else 61 if "60" in index else 64
    assert copies(body) == [(1, "i32", 4 * last, 1)]
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
    "index", ["a[i]", "min(int(a[i]), 63)", "max(int(a[i]), 0)", "max(int(a[i]), min(int(a[i] >> 1), 63))"]
)
def test_bins_that_may_be_anywhere_are_copied_whole(index: str) -> None:
    assert copies(f"{ADD}(&bins[{index}], 1u, memory_order_relaxed);") == [(1, "i32", 0, 1)]


def test_only_what_is_added_to_is_copied() -> None:
    assert copies(KERNELS["both"]) == [(1, "i32", 256, 1), (2, "i32", 4, 1)]
    assert copies(KERNELS["both"], guard=True) == copies(KERNELS["both"])
    assert copies(KERNELS["loop"].replace(", n,", ", n + 1,")) == [(1, "i32", 256, 3)]
    assert copies(f"atomic_fetch_sub_explicit(all, 1u, memory_order_relaxed); {KERNELS['both']}") == [
        (1, "i32", 256, 1),
        (2, "i32", 4, 2),
    ]
    old = f"uint n = {ADD}(&bins[a[i] & 63], 1u, memory_order_relaxed);"
    assert copies(f"{old} {ADD}(all, n, memory_order_relaxed);") == [(2, "i32", 4, 1)]
    for other in (
        "fetch_max_explicit(&bins[0], 1u,",
        "store_explicit(&bins[0], 1u,",
        "load_explicit(&bins[0],",
    ):
        assert copies(f"auto x = 0; atomic_{other} memory_order_relaxed); {KERNELS['bins']}") == []
    assert copies(KERNELS["both"], proof=SHARED) == []  # memory that is bound twice


def copies(body: str, guard: bool = False, proof: object = None) -> list[tuple[int, str, int, int]]:
    module = canonical(scalar_ir(f"kernel void k({ARGUMENTS}) {{ {body} }}", "k")[0])
    made = vector_code(module, ((256, 1, 1), False, False, guard, False, proof), 0, codegen.host())
    assert [c.slot for c in made.own_copies] == list(range(len(made.own_copies)))
    assert len(re.findall(r"%copy\d+ = load i64", made.text)) >= len(made.own_copies)
    return [(c.buffer, c.kind, c.length, c.rounds) for c in made.own_copies]


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
def test_the_loop_says_how_much_is_copied(size: int) -> None:
    module = sized(scalar_ir(OWN, "k")[0], (size, 1, 1))
    made = vector_code(module, ((size, 1, 1), False, False, False, False, None), 0, WIDE)
    assert [(c.buffer, c.length) for c in made.own_copies] == [(1, 800)]


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


SUMS = {
    "scatter": ("float", "atomic_fetch_add_explicit(&out[x[i]], v[i], memory_order_relaxed);"),
    "subtract": ("float", "atomic_fetch_sub_explicit(&out[x[i]], v[i], memory_order_relaxed);"),
    "some": ("float", "if (x[i] % 3) atomic_fetch_add_explicit(&out[x[i]], v[i], memory_order_relaxed);"),
    "groups": (
        "float",
        "float s = simd_sum(v[i]); if (i % 32 == 0) atomic_fetch_add_explicit(out, s, memory_order_relaxed);",
    ),
    "uint": ("uint", "atomic_fetch_sub_explicit(&out[x[i]], uint(x[i]), memory_order_relaxed);"),
    "int, two places": (
        "int",
        "atomic_fetch_add_explicit(&out[x[i]], x[i], memory_order_relaxed);"
        "atomic_fetch_sub_explicit(&out[0], 1, memory_order_relaxed);",
    ),
}


def summed(name: str, x: np.ndarray, v: np.ndarray, start: np.ndarray) -> np.ndarray:
    out = start.astype(np.float64 if v.dtype == np.float32 and SUMS[name][0] == "float" else np.int64)
    match name:
        case "scatter":
            np.add.at(out, x, v)
        case "subtract":
            np.subtract.at(out, x, v)
        case "some":
            np.add.at(out, x[x % 3 != 0], v[x % 3 != 0])
        case "groups":
            out[0] += v.sum(dtype=np.float64)
        case "uint":
            np.subtract.at(out, x, x)
        case _:
            np.add.at(out, x, x)
            out[0] -= len(x)
    return out


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("numbers", [1, 37, 5_000, 100_003])  # copied, copied, copied, too many for it
def test_sums_of_any_length(name: str, threads: str, numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_THREADS", threads)
    kind, body = SUMS[name]
    count, rng = 32_064, np.random.default_rng(numbers)
    x, v = rng.integers(0, numbers, count, np.int32), rng.random(count, np.float32)
    dtype = {"float": np.float32, "uint": np.uint32, "int": np.int32}[kind]
    source = (
        f"{HEAD}kernel void k(device const int* x, device const float* v, device atomic_{kind}* out,"
        f" uint i [[thread_position_in_grid]]) {{ {body} }}"
    )
    kernel = mt.device("cpu").library(source)["k"]
    start = rng.integers(0, 99, numbers).astype(dtype)
    wanted = summed(name, x, v, start)
    for group in (32, 96, 1024):
        for guard in (True, "robust", False):
            got = start.copy()
            kernel(x, v, got, grid=count, threadgroup=group, guard=guard)
            if kind == "float":
                np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=1e-2)
            else:
                np.testing.assert_array_equal(got, wanted.astype(dtype))


def test_minus_zero_stays_where_nothing_is_added() -> None:
    body = SUMS["scatter"][1]
    source = (
        f"{HEAD}kernel void k(device const int* x, device const float* v, device atomic_float* out,"
        f" uint i [[thread_position_in_grid]]) {{ {body} }}"
    )
    kernel = mt.device("cpu").library(source)["k"]
    out = np.full(8, -0.0, np.float32)
    kernel(np.zeros(4096, np.int32), np.full(4096, -0.0, np.float32), out, grid=4096, threadgroup=64)
    assert np.signbit(out).all()


def test_an_access_outside_is_told_and_the_rest_arrives() -> None:
    source = (
        f"{HEAD}kernel void k(device const int* x, device atomic_int* out, uint i [[thread_position_in_grid]])"
        f" {{ {ADD}(&out[x[i]], 1, memory_order_relaxed); }}"
    )
    kernel = mt.device("cpu").library(source)["k"]
    x, out = np.arange(4096, dtype=np.int32) % 8, np.zeros(8, np.int32)
    x[77] = 8
    with pytest.warns(Warning, match="M102"):
        kernel(x, out, grid=4096, threadgroup=64, guard="robust")
    expected = np.full(8, 512)
    expected[77 % 8] -= 1
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(mt.MetalloidError, match="M102"):
        kernel(x, out, grid=4096, threadgroup=64)


@pytest.mark.parametrize("kind", ["int", "float"])
@pytest.mark.parametrize("wrong", [-1, 5000, 2**30, -(2**31), 2**31 - 1])
def test_each_lane_sees_whether_where_it_goes_is_inside(kind: str, wrong: int) -> None:
    """Lanes look up where they go, and add, one by one."""
    source = f"""{HEAD}kernel void k(device const int* at, device const {kind}* x, device atomic_{kind}* out,
        constant uint& n, uint i [[thread_position_in_grid]]) {{
        if (i < n) {ADD}(&out[at[i]], x[i], memory_order_relaxed); }}"""
    kernel, type = (
        mt.device("cpu").library(source)["k"],
        np.dtype(kind.replace("int", "int32").replace("float", "float32")),
    )
    at = np.random.default_rng(0).integers(0, 5000, 40_000).astype(np.int32)
    x, out = np.arange(40_000).astype(type) % 7, np.zeros(5000, type)
    for _ in range(3):
        out[...] = 0
        kernel(at, x, out, 40_000, grid=40_000, threadgroup=256)
        np.testing.assert_array_equal(out, np.bincount(at, x, 5000))
    at[30_011] = wrong
    with pytest.raises(mt.KernelFault) as caught:
        kernel(at, x, out, 40_000, grid=40_000, threadgroup=256)
    assert (caught.value.finding.rule, caught.value.finding.thread[0]) == ("M102", 30_011)
    distance = f"{-4 * wrong} bytes before" if wrong < 0 else f"{4 * (wrong - 5000) + 4} bytes past"
    assert distance in caught.value.finding.message


def test_what_is_added_below_a_binding_arrives() -> None:
    """Bound with an offset, a buffer may be added to below it: a copy would have nothing there."""
    source = f"""{HEAD}kernel void k(device const int* at, device atomic_int* bins,
        uint i [[thread_position_in_grid]]) {{ bins -= 1; {ADD}(&bins[at[i] & 63], 1, memory_order_relaxed); }}"""
    kernel, device = mt.device("cpu").library(source)["k"], mt.device("cpu")
    at = np.random.default_rng(0).integers(0, 64, 50_000).astype(np.int32)
    for _ in range(3):
        memory = np.zeros(70, np.int32)
        commands = device.queue().command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.set_pipeline(kernel)
            encoder.set_buffer(at, index=0)
            encoder.set_buffer(memory, offset=12, index=1)
            encoder.dispatch_threads(50_000, 256)
        commands.commit()
        commands.wait_until_completed()
        expected = np.zeros(70, np.int32)
        expected[2:66] = np.bincount(at, minlength=64)
        np.testing.assert_array_equal(memory, expected)


LIST = """kernel void k(device const int* a, device atomic_uint* count, device int* out,
    device atomic_int* low, device atomic_int* high, uint i [[thread_position_in_grid]]) {
    if (a[i] > 50) {
        uint slot = atomic_fetch_add_explicit(count, AMOUNT, memory_order_relaxed);
        out[slot] = a[i];
    }
    atomic_fetch_min_explicit(low, a[i], memory_order_relaxed);
    atomic_fetch_max_explicit(&high[i % 5], a[i], memory_order_relaxed);
}"""


@pytest.mark.parametrize("amount", ["1u", "uint(a[i] & 1) + 1u"])
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("group", [32, 50, 256])
def test_a_list_that_grows(amount: str, threads: str, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_THREADS", threads)
    kernel = mt.device("cpu").library(HEAD + LIST.replace("AMOUNT", amount))["k"]
    a = np.random.default_rng(group).integers(-100, 100, 20_000, np.int32)
    some = a[a > 50]
    width = np.ones_like(some) if amount == "1u" else (some & 1) + 1
    for _ in range(2):
        count, out = np.full(1, 3, np.uint32), np.full(3 + width.sum(), -777, np.int32)
        low, high = np.full(1, -20, np.int32), np.full(5, -1000, np.int32)
        kernel(a, count, out, low, high, grid=len(a), threadgroup=group)
        assert count[0] == 3 + width.sum()
        np.testing.assert_array_equal(np.sort(out[out != -777]), np.sort(some))
        if amount == "1u":
            assert (out[3:] != -777).all()
        assert low[0] == a.min()
        np.testing.assert_array_equal(high, [a[n::5].max() for n in range(5)])
