"""Kernels whose first tests let the threads of a row from one to another through: gangs start at the first of them."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends import interpret, patience
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.errors import KernelFault
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import LESSER, launch, program, scalar_ir

ARM = codegen.Target("neoverse-n1", "", "aarch64-unknown-linux-gnu")
WIDE = 75  # threads of a row: gangs, a register's lanes, and single ones
# A number for each row: inside, at the ends, beyond them, and such that go round.
LIMITS = [
    0,
    1,
    2,
    3,
    4,
    17,
    40,
    73,
    74,
    75,
    76,
    200,
    65535,
    65536,
    65600,
    2**31 - 1,
    2**31,
    2**32 - 75,
    2**32 - 1,
]
BODY = "out[p.y * size.x + p.x] = 3 * a[p.y * size.x + p.x] + p.x;"
TEXT = """kernel void k(device const uint* a, device uint* out, constant uint* limits,
    uint2 p [[thread_position_in_grid]], uint2 size [[threads_per_grid]]{more}) {{
    uint n = limits[p.y];
    if ({condition}) return;
    {body}
}}"""
EDGES = {
    "both ends": "p.x == 0 || p.x >= n - 1",
    "below": "p.x < n",
    "above": "p.x > n",
    "at most": "n <= p.x",
    "one round": "p.x - 1 >= n - 2",
    "far round": "p.x + 4294967290u < n",
    "all but one": "p.x == n",
    "only one": "p.x != n",
    "signed": "int(p.x) - 5 < int(n)",
    "signed ends": "int(p.x) >= int(n) || -int(p.x) > 3",
    "two tests": "!(p.x >= 3 && p.x <= n)",
    "another row": "p.y == 3 || p.x < 2 || p.y >= n",
}


def kernel(condition: str, body: str = BODY, more: str = "") -> str:
    return TEXT.format(condition=condition, body=body, more=more)


def code(text: str, size=(WIDE, 1, 1), ragged=False, target=ARM) -> str:
    ir, _ = scalar_ir(text, "k")
    return vector_code(canonical(ir), (size, ragged, False, False, False, None), 0, target).text


def agree(text: str, grid=(WIDE, 19), group=(32, 4), **given) -> None:
    """Good code, with and without a guard, leaves what the oracle leaves."""
    count = grid[0] * grid[1]
    a = np.arange(count, dtype=np.uint32) * 7
    limits = np.resize(np.array(LIMITS, np.uint32), max(grid[1], len(LIMITS)))
    expected = [a, np.full(count, 0x5A5A5A5A, np.uint32), limits]
    interpret.run(scalar_ir(text, "k")[0], launch(expected, grid, group))
    for guard in (True, False):
        got = [a, np.full(count, 0x5A5A5A5A, np.uint32), limits]
        with patience.measuring():
            program(text, "k", **given).run(launch(got, grid, group), guard=guard)
        np.testing.assert_array_equal(got[1], expected[1], err_msg=f"guard={guard}")


@pytest.mark.parametrize("condition", EDGES.values(), ids=EDGES)
def test_those_who_pass_run_and_nobody_else(condition):
    text = kernel(condition)
    made = code(text)
    assert "@segment0.range" in made and "%present" not in made and "%mask" not in made
    agree(text)


def test_threadgroups_of_several_rows_that_know_their_places():
    """And threadgroups at the edge of the grid, with fewer rows."""
    more = ", uint2 t [[thread_position_in_threadgroup]], uint at [[thread_index_in_threadgroup]]"
    text = kernel(
        "p.x == 0 || p.x >= n - 1", f"{BODY} out[p.y * size.x + p.x] += 1000 * t.x + 100 * t.y + at;", more
    )
    for ragged in (False, True):
        assert "@segment0.range" in code(text, (32, 4, 1), ragged)
    agree(text, (64, 19), (32, 4))


def test_other_kernels_stay_as_they_are():
    loop = "for (uint k = 0; k < n; k++) out[p.y * size.x + p.x] += a[k];"
    early = kernel("p.x == 0", f"if (a[p.x] > 3) return; {BODY}")
    stores = kernel("p.x == 0").replace("uint n =", "out[p.x] = 1; uint n =")
    looks = kernel("a[p.x] < n")
    lane = kernel("p.x == 0", f"{BODY} out[p.x] += lane;", ", uint lane [[thread_index_in_simdgroup]]")
    either = kernel("p.x == 0 && p.y == n")
    for text in (kernel("p.x == 0", loop), early, stores, looks, lane, either):
        assert "@segment0.range" not in code(text)
    assert "@segment0.range" not in code(kernel("p.x == 0"), (8, 8, 1))
    masks = codegen.Target("x86-64-v4", "+avx512f", "x86_64-unknown-linux-gnu")
    assert "@segment0.range" not in code(kernel("p.x == 0"), target=masks)


@pytest.mark.parametrize("wrong", [5, 66, 71, 73])
def test_a_fault_behind_the_tests_names_its_thread(wrong):
    """In a whole gang, in a register's lanes, and alone."""
    body = "out[p.y * size.x + p.x] = a[a[p.y * size.x + p.x]];"
    text = kernel("p.x == 0 || p.x >= n - 1", body)
    assert "@segment0.range" in code(text)
    a = np.arange(150, dtype=np.uint32)
    a[75 + wrong] = 100000
    arrays = [a, np.zeros(150, np.uint32), np.full(2, 75, np.uint32)]
    with patience.measuring(), pytest.raises(KernelFault) as error:
        program(text, "k").run(launch(arrays, (75, 2), (75, 1)))
    assert error.value.finding.thread == (wrong, 1, 0)


