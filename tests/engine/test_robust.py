"""guard="robust": a kernel that leaves its memory goes on as on a GPU. Reads outside give 0, writes outside are dropped,
and each place is told once. The oracle runs the same launches by the same rule; both must leave the same memory."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import metalloid as mt
from metalloid import config
from metalloid.backends import interpret
from metalloid.backends.cpu.build import cpu_program
from metalloid.compile import scalar
from metalloid.errors import DeviceError, KernelFault, LaunchError, NotVectorised
from metalloid.runtime.guarding import OutsideWarning
from metalloid.runtime.recording import Recording
from metalloid.source import Source
from tests.engine.both import HEADER, launch, program, scalar_ir
from tests.engine.programs import program as generated
from tests.engine.test_fuzz import NAMES, SIZES, arrays, bound, differing

START = "kernel void k(device const float* a, device float* b, device const int* at, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) "
KERNELS = {
    "side by side": "{ b[i] = a[i + 8] + 1; }",
    "side by side, some lanes": "{ if (at[i & 31] & 1) b[i + 3] = a[i + 9] * 2; }",
    "a range of lanes": "{ if (t < 20) b[i] = a[i + 40] + 3; }",
    "one place": "{ b[i & 31] = a[at[0] + 60] + a[at[1] * 1000]; b[at[2] + 70] = 4; }",
    "every second": "{ b[2 * i] = a[2 * i + 1]; b[2 * i + 1] = a[2 * i] + 5; }",
    "before the start": "{ b[i] = a[int(i) - 5]; }",
    "anywhere": "{ b[at[i & 31] * 3 - 9] = a[at[i & 31] * 5 - 30] + 1; }",
    "four together": "{ float4 x = ((device const float4*)a)[i]; ((device float4*)b)[i] = x * 2; }",
    "rows of four": "{ for (int k = 0; k < 4; k++) b[4 * i + k] = a[at[i & 31] * 4 + k] + k; }",
    "an odd row": "{ uint r = i * 3; float x = a[r], y = a[r + 1], z = a[r + 2]; b[r] = z; b[r + 1] = x; b[r + 2] = y; }",
    "bytes": "{ ((device uchar*)b)[i + 230] = ((device const uchar*)a)[i * 7] + 1; }",
    "halves": "{ ((device half*)b)[i + 100] = ((device const half*)a)[i + 110]; }",
    "longs": "{ ((device ulong*)b)[i] = ((device const ulong*)a)[i + 2]; }",
    "private": "{ float v[6]; for (int k = 0; k < 6; k++) v[k] = a[i] + k; v[at[i & 31] - 3] = 9; float s = 0; for (int k = 0; k < 6; k++) s += v[k + (at[k] & 1)]; b[i] = s; }",
    "threadgroup": "{ threadgroup float s[32]; s[t] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); s[t + at[3]] = a[i & 31]; threadgroup_barrier(mem_flags::mem_threadgroup); b[i] = s[31 - t + at[4]]; }",
    "atomics": "{ atomic_fetch_add_explicit((device atomic_int*)b + i * 3, 2, memory_order_relaxed); atomic_fetch_add_explicit((device atomic_int*)b + 70 + at[0], 1, memory_order_relaxed); }",
    "atomic results": "{ int x = atomic_fetch_add_explicit((device atomic_int*)b + i + 40, 2, memory_order_relaxed); ((device int*)b)[t] = x + 1; }",
    "a matrix": "{ simdgroup_float8x8 m; simdgroup_load(m, a + at[5], 9); simdgroup_store(m, b + at[6], 10); }",
    "a product": "{ simdgroup_float8x8 x, y, z(1); simdgroup_load(x, a + at[5], 8); simdgroup_load(y, a, 12, ulong2(0), true); simdgroup_multiply_accumulate(z, x, y, z); simdgroup_store(z, b, 8); }",
}


def memory() -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    whole = np.full(4096, 7, np.float32)
    a = rng.integers(-8, 8, 64).astype(np.float32)
    at = rng.integers(0, 12, 32).astype(np.int32)
    return [a, whole[2048 : 2048 + 64], at]


@pytest.mark.parametrize("width", (0, 32, 8))
@pytest.mark.parametrize("name", KERNELS)
def test_reads_give_zero_and_writes_are_dropped(name, width):
    text = START + KERNELS[name]
    if "simdgroup" in text and width == 8:
        pytest.skip("a SIMD-group has 32 lanes")
    ir, _ = scalar_ir(text, "k")
    expected, got = memory(), memory()
    faults = interpret.run_robust(ir, launch(expected, 64, 32))
    assert faults, "this kernel was to leave its memory"
    made = program(text, "k", width)
    told: list[object] = []
    made.noted = lambda fault, launch: told.append(fault)
    made._noted.clear()
    made.run(launch(got, 64, 32), guard="robust")
    np.testing.assert_array_equal(got[1], expected[1])
    around = got[1].base
    assert (around[:2048] == 7).all() and (around[2112:] == 7).all()
    assert len(told) == 1
    places = {(f.rule, f.location, f.buffer) for f in faults}
    assert (told[0].rule, told[0].location, told[0].buffer) in places


def test_a_launch_that_stays_inside_is_not_told():
    device = mt.device()
    k = device.library(HEADER + START + "{ b[i] = a[i] + 1; }")["k"]
    a, b, at = memory()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        k(a, b, at, grid=64, threadgroup=32, guard="robust")
    np.testing.assert_array_equal(b, a + 1)


def short_add() -> tuple[mt.Kernel, np.ndarray, np.ndarray, np.ndarray]:
    return mt.device().library(HEADER + START + "{\n  b[i] = a[i + 8] + 1;\n}")["k"], *memory()


def test_the_warning_has_line_thread_and_buffer_and_comes_once():
    k, a, b, at = short_add()
    with pytest.warns(OutsideWarning) as caught:
        for _ in range(5):  # the short road too
            b[:] = -1
            k(a, b, at, grid=64, threadgroup=32, guard="robust")
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "M101" in text and "b[i] = a[i + 8] + 1;" in text and "'a'" in text and "(56,0,0)" in text
    assert "went on" in text and caught[0].filename == __file__
    np.testing.assert_array_equal(b, np.append(a[8:], [0] * 8) + 1)


def test_recordings_and_queues_take_it():
    k, a, b, at = short_add()
    expected = np.append(a[8:], [0] * 8) + 1
    recording = Recording(guard="robust")
    recording.add(k, a, b, at, grid=64, threadgroup=32)
    recording.add(k, a, b, at, grid=64, threadgroup=32)
    with pytest.warns(OutsideWarning) as caught:
        for _ in range(3):
            b[:] = -1
            recording.run()
            np.testing.assert_array_equal(b, expected)
    assert len(caught) == 1
    k, a, b, at = short_add()
    commands = k.device.queue().command_buffer()
    with commands.compute_encoder() as encoder:
        encoder.guard = "robust"
        encoder.dispatch(k, a, b, at, grid=64, threadgroup=32)
    with pytest.warns(OutsideWarning):
        commands.commit()
        commands.wait_until_completed()
    np.testing.assert_array_equal(b, expected)


def test_kernels_without_vector_code_take_it(monkeypatch):
    k, a, b, at = short_add()

    def refuse(*_, **__):
        raise NotVectorised("[engine] for the test")

    monkeypatch.setattr(k.program, "run", refuse)
    with pytest.warns(mt.LaunchWarning) as caught:
        k(a, b, at, grid=64, threadgroup=32, guard="robust")
    assert [w.category for w in caught].count(OutsideWarning) == 1
    np.testing.assert_array_equal(b, np.append(a[8:], [0] * 8) + 1)


def test_what_cannot_go_on_still_stops():
    text = (
        HEADER
        + START
        + "{ if (t < 40) { threadgroup_barrier(mem_flags::mem_none); b[i] = 1; } else { threadgroup_barrier(mem_flags::mem_none); b[i] = a[9999]; } }"
    )
    a, b, at = memory()
    with warnings.catch_warnings(), pytest.raises(KernelFault, match="M204"):
        warnings.simplefilter("ignore", OutsideWarning)  # one side may come first, and read
        mt.device().library(text)["k"](a, b, at, grid=64, threadgroup=64, guard="robust")


def test_the_environment_decides_where_a_launch_does_not_say(monkeypatch):
    k, a, b, at = short_add()
    with pytest.raises(KernelFault):
        k(a, b, at, grid=64, threadgroup=32)
    monkeypatch.setenv("METALLOID_GUARD", "robust")
    config.guard.cache_clear()
    try:
        with pytest.warns(OutsideWarning):
            k(a, b, at, grid=64, threadgroup=32)
        monkeypatch.setenv("METALLOID_GUARD", "gentle")
        config.guard.cache_clear()
        with pytest.raises(DeviceError, match="METALLOID_GUARD is 'gentle'"):
            k(a, b, at, grid=64, threadgroup=32)
    finally:
        monkeypatch.undo()
        config.guard.cache_clear()


def test_another_word_is_refused():
    k, a, b, at = short_add()
    with pytest.raises(LaunchError, match=r"guard is 'soft'; expected True, False or \"robust\""):
        k(a, b, at, grid=64, threadgroup=32, guard="soft")


def agree(seed: int) -> bool:
    """A generated program over buffers that are too short; whether it left one."""
    rng = random.Random(seed)
    text = generated(rng.randint)
    grid, group = rng.choice(SIZES)
    before = arrays(int(np.prod(grid)), seed)
    small = ("args", "own", "shared", "total")  # what decides how long loops are
    before = [
        x
        if name in small
        else x[: rng.randint(1, len(x))].copy()  # whole vectors: half of one is nobody's promise
        for name, x in zip(NAMES, before, strict=True)
    ]
    ir, signature = scalar(Source(HEADER + text, math="safe"), "k")
    expected, got = [x.copy() for x in before], [x.copy() for x in before]
    try:
        left = interpret.run_robust(ir, bound(expected, grid, group), step_limit=1_000_000)
    except KernelFault as error:
        assert "undefined behaviour" in str(error), text
        return False
    width = rng.choice((0, 32)) if "simd_" in text or "quad_" in text else rng.choice((0, 32, 8, 1))
    cpu_program(ir, signature, width, None, 0).run(bound(got, grid, group), guard="robust")
    for name, one, other in zip(NAMES, expected, got, strict=True):
        wrong = differing(one, other)
        assert not wrong.size, f"seed {seed}, {width} lanes, {grid}, {group}: {name} at {wrong[:8]}\n{text}"
    return bool(left)


def test_generated_programs_over_short_buffers():
    assert sum(agree(seed) for seed in range(30)) > 15


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(20))
def test_more_generated_programs_over_short_buffers(part):
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        agree(seed)
