"""Code that used to take LLVM minutes: long copies, hundreds of barriers, switches of thousands of cases.

What is held here is the length of what is written for LLVM, which no machine's load changes, and the results.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.cpu import codegen, pipeline
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.lower import gang_width
from metalloid.errors import NotVectorised
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import launch, same, scalar_ir

COPY = """struct Big { uint v[4096]; uchar rest[3]; };
kernel void k(device const Big* a, device Big* out, device uint* sums, uint i [[thread_position_in_grid]]) {
    Big mine = a[i];
    mine.v[i] += 7;
    sums[i] = mine.v[i] + mine.v[4095 - i] + mine.rest[i % 3];
    out[i] = mine;
}"""
FILL = """kernel void k(device const uint* a, device uint* out, uint i [[thread_position_in_grid]]) {
    uint seen[300] = {0};
    for (uint j = 0; j < 8; j++) seen[a[8 * i + j] % 300]++;
    uint twice = 0;
    for (uint j = 0; j < 300; j++) twice += seen[j] > 1;
    out[i] = twice;
}"""
MOVE = """struct Row { uint v[300]; };
kernel void k(device uint* a) { *(device Row*)(TO) = *(device const Row*)(FROM); }"""
HEAD = """kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
"""


def steps(count: int) -> str:
    lines = [
        f"s[t] = v; threadgroup_barrier(mem_flags::mem_threadgroup); v = s[(t + {k + 1}) % 64];"
        " threadgroup_barrier(mem_flags::mem_threadgroup);"
        for k in range(count)
    ]
    return HEAD + "threadgroup float s[64]; float v = a[i];\n" + "\n".join(lines) + "\nout[i] = v; }"


def cases(count: int) -> str:
    lines = [f"case {k}: v = v * {k % 7}.5f + a[{k % 60}]; break;" for k in range(count)]
    return HEAD + "float v = a[i]; switch (uint(v)) {\n" + "\n".join(lines) + "\n} out[i] = v; }"


def lines_of(text: str, size: int = 64) -> int:
    return pipeline.vector_stage(scalar_ir(text, "k")[0], (size, 1, 1)).count("\n")


def test_a_copy_of_a_large_struct_is_a_loop():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 256, 8 * 16388).astype(np.uint8)
    given = [a, np.full(8 * 16388, 0xAA, np.uint8), np.full(8, 9, np.uint32)]
    expected = same(COPY, given, 8, 8, widths=(1, 8))
    rows = a.reshape(8, 16388)
    words = np.ascontiguousarray(rows[:, :16384]).view(np.uint32).copy()
    own = np.arange(8)
    words[own, own] += 7
    np.testing.assert_array_equal(
        expected[2], words[own, own] + words[own, 4095 - own] + rows[own, 16384 + own % 3]
    )
    np.testing.assert_array_equal(
        expected[1].reshape(8, 16388)[:, :16384], words.view(np.uint8).reshape(8, -1)
    )
    assert lines_of(COPY, 8) < 1000  # 16,000 copies word by word


def test_a_long_fill_is_a_loop():
    a = np.random.default_rng(4).integers(0, 12, 64).astype(np.uint32)
    expected = same(FILL, [a, np.full(8, 99, np.uint32)], 8, 8, widths=(1, 8))
    twice = [sum(n > 1 for n in np.bincount(row)) for row in a.reshape(8, 8)]
    np.testing.assert_array_equal(expected[1], twice)


@pytest.mark.parametrize("length", [1200, 1199, 1198])
@pytest.mark.parametrize("way", ["on", "back"])
def test_a_long_move_goes_the_way_that_keeps_what_it_reads(way: str, length: int):
    to, source = ("a + 1", "a") if way == "on" else ("a", "a + 1")
    ir, signature = scalar_ir(MOVE.replace("TO", to).replace("FROM", source), "k")
    assert "@llvm.memcpy.p1.p1" in ir
    assert "i64 1200" in ir
    ir = ir.replace("@llvm.memcpy.p1.p1", "@llvm.memmove.p1.p1")  # what compiled libraries have
    ir = ir.replace("i64 1200", f"i64 {length}")
    for run in (partial(interpret.run, ir), cpu_program(ir, signature, 0).run):
        a = np.arange(304, dtype=np.uint32) * 70001
        run(launch([a], 1, 1))
        np.testing.assert_array_equal(a, moved_by(way, length))


def moved_by(way: str, length: int) -> np.ndarray:
    a = np.arange(304, dtype=np.uint32) * 70001
    old, new = a.tobytes(), a.view(np.uint8)
    if way == "on":
        new[4 : 4 + length] = list(old[:length])
    else:
        new[:length] = list(old[4 : 4 + length])
    return a


ROUNDS = """kernel void k(device float* o, constant uint& n, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[1024];
    s[t] = o[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < COUNT; k++) {
        float v = s[1023 - t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[t] += v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    o[t] = s[t];
}"""


@pytest.mark.parametrize(("count", "asked"), [("3", False), ("n", True)])
def test_gangs_are_asked_which_way_they_go_where_there_are_two(count: str, asked: bool):
    """The loop over gangs of a checked tree of sums took a third of its time, most of it for this question."""
    ir, _ = scalar_ir(ROUNDS.replace("COUNT", count), "k")
    assert ("apart" in pipeline.vector_stage(ir, (1024, 1, 1))) == asked


def test_regions_that_go_on_from_one_place():
    """300 barriers used to be 90,000 edges."""
    text = pipeline.vector_stage(scalar_ir(steps(80), "k")[0], (64, 1, 1))
    assert text.count("label %s") < 6 * 160 + 1000
    a = np.random.default_rng(5).random(128, np.float32)
    expected = same(steps(20), [a, np.full(128, -1, np.float32)], 128, 64, widths=(8, 32))
    shifted = (np.arange(64) + sum(range(1, 21))) % 64
    np.testing.assert_array_equal(expected[1], a.reshape(2, 64)[:, shifted].ravel())


def test_a_switch_of_many_cases_runs_one_lane():
    ir, _ = scalar_ir(cases(600), "k")
    assert gang_width.choose(canonical(ir), (64, 1, 1), codegen.host().info) == 1
    assert gang_width.choose(canonical(scalar_ir(cases(20), "k")[0]), (64, 1, 1), codegen.host().info) > 1
    assert lines_of(cases(600)) < 60 * 600
    a = np.random.default_rng(6).integers(0, 700, 128).astype(np.float32)
    expected = same(cases(600), [a, np.full(128, -1, np.float32)], 128, 64)
    k = a.astype(int)
    np.testing.assert_allclose(expected[1], np.where(k < 600, a * (k % 7 + 0.5) + a[k % 60], a), rtol=1e-6)


def test_code_that_is_too_long_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pipeline, "MAX_LINES", 100)
    with pytest.raises(NotVectorised, match=r"lines of vector code.*\n.*a switch of many cases as a table"):
        pipeline.vector_stage(scalar_ir(cases(40), "k")[0], (64, 1, 1))
