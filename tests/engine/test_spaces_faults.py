"""A pointer of several spaces that leaves its memory: the fault names the line and the memory it left."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import interpret
from metalloid.errors import KernelFault
from tests.engine.both import HEADER, launch, program, scalar_ir
from tests.engine.test_proofs import proved

F = np.float32
N = 64
KERNEL = """kernel void k(device float* a, device float* out, constant uint& c,
  uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
  threadgroup float t[32]; float q[4] = {1, 2, 3, a[i]};
  t[l] = a[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  PICK
  USE
}
"""
PICKED = "float* p = (i & 1) ? (float*)(a + i) : c == 2 ? (float*)(q + (i & 3)) : (float*)(t + l);"
KEPT = "float* ps[2] = {(float*)(a + i), c == 2 ? (float*)q : (float*)(t + l)}; float* p = ps[(i + 1 + (c >> 8)) & 1];"


def arrays(c: int) -> list[np.ndarray]:
    return [np.arange(N, dtype=F), np.full(N, -7, F), np.array([c], np.uint32)]


def fault(pick: str, use: str, c: int, width: int) -> KernelFault:
    """The engine's; the oracle stops at the same line, for the same memory."""
    text = KERNEL.replace("PICK", pick).replace("USE", use)
    with pytest.raises(KernelFault) as caught:
        interpret.run(scalar_ir(text, "k")[0], launch(arrays(c), N, 32))
    first = caught.value.finding
    with pytest.raises(KernelFault) as caught:
        program(text, "k", width).run(launch(arrays(c), N, 32))
    found = caught.value.finding
    assert (found.rule, found.location.line) == (first.rule, first.location.line)
    if (
        pick != KEPT
    ):  # an address that is read back is looked for among the buffers, and told from the nearest
        assert found.buffer == first.buffer
    return caught.value


@pytest.mark.parametrize("width", [1, 32])
@pytest.mark.parametrize("pick", [PICKED, KEPT])
def test_past_the_end_of_the_buffer(pick, width):
    error = fault(pick, "if (i & 1) p[c] = 1; out[i] = *p;", 63, width)
    assert error.finding.rule == "M102" and error.finding.location.line == 9
    assert "buffer 0 'a' (256 bytes)" in str(error)


@pytest.mark.parametrize("width", [1, 32])
def test_a_read_in_front_of_the_buffer(width):
    error = fault(PICKED, "out[i] = (i & 1) ? p[-int(c)] : 0.0f;", 40, width)
    assert error.finding.rule == "M101" and error.finding.buffer == 0


@pytest.mark.parametrize("width", [1, 32])
@pytest.mark.parametrize(("c", "words"), [(1000, "threadgroup"), (2, "private")])
def test_past_the_end_of_a_variable(c, words, width):
    error = fault(PICKED, "out[i] = (i & 1) ? 0.0f : p[c * 400];", c, width)
    assert error.finding.rule == "M101" and error.finding.buffer is None and words in str(error)


@pytest.mark.parametrize("width", [1, 32])
def test_through_no_pointer(width):
    error = fault(
        "float* ps[2] = {nullptr, (float*)(t + l)}; float* p = ps[(i >> c) & 1];", "out[i] = *p;", 4, width
    )
    assert error.finding.rule == "M101" and error.finding.location.line == 9


def test_what_cannot_miss_is_proved():
    """A choice of two whose indices are known: as many accesses as there are."""
    text = KERNEL.replace("PICK", "float* p = (i & 1) ? (float*)(a + i) : (float*)(t + (l ^ 1));")
    done, all_ = proved(text.replace("USE", "out[i] = *p; *p = 1;"), arrays(1), N, 32)
    assert done == all_


def checked(use: str, c: int) -> tuple[mt.Finding, ...]:
    text = HEADER + KERNEL.replace("PICK", PICKED).replace("USE", use)
    a, out, _ = arrays(c)
    return mt.check(mt.device().library(text)["k"], a, out, c, grid=N, threadgroup=32).findings


def test_the_checker_names_the_buffer_and_has_nothing_against_good_code():
    assert not checked("out[i] = *p; *p = 1;", 1)
    (found,) = (f for f in checked("if (i & 1) p[c] = 1; out[i] = *p;", 63) if f.rule == "M102")
    assert found.buffer == "a" and found.location.line == 9
