"""Code that is long or tangled gets fewer of LLVM's passes, and computes the same."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.compile import scalar
from metalloid.source import Source
from tests.engine.both import launch, same

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* a, device const uint* where, device float* b, threadgroup float* t [[threadgroup(0)]],
              uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]]) {
    float sum = 0;
    for (uint n = 0; n < where[i] % 7; n++) {
        t[l] = a[where[(i + n) % 96]];
        sum += simd_sum(t[l]) * (n % 2 ? 1 : -0.5f);
    }
    t[l] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (where[i] % 3) b[i] = t[31 - l] + sum;
}
"""


@pytest.mark.parametrize("width", [0, 32, 64])
def test_few_passes_give_the_same_numbers(
    width: int, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(width)
    a, where = rng.standard_normal(96).astype(np.float32), rng.integers(0, 96, 96).astype(np.uint32)
    ir, signature = scalar(Source(SOURCE, math="safe"), "k")
    found = []
    for large in (codegen.LARGE, -1):
        monkeypatch.setattr(codegen, "LARGE", large)
        monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        b = np.full(96, np.nan, np.float32)
        cpu_program(ir, signature, width).run(launch([a, where, b], 96, 32, {0: 128}))
        found.append(b)
    np.testing.assert_array_equal(found[0], found[1])
    assert np.isfinite(found[0][where % 3 != 0]).all() and np.isnan(found[0][where % 3 == 0]).all()


def test_what_takes_long() -> None:
    straight = "define void @f() {\n" + "  %x = add i32 1, 2\n" * 5000 + "}\n"
    assert not codegen.takes_long(straight)
    assert codegen.takes_long(straight * 5)
    assert codegen.takes_long("define void @f() {\n" + "b:\n  %x = freeze i32 %y\n" * 300 + "}\n")


def test_baseline_code_is_not_combined() -> None:
    """Combining took the longest kernel's baseline code two thirds of LLVM's time."""
    text = "define i32 @f(i32 %x) nounwind {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n"
    for baseline in (False, True):
        module, _ = codegen.optimise(text, codegen.host(), 1, few=True, baseline=baseline)
        assert ("add i32" in str(module)) == baseline


@pytest.mark.parametrize(
    "form", ["max(s, half(v[columns[k]]))", "max(s, half(v[2 * k]))", "min(s, half(-v[columns[k]]))"]
)
@pytest.mark.parametrize("index", ["uchar", "int"])
def test_the_greatest_half_of_a_row(form: str, index: str) -> None:
    """LLVM's vectoriser took the process down."""
    text = f"""kernel void k(device const int* starts, device const {index}* columns, device const float* v,
        device half* y, uint i [[thread_position_in_grid]]) {{
        half s = 0;
        for (int k = starts[i]; k < starts[i + 1]; k++) s = {form};
        y[i] = s; }}"""
    rng = np.random.default_rng(0)
    starts = np.cumsum(rng.integers(0, 30, 65)).astype(np.int32)
    columns = rng.integers(0, 200, starts[-1]).astype({"uchar": np.uint8, "int": np.int32}[index])
    arrays = [
        starts,
        columns,
        rng.standard_normal(2 * starts[-1] + 200).astype(np.float32),
        np.zeros(64, np.float16),
    ]
    for math, guard in (("fast", True), ("fast", False), ("safe", True), ("safe", False)):
        same(text, arrays, 64, 32, math=math, guard=guard)
