"""Sites that have told enough, and whose words nobody asks for, are passed over: no finding and no count changes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from metalloid.backends.cpu.checked.attempt import CheckedRun
from metalloid.backends.cpu.checked.findings import Findings
from metalloid.transforms.check_sites import Options
from tests.checker_engine.both import program
from tests.checker_engine.test_planted import TILES, floats, poison
from tests.engine.both import launch

HUSHED = 2
# The loop's end is not known to the compiler, which would make 40 reads of it.
KERNEL = """kernel void k(device const float* a, device float* o, THREAD, uint g [[threadgroup_position_in_grid]]) {
    threadgroup uint s[256];
    uint x = a[i];
    for (uint k = 0; k < 40 + g / 1000; k++) {
        WRITE
        x += s[(t * 9 + k) % 256];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    BEHIND
    o[i] = x;
}"""
PLAIN, ATOMIC = (
    "s[t] = x;",
    "atomic_store_explicit((threadgroup atomic_uint*)&s[t], x, memory_order_relaxed);",
)
CASES = {  # the write, what is behind the barrier, and what is passed over in the end
    "alone": (PLAIN, "", {"read", "write"}),
    "a read that is fine": (PLAIN, "x += s[t];", {"read"}),
    "a write that is fine": (PLAIN, "s[t] = x;", {"read"}),
    "a race that begins later": (PLAIN, "if (g > 4) { s[t] = x; x += s[t ^ 77]; }", set()),
    "places that nobody sets": ("if (t < 200) s[t] = x;", "x += s[(t * 3) % 256];", {"read"}),
    "an atomic write": (ATOMIC, "", set()),
}


def told(
    text: str, arrays: Sequence[np.ndarray], grid, threadgroup, mode: Options
) -> tuple[list[str], set[str]]:
    """All that was found, and what kinds of access were passed over in the end."""
    made = launch([a.copy() for a in arrays], grid, threadgroup)
    run = CheckedRun(made, program(text).program(mode), False, mode, {})
    assert run.start(None) == 0
    muted = ctypes.string_at(run.check.muted, len(run.checks.sites))
    over = {
        "write" if s.write else "read"
        for s, state in zip(run.checks.sites, muted, strict=True)
        if state == HUSHED
    }
    return sorted(map(repr, Findings(run).observation("").records)), over


def compared(text: str, arrays: Sequence[np.ndarray], grid, threadgroup) -> set[str]:
    """What was passed over; a run that goes on behind faults passes over nothing, and must have told the same."""
    records, over = told(text, arrays, grid, threadgroup, Options())
    wanted, none = told(text, arrays, grid, threadgroup, Options(continue_after_fault=True))
    assert not none
    assert records and records == wanted
    return over


def test_tiles_without_barriers():
    n = 128
    arrays = [floats(n * n), floats(n * n), poison(n * n), np.array([n], np.uint32)]
    text = TILES.replace("FIRST", "").replace("SECOND", "")
    assert compared(text, arrays, (n, n), (16, 16)) == {"read", "write"}


@pytest.mark.parametrize("name", CASES)
def test_what_others_look_at_is_kept(name: str):
    write, behind, over = CASES[name]
    n = 256 * 40
    text = KERNEL.replace("WRITE", write).replace("BEHIND", behind)
    assert compared(text, [floats(n), poison(n)], n, 256) == over
