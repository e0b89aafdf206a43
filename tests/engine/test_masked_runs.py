"""Blocks of threads at the edge of a grid: rows of lanes some of which are idle, and numbers that such rows share."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import KernelFault
from tests.engine.both import WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(5)
TEXT = """kernel void k(device const {t}* a, device const {t}* b, device const {t}* each, device {t}* out,
    constant uint& w, constant uint& h, uint2 p [[thread_position_in_grid]]) {{
    if ({some}) return;
    out[p.y * w + p.x] = a[(p.y + 1) * w + p.x] + b[p.x] + each[p.y]; }}"""
TYPES = {"float": np.float32, "half": np.float16, "uchar": np.uint8, "short": np.int16, "ulong": np.uint64}
SOME = {
    "rows": "p.y >= h - 2",
    "columns": "p.x >= w - 3",
    "both": "p.y >= h - 2 || p.x >= w - 3",
    "looked up": "(uint(a[p.y * w + p.x]) & 1) == 0",
    "none": "p.y + 1 > h * 1000",
}


def arrays(kind: str, w: int, h: int) -> list[np.ndarray]:
    made = [RNG.integers(0, 50, size).astype(TYPES[kind]) for size in ((h + 1, w), w, h)]
    return [*made, np.full((h, w), 99, TYPES[kind]), np.uint32([w]), np.uint32([h])]


@pytest.mark.parametrize("some", SOME)
@pytest.mark.parametrize("kind", TYPES)
def test_blocks_of_all_types(kind: str, some: str) -> None:
    for (w, h), group in (((16, 13), (16, 4)), ((32, 9), (8, 8)), ((48, 6), (16, 16)), ((20, 10), (4, 16))):
        same(TEXT.format(t=kind, some=SOME[some]), arrays(kind, w, h), (w, h), group, widths=(0, 64))


@pytest.mark.parametrize("kind", ["float", "half"])
def test_memory_that_is_too_short(kind: str) -> None:
    """Robust: reads outside give 0; else the first lane outside is told."""
    text, given = TEXT.format(t=kind, some=SOME["rows"]), arrays(kind, 16, 13)
    whole = given[0].reshape(-1).copy()
    given[0], whole[16 * 9 + 5 :] = whole[: 16 * 9 + 5].copy(), 0
    expected = given[3].copy()
    expected[:11] = whole.reshape(14, 16)[1:12] + given[1] + given[2][:11, None]
    for width in (0, 64):
        got = [a.copy() for a in given]
        program(text, "k", width).run(launch(got, (16, 13), (16, 4)), guard="robust")
        np.testing.assert_array_equal(got[3], expected)
    with pytest.raises(KernelFault) as caught:
        program(text, "k").run(launch(given, (16, 13), (16, 4)))
    assert (caught.value.finding.rule, caught.value.finding.buffer) == ("M101", 0)


def test_no_gathers_for_rows() -> None:
    code = vector_stage(scalar_ir(TEXT.format(t="float", some=SOME["rows"]), "k")[0], (16, 8, 1), WIDE)
    assert "masked.load.v16f32" in code and "masked.store.v16f32" in code
    assert "call <64 x float> @llvm.masked.gather" not in code.split("@segment0", 1)[1]
