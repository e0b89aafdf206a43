"""Small launches begin with baseline code; a kernel that is launched again and again, or takes long, gets good code."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import patience
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.backends.cpu.program import Program
from metalloid.measure.timing import timed
from metalloid.runtime.recording import Recording

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint j = 0; j < n; j++) sum += sin(a[(i + j) % 64]);
    b[i] = sum;
}
"""


@pytest.fixture
def tiers(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Iterator[list[bool]]:
    """Whether each code that is made is baseline, in order; nothing is found in a cache."""
    made: list[bool] = []
    compiled = Program.variant

    def noted(self: Program, key, baseline: bool = False):
        before = self._variants.get(key)
        found = compiled(self, key, baseline)
        if found is not before:
            made.append(found.compiled.baseline)
        return found

    monkeypatch.setattr(Program, "variant", noted)
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("METALLOID_BASELINE", raising=False)
    yield made


def kernel(safe: bool = True) -> mt.Kernel:
    return mt.device("cpu").library(SOURCE, math="safe" if safe else "fast")["k"]


def arrays(threads: int = 96) -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(-3, 3, 64, dtype=np.float32), np.full(threads, np.nan, np.float32)


def right(a: np.ndarray, threads: int, n: int) -> np.ndarray:
    each = np.sin(a.astype(np.float64))
    return np.array([each[(i + np.arange(n)) % 64].sum() for i in range(threads)])


def test_both_tiers_have_the_same_bits(tiers: list[bool]) -> None:
    made, found = kernel(), []
    for _ in range(patience.LAUNCHES + 3):
        a, b = arrays()
        made(a, b, 7, grid=96)
        np.testing.assert_allclose(b, right(a, 96, 7), rtol=1e-5, atol=1e-6)
        found.append(b.tobytes())
    assert len(set(found)) == 1
    assert tiers[0] and not tiers[-1]


def test_sizes_share_one_patience(tiers: list[bool]) -> None:
    made = kernel()
    for n in range(patience.LAUNCHES + 2):
        a, b = arrays(33 + n)
        made(a, b, 3, grid=33 + n, threadgroup=32)
    assert tiers[0] and not tiers[-1]


def test_code_that_took_long_to_make_is_used_longer() -> None:
    short, long = patience.Patience(), patience.Patience()
    short.made(0.2)
    long.made(4.5)
    for _ in range(patience.LAUNCHES):
        assert not short.over
        short.launched()
        long.launched()
    long.ran(0.3)
    assert short.over and not long.over
    long.ran(0.2)
    assert long.over


def test_a_launch_that_takes_long_is_the_last_of_its_kind(tiers: list[bool]) -> None:
    made = kernel()
    for _ in range(2):
        a, b = arrays()
        made(a, b, 1_000_000, grid=96)
    assert tiers[0] and not tiers[-1]


@pytest.mark.parametrize("what", ["threads", "bytes"])
def test_large_launches_get_good_code_at_once(tiers: list[bool], what: str) -> None:
    made = kernel()
    threads = 1 << 16 if what == "threads" else 96
    a, _ = arrays()
    b = np.zeros(max(threads, patience.BYTES // 4 if what == "bytes" else 0), np.float32)
    made(a, b, 1, grid=threads)
    assert tiers and not any(tiers)


def test_a_limit_of_time_is_for_good_code(tiers: list[bool]) -> None:
    a, b = arrays()
    kernel()(a, b, 2, grid=96, timeout=30)
    assert tiers and not any(tiers)


def test_what_is_measured_is_good_code(tiers: list[bool]) -> None:
    made = kernel()
    a, b = arrays()
    timed(lambda: made(a, b, 2, grid=96), seconds=0.01)
    assert tiers and not any(tiers)


def test_a_recording_is_good_code(tiers: list[bool]) -> None:
    device = mt.device("cpu")
    made = device.library(SOURCE)["k"]
    a, b = device.buffer(arrays()[0]), device.buffer(arrays()[1])
    recording = Recording()
    recording.add(made, a, b, 5, grid=96)
    recording.run()
    np.testing.assert_allclose(b.numpy(), right(arrays()[0], 96, 5), rtol=1e-4, atol=1e-5)
    assert not tiers[-1]


def test_it_can_be_turned_off(tiers: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_BASELINE", "0")
    a, b = arrays()
    kernel()(a, b, 2, grid=96)
    assert tiers and not any(tiers)


def test_a_word_that_is_neither_is_refused(tiers: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_BASELINE", "maybe")
    a, b = arrays()
    with pytest.raises(mt.DeviceError, match="METALLOID_BASELINE is 'maybe'; expected 0 or 1"):
        kernel()(a, b, 2, grid=96)
    assert not tiers


def test_good_code_on_disk_is_preferred(tiers: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = arrays()
    monkeypatch.setenv("METALLOID_BASELINE", "0")
    kernel()(a, b, 2, grid=96)
    monkeypatch.delenv("METALLOID_BASELINE")
    monkeypatch.setattr(codegen, "made_object", lambda *_, **__: pytest.fail("machine code was made again"))
    kernel()(a, b, 2, grid=96)
    assert not any(tiers)


def test_a_fault_in_baseline_code_is_told_alike(tiers: list[bool]) -> None:
    a, b = arrays()
    with pytest.raises(mt.KernelFault, match="M102") as first:
        kernel()(a, b, 2, grid=97, threadgroup=97)
    assert tiers and all(tiers)
    with patience.measuring(), pytest.raises(mt.KernelFault) as second:
        kernel()(a, b, 2, grid=97, threadgroup=97)
    assert str(first.value) == str(second.value)


PARTED = """#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[96];
    float sum = 0;
    if (a[i % 64] > 0.5f) for (uint j = 0; j < n + i % 5; j++) sum += a[(i * j) % 64];
    s[t] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < t; j += 7) sum -= s[j];
    b[i] = sum;
}
"""


@pytest.mark.parametrize("threads", [96, 75, 33])
def test_baseline_code_has_no_copies_and_the_same_bits(tiers: list[bool], threads: int) -> None:
    made, found = mt.device("cpu").library(PARTED)["k"], []
    for _ in range(patience.LAUNCHES + 3):
        a, b = arrays(5 * threads)
        made(a, b, 7, grid=5 * threads, threadgroup=threads)
        found.append(b.tobytes())
    assert len(set(found)) == 1
    assert tiers[0] and not tiers[-1]
    size = (threads, 1, 1)
    long, brief = (vector_stage(made.ir, size, brief=brief).count("\n") for brief in (False, True))
    assert brief < 0.8 * long


def test_dear_code_is_made_for_larger_launches_and_endless_code_never():
    """A flash attention of 143,000 lines, for a launch of 65,536 threads, kept LLVM busy for more than 900 s."""
    cheap, dear, endless = (patience.Patience(price) for price in (0.5, 12.0, 34.0))
    assert (cheap.threads(1 << 16), dear.threads(1 << 16)) == (1 << 16, 3 << 16)
    assert endless.threads(1 << 16) > 1 << 40 and endless.bytes > 1 << 40
    for one in (cheap, dear, endless):
        one.ran(1000)
        one.limited()
    assert (cheap.over, dear.over, endless.over) == (True, True, False)
    with patience.measuring():
        assert patience.Patience(1.0).over and not patience.Patience(34.0).over
