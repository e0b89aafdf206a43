"""Long vectors are stored register by register, in order: LLVM would write them in any."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts
from metalloid.backends.cpu.lower.gang_width import choose
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.targets.x86 import AVX512
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, same, scalar_ir

SUMS = """kernel void k(device const {kind}* a, device const {kind}* b, device {kind}* c, constant uint& n,
    uint i [[thread_position_in_grid]]) {{ {test} c[i] = a[i] + b[i]; }}"""


def code(kind: str, test: str = "") -> str:
    module = canonical(scalar_ir(SUMS.format(kind=kind, test=test), "k")[0])
    return vector_code(module, ((256, 1, 1), False, False, False, False, None), 0, WIDE).text


@pytest.mark.parametrize(
    ("kind", "lanes", "register"), [("float", 64, 16), ("half", 128, 32), ("uchar", 256, 64)]
)
def test_registers_in_order(kind, lanes, register):
    """As many lanes as fill four registers, also of what is narrow."""
    module = canonical(scalar_ir(SUMS.format(kind=kind, test=""), "k")[0])
    assert choose(module, (256, 1, 1), AVX512) == lanes
    stored = re.findall(r"store <(\d+) x \w+> %", code(kind))
    assert [int(n) for n in stored] == [register] * 4
    assert code(kind, "if (i < n)").count(f"@llvm.masked.store.v{register}") == 5  # and its declaration


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.uint8, np.int64])
@pytest.mark.parametrize("count", [500, 511, 100])
def test_the_same_results(kind, count):
    names = {np.float32: "float", np.float16: "half", np.uint8: "uchar", np.int64: "long"}
    rng = np.random.default_rng(count)
    a, b = (rng.integers(0, 100, 512).astype(kind) for _ in range(2))
    text = SUMS.format(kind=names[kind], test="if (i < n && (i & 7) != 3)")
    same(text, [a, b, np.full(512, 9, kind), np.uint32([count])], 512, 128, widths=(0, 256), baseline=True)


PAIRS = """kernel void k(device const {kind}* a, device {kind}* o, constant uint& d,
    uint2 p [[thread_position_in_grid]]) {{
    uint at = p.y * d + 2 * p.x;
    {kind} x = a[at], y = a[at + 1];
    o[at] = x - y; o[at + 1] = x + y; }}"""


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int32])
@pytest.mark.parametrize(
    ("row", "group"), [(32, (16, 8)), (48, (16, 4)), (40, (8, 8)), (16, (4, 16)), (70, (20, 3))]
)
def test_pairs_of_several_rows(kind, row, group):
    names = {np.float32: "float", np.float16: "half", np.int32: "int"}
    a = np.random.default_rng(row).integers(0, 50, 24 * row + 2).astype(kind)
    arrays = [a, np.full(len(a), 9, kind), np.uint32([row])]
    text = PAIRS.format(kind=names[kind])
    for guard in (True, False, "robust"):
        same(text, arrays, (group[0], 12), group, widths=(0, 16, 64), guard=guard)


def test_rows_of_pairs_are_stored_as_rows():
    module = canonical(scalar_ir(PAIRS.format(kind="half"), "k")[0])
    lengths = {0: 1 << 16, 1: 1 << 16, 2: 4}
    facts = Facts((16, 64, 1), (16, 4, 1), (1, 16, 1), lengths, {}, {2: np.uint32([128]).tobytes()})
    proof = Prover(module).prove(facts)
    made = vector_code(module, ((16, 4, 1), False, False, True, False, proof), 64, WIDE).text
    assert re.findall(r"store <(\d+) x half> ", made) == ["32"] * 4