def test_elements_that_are_stored_anywhere():
    """Functions that scatter are of one width each."""
    text = """kernel void k(device const half* a, device half* out, device const ushort* at, constant uint& n,
        uint i [[thread_position_in_grid]]) {
        if (i < 3 || i >= n) return;
        out[at[i]] = a[i] + half(1);
    }"""
    assert "@segment0.range" in code(text, (256, 1, 1))
    order = np.random.default_rng(5).permutation(256).astype(np.uint16)
    a = np.arange(256).astype(np.float16)
    expected = np.full(256, -1, np.float16)
    expected[order[3:239]] = a[3:239] + 1
    for guard in (True, False):
        out = np.full(256, -1, np.float16)
        with patience.measuring():
            program(text, "k").run(launch([a, out, order, np.array([239], np.uint32)], 256, 256), guard=guard)
        np.testing.assert_array_equal(out, expected)


def test_sums_of_neighbours_against_numpy():
    text = """kernel void k(device const float* a, device float* out, constant uint2& n,
        uint2 p [[thread_position_in_grid]]) {
        if (p.x == 0 || p.y == 0 || p.x >= n.x - 1 || p.y >= n.y - 1) return;
        uint i = p.y * n.x + p.x;
        out[i] = a[i - 1] + a[i + 1] + a[i - n.x] + a[i + n.x];
    }"""
    a = np.random.default_rng(3).integers(-99, 99, (41, 123)).astype(np.float32)
    out = np.full_like(a, -1)
    with patience.measuring():
        program(text, "k").run(launch([a, out, np.array([123, 41], np.uint32)], (123, 41), (16, 16)))
    expected = np.full(a.shape, -1.0)
    x = a.astype(np.float64)
    expected[1:-1, 1:-1] = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
    np.testing.assert_array_equal(out, expected)


FLAT = """kernel void k(device const uchar* x, device uchar* out, constant uint& n, constant uint& width,
    uint i [[thread_position_in_grid]]) {
    if (i < n) { uint j = i & %s; out[i] = x[j %% width * 3 + j / width]; }
}"""


@pytest.mark.parametrize("level", LESSER)
@pytest.mark.parametrize("bits", ("65535u", "63u", "~0u"))
def test_rows_of_a_number_that_goes_round_inside_a_gang_that_starts_anywhere(bits, level):
    """Rows of `i & 65535` are found for gangs that start at multiples of their width: the pass that lets them slide
    asserted that they were for its own gangs as well."""
    ir, signature = scalar_ir(FLAT % bits, "k")
    n, width = 1146, 26
    arrays = [np.arange(256).astype(np.uint8), np.zeros(n, np.uint8), *(np.uint32([v]) for v in (n, width))]
    expected, got = ([a.copy() for a in arrays] for _ in range(2))
    interpret.run(ir, launch(expected, 1159, 102))
    made = cpu_program(ir, signature, target=codegen.limited(level))
    with patience.measuring():
        for guard in (True, False):
            made.run(launch(got, 1159, 102), guard=guard)
            np.testing.assert_array_equal(got[1], expected[1])
