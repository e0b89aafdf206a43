"""Ways a checked run can go: other orders, more serials than fit, broken launches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metalloid.backends.cpu.checked import records
from metalloid.backends.cpu.checked.arena import ARENA
from metalloid.backends.cpu.lower.access import load_groups
from tests.checker_engine.both import keys, program, watch
from tests.checker_engine.test_planted import TREE, floats, poison
from tests.engine.both import launch

RACY = TREE.replace("BETWEEN", "")
CLEAN = TREE.replace("BETWEEN", "threadgroup_barrier(mem_flags::mem_threadgroup);")
LAST = """kernel void k(device float* o, THREAD, uint g [[threadgroup_position_in_grid]]) {
    o[0] = g;
}"""


@pytest.mark.parametrize("text", [RACY, CLEAN], ids=["racy", "clean"])
def test_words_that_run_out_of_serials_grow(text: str, monkeypatch: pytest.MonkeyPatch):
    wanted = keys(watch(text, [floats(1024), poison(4)], 1024, 256).records)
    plain = records.Word.serials.fget
    monkeypatch.setattr(records.Word, "serials", property(lambda w: plain(w) if w.wide else 6))
    ARENA.clear()
    out = poison(4)
    seen = watch(text, [floats(1024), out], 1024, 256)
    assert keys(seen.records) == wanted
    assert not wanted or "race in threadgroup memory" in {r.kind for r in seen.records}
    assert np.all(seen.writers[1] == np.arange(4) * 256 + 1)
    if not wanted:
        np.testing.assert_array_equal(out, floats(1024).reshape(4, 256).sum(1))


def test_a_seed_gives_an_order_of_threadgroups_and_gives_it_again():
    made = program(LAST)
    ends = []
    for seed in (None, 1, 1, 2, 3, 4, 5):
        out = np.full(1, -1, np.float32)
        seen = made.run(launch([out], 32 * 20, 32), seed=seed)
        ends.append(float(out[0]))
        assert keys(seen.records) == {("race across threadgroups", 2, 2)}
        assert seen.writers[0][0] - 1 == ends[-1] * 32 + (seen.writers[0][0] - 1) % 32
    assert ends[0] == 19 and ends[1] == ends[2] and len(set(ends)) > 2


def test_backwards_the_first_threadgroup_comes_last():
    out = np.full(1, -1, np.float32)
    program(LAST).run(launch([out], 32 * 20, 32), backwards=True)
    assert out[0] == 0


def test_one_launch_after_the_other_starts_afresh():
    text = """kernel void k(device float* o, THREAD) {
        o[i] = 1;
    }"""
    for n in (64, 128, 64, 32):
        seen = watch(text, [np.zeros(128, np.float32)], n, 32)
        assert not seen.records and np.count_nonzero(seen.writers[0]) == n


def test_what_was_seen_outlives_the_next_launch():
    text = """kernel void k(device float* o, THREAD) {
        o[i] = 1;
    }"""
    first = watch(text, [np.zeros(128, np.float32)], 64, 32)
    watch(text, [np.zeros(128, np.float32)], 128, 32)
    assert np.count_nonzero(first.writers[0]) == 64


def test_an_array_that_cannot_be_written_is_not():
    text = """kernel void k(device float* o, THREAD) {
        o[i] = 1;
    }"""
    fixed = np.zeros(64, np.float32)
    fixed.flags.writeable = False
    seen = watch(text, [fixed], 64, 32)
    assert [(r.kind, r.count) for r in seen.records] == [("write to an input", 64)]
    assert not fixed.any()


def test_buffers_that_are_missing_or_empty():
    text = """kernel void k(device const float* a, device float* o, THREAD) {
        o[i] = a[i];
    }"""
    out = np.zeros(64, np.float32)
    made = replace(launch([np.zeros(0, np.float32), out], 64, 32), buffers={1: out})
    seen = program(text).run(made)
    assert keys(seen.records) == {("read outside", 2, 0)} and not out.any()
    seen = watch(text, [np.zeros(0, np.float32), out], 64, 32)
    assert keys(seen.records) == {("read outside", 2, 0)}
    assert not watch(text, [out, out.copy()], 0, 32).records


TILE = """kernel void k(device const float* a, device float* o, THREAD, uint2 p [[thread_position_in_threadgroup]]) {
    threadgroup float s[16][17];
    s[p.y][p.x] = a[p.y * 16 + p.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint j = 0; j < 16; j++) sum += s[p.x][j + SHIFT] * (p.y + 1);
    o[p.y * 16 + p.x] = sum;
}"""


@pytest.mark.parametrize("shift", [0, 2])
def test_rows_of_an_array_are_read_as_rows(shift: int, monkeypatch: pytest.MonkeyPatch):
    """Its indices are tested, but no test is left where all of them hold."""
    real, taken = load_groups.load_group, []
    monkeypatch.setattr(load_groups, "load_group", lambda e, group: taken.append(real(e, group)) or taken[-1])
    values, out = floats(256), poison(256)
    made = program(TILE.replace("SHIFT", str(shift)))
    seen = made.run(launch([values, out], (16, 16), (16, 16)))
    kinds = {r.kind for r in seen.records}
    if shift:  # behind a row's end, and never written
        assert kinds == {"threadgroup read before write", "read outside", "outside an array"}
        return
    assert not kinds
    rows = values.reshape(16, 16).sum(1)
    np.testing.assert_allclose(out.reshape(16, 16), rows[None, :] * np.arange(1, 17)[:, None], rtol=1e-5)
    assert any(taken)


def test_lanes_at_a_stride_from_another_block():
    """The stride is loaded where the shadow is looked at, which not all ways come by."""
    text = """kernel void k(device const float* a, device float* o, constant uint& n, THREAD) {
        threadgroup float s[1024];
        float x = a[i];
        uint step = uint(a[8]) & 3;
        for (uint k = 0; k < n; k++) {
            s[t * step] = x;
            x += s[t * step + 3];
        }
        o[i] = x;
    }"""
    seen = watch(text, [floats(1024), poison(1024), np.array([20], np.uint32)], 1024, 256)
    assert keys(seen.records) == {("race in threadgroup memory", 6, 7)}
