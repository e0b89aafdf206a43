"""Loops that clang has unrolled are rolled up where each round does the same; results stay what they are."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.ir import Function
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.loops import loops
from metalloid.ir.verify import misplaced
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.reroll import rerolled
from tests.engine.both import same, scalar_ir

TEXT = """kernel void k(device const float* x, device float* y, device char* z, constant float& f, uint i [[thread_position_in_grid]]) {{ {body} }}"""
ALIKE = {
    "scaled": "for (int j = 0; j < 64; j++) y[i * 64 + j] = x[i * 64 + j] * f;",
    "quantised": "for (int j = 0; j < 64; j++) z[i * 64 + j] = char(rint(x[i * 64 + j] * f));",
    "two rows": "for (int j = 0; j < 64; j++) { float v = x[i * 64 + j]; y[i * 64 + j] = v + f; z[i * 64 + j] = char(v); }",
    "in place": "for (int j = 0; j < 64; j++) y[i * 64 + j] = y[i * 64 + j] * f + 1;",
    "by columns": "for (int j = 0; j < 64; j++) y[j * 64 + i] = x[j * 64 + i] + f;",
    "the counter": "for (int j = 0; j < 64; j++) y[i * 64 + j] = x[i * 64 + j] * float(j);",
    "from 16": "for (int j = 16; j < 64; j++) y[i * 64 + j] = x[i * 64 + j] - f;",
}  # fmt: skip
UNLIKE = {
    "from the last": "float s = 0; for (int j = 0; j < 64; j++) { s = s * f + x[i * 64 + j]; y[i * 64 + j] = s; }",
    "two by hand": "for (int j = 0; j < 64; j += 2) { y[i * 64 + j] = x[i * 64 + j] + f; y[i * 64 + j + 1] = x[i * 64 + j + 1] - f; }",
    "back and forth": "for (int j = 0; j < 64; j += 2) { y[i * 64 + j] = x[i * 64 + j + 1]; y[i * 64 + j + 1] = x[i * 64 + j]; }",
    "another step": "for (int j = 0; j < 64; j += 4) { y[i * 64 + j] = x[i * 64 + j]; y[i * 64 + j + 2] = x[i * 64 + j + 2]; y[i * 64 + j + 3] = x[i * 64 + j + 3]; }",
}  # fmt: skip


def before_and_after(body: str) -> tuple[Function, Function]:
    before = canonical(scalar_ir(TEXT.format(body=body), "k")[0]).function[ENTRY]
    return before, rerolled(before)


def stores(function: Function) -> int:
    inside = loops(function).innermost
    return sum(i.opcode == "store" for name in inside for i in function.block[name].instructions)


@pytest.mark.parametrize("name", ALIKE)
def test_rounds_that_are_alike_become_one(name: str) -> None:
    before, after = before_and_after(ALIKE[name])
    each = 2 if name == "two rows" else 1
    assert stores(before) > each, "clang has not unrolled it"
    assert stores(after) == each
    assert not misplaced(after)


@pytest.mark.parametrize("name", UNLIKE)
def test_others_are_left_alone(name: str) -> None:
    before, after = before_and_after(UNLIKE[name])
    assert stores(after) >= min(2, stores(before))


def test_what_one_round_cannot_promise_is_not_promised() -> None:
    """The counter of the first round is a multiple of 8, so clang adds with an `or`, and says that nothing wraps."""
    before, after = before_and_after(ALIKE["scaled"])
    kept = {i.name: i for i in before.instructions()}
    for i in after.instructions():
        assert {*i.flags} <= {*kept[i.name].flags}
        assert i.opcode != "or"


@pytest.mark.parametrize("body", [*ALIKE.values(), *UNLIKE.values()], ids=[*ALIKE, *UNLIKE])
@pytest.mark.parametrize("guard", [True, False, "robust"])
def test_the_same_results(body: str, guard) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-60, 60, 64 * 64).astype(np.float32)
    y, z = np.full(64 * 64, 7, np.float32), np.full(64 * 64, 7, np.int8)
    for math in ("safe", "fast"):
        same(
            TEXT.format(body=body), [x, y, z, np.float32([2])], 64, 32, widths=(0, 1), guard=guard, math=math
        )
