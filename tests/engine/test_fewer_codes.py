"""Launches that differ in their numbers share code, and proofs take no longer than what they are to save."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import metalloid as mt
from metalloid.analysis.intervals.prove import Proof
from metalloid.backends import patience, proof_budget, specialize
from metalloid.backends.cpu import build, codegen
from metalloid.backends.cpu.common_proof import MOST, CommonProof, common, implies
from metalloid.backends.cpu.program import Program
from metalloid.backends.cpu.proofs import Proofs
from metalloid.backends.patience import Patience
from metalloid.backends.proof_budget import ProofBudget
from metalloid.backends.specialize import may_copy

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]]) {
    float sum = int(t) - int(i % 32);  // 0, and threadgroups are the caller's
    for (uint j = 0; j < n; j++) sum += a[(i + j) % 64];
    if (i < 2 * n) b[i] = sum;
}
"""


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Iterator[list[bool]]:
    """Whether each code that is loaded is baseline; nothing is found in a cache."""
    made: list[bool] = []
    load = Program._load

    def noted(self: Program, compiled):
        made.append(compiled.baseline)
        return load(self, compiled)

    monkeypatch.setattr(Program, "_load", noted)
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("METALLOID_BASELINE", raising=False)
    monkeypatch.setattr(patience, "SECONDS", 60.0)  # of a busy machine
    yield made


def run(made: mt.Kernel, threads: int, n: int, room: int = 0) -> None:
    a, b = np.arange(64, dtype=np.float32), np.full(max(threads, room), np.nan, np.float32)
    made(a, b, n, grid=threads, threadgroup=32)
    sums = np.array([a[(i + np.arange(n)) % 64].sum() for i in range(threads)])
    stays = np.arange(threads) >= 2 * n
    np.testing.assert_array_equal(b[:threads], np.where(stays, np.nan, sums))


def kernel() -> mt.Kernel:
    return mt.device("cpu").library(SOURCE)["k"]


def test_baseline_code_serves_launches_with_other_proofs(loaded: list[bool]) -> None:
    made = kernel()
    for n in (100, 7, 3, 60, 1, 50):  # all threads store, or some do
        run(made, 64, n)
        run(made, 96, n)
    assert loaded == [True]


def test_the_next_process_finds_it_without_a_proof(
    loaded: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (100, 7):
        run(kernel(), 64, n)
    monkeypatch.setattr(codegen, "made_object", lambda *_, **__: pytest.fail("machine code was made again"))
    monkeypatch.setattr(Proofs, "prove", _known_only(Proofs.prove))
    for n in (7, 100):
        run(kernel(), 64, n)


def _known_only(prove):
    def asked(self, *arguments):
        found = prove(self, *arguments)
        return found and replace(found, proof=lambda: pytest.fail("a proof was made again"))

    return asked


def test_a_launch_that_comes_once_gets_no_code_of_its_own(
    loaded: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALLOID_BASELINE", "0")
    made = kernel()
    for n in range(1, 9):
        run(made, 32 * n, 8 * n + 1)  # a grid and numbers that nobody has had
    assert len(loaded) <= 3  # of the first two grids, and guarded


def test_proofs_take_no_longer_than_launches_without(
    loaded: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    prove = Proofs.prove

    def slowly(self, *arguments):
        asked.append(arguments)
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass
        return prove(self, *arguments)

    monkeypatch.setattr(Proofs, "prove", slowly)
    made = kernel()
    for n in range(1, 31):
        run(made, 32 * n, n)
    assert 1 <= len(asked) <= 10  # 0.25 s are for nothing; each launch runs for a few microseconds


def test_the_budget_grows_with_what_ran() -> None:
    budget = ProofBudget()
    assert budget.left
    budget._left = -1.0
    budget.ran(0.9)
    assert not budget.left
    budget.ran(0.2)
    assert budget.left
    with budget.proving():
        end = time.thread_time() + 0.12
        while time.thread_time() < end:
            pass
    assert not budget.left
    assert proof_budget.WAY < 0.001


def test_what_takes_seconds_to_make_is_not_made_for_a_megabyte(
    loaded: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "SECONDS", 0.005)
    assert Patience(0.5).bytes == patience.BYTES and Patience(5).bytes > 100 * patience.BYTES
    quick, slow = Patience(0.5), Patience(5)
    for one in (quick, slow):
        one.ran(patience.SECONDS)
        for _ in range(patience.LAUNCHES):
            one.launched()
    assert quick.over and not slow.over
    slow.ran(5)
    assert slow.over
    monkeypatch.setattr(build, "PRICE", 1.0)  # a second for each character
    run(kernel(), 64, 3, room=patience.BYTES)
    assert loaded == [True]


def test_what_is_too_long_to_be_a_parameter_does_not_keep_others_from_being_copied() -> None:
    addresses, room = [0x1000, 0x2000, 0x9000], specialize.ROOM
    nothing = (0).__mul__
    assert may_copy((1, 2), addresses, [0x8000, room + 1, 8], nothing)  # 1 lies in 0, and is data
    assert not may_copy((1, 2), addresses, [0x8000, room, 8], nothing)
    assert not may_copy((1, 2), addresses, [0x100, 8, 8], {1: 0, 2: 4}.get)  # a copy has nothing below it
    assert may_copy((1, 2), addresses, [0x100, room + 1, 8], {1: 16, 2: 0}.get)


def test_what_proofs_have_in_common() -> None:
    def proof(*accesses: int, dead: bool = False) -> Proof:
        found = Proof(frozenset(("entry", n) for n in accesses), loops=frozenset(["loop"]))
        return replace(found, dead=frozenset([("a", "b")])) if dead else found

    assert implies(proof(1, 2), proof(1)) and not implies(proof(1), proof(1, 2))
    assert not implies(proof(1), replace(proof(1), size=(32, 1, 1)))
    assert common(proof(1, 2), proof(2, 3)) == proof(2)
    of = CommonProof()
    assert of.of(proof(1, 2, 3, 4, 5, 6, dead=True)) == proof(1, 2, 3, 4, 5, 6)
    assert of.of(proof(1, 2, 3, 4, 5, 7)) == of.of(proof(1, 2, 3, 4, 5, 8)) == proof(1, 2, 3, 4, 5)
    for n in range(5, 5 - MOST, -1):
        found = of.of(proof(*range(1, n)))
    assert found == Proof()
