"""Shadow is at most three times the buffers, whatever the size of their elements.

Where words would take more, the launch runs once for each window of the buffers: it finds the same, and leaves
the same results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu.checked import attempt
from metalloid.backends.cpu.checked.attempt import CheckedRun
from metalloid.backends.cpu.checked.joined import Packed, Windows
from metalloid.backends.cpu.checked.records import Writers
from tests.checker.triplet import HEADER, compiled

TYPES = {"uchar": np.uint8, "half": np.float16, "float": np.float32, "ulong": np.uint64}
TEXT = {
    "in_place": "x[i] = x[i] + TYPE(1);",
    "write": "x[i] = TYPE(i % 7);",
    "far": "x[i] = x[(i + 70001) % n] + TYPE(1);",  # every thread reads what another writes
    "twice": "x[i / 2] = TYPE(i % 5);",  # neighbours write to one element
}
FEW = 16 << 10  # bytes beside the words: vector code reads whole registers


def kernel(body: str, name: str) -> Any:
    text = f"kernel void k(device TYPE* x, constant uint& n, uint i [[thread_position_in_grid]]) {{ {body} }}"
    return compiled(HEADER + text.replace("TYPE", name))


@pytest.fixture
def shadows(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Bytes of shadow of every run."""
    found: list[int] = []
    start = CheckedRun.start

    def watched(self: CheckedRun, timeout: float | None) -> int:
        found.append(self.shadow_bytes)
        return start(self, timeout)

    monkeypatch.setattr(CheckedRun, "start", watched)
    yield found


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("body", ["in_place", "write"])
def test_shadow_is_at_most_as_large_as_the_buffers_and_some(
    name: str, body: str, shadows: list[int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(attempt, "SMALL", 0)
    count = (1 << 20) // np.dtype(TYPES[name]).itemsize + 13
    x = (np.arange(count) % 50).astype(TYPES[name])
    report = mt.check(kernel(TEXT[body], name), x, count, grid=count, threadgroup=256)
    assert report.ok, report.text()
    expected = np.arange(count) % 50 + 1 if body == "in_place" else np.arange(count) % 7
    np.testing.assert_array_equal(x, expected.astype(TYPES[name]))
    assert shadows and max(shadows) <= x.nbytes + 3 * FEW
    writers = report.launches[0].observation.writers[0]
    np.testing.assert_array_equal(writers, np.arange(1, count + 1))


def seen(body: str, name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """What a launch finds and leaves, with shadow of at most so many times its buffers."""
    monkeypatch.setattr(attempt, "MOST_SHADOW", most)
    monkeypatch.setattr(attempt, "SMALL", 0)
    count = 40_000
    x = np.zeros(count, TYPES[name])
    launch = kernel(TEXT[body], name).launch(x, count, grid=count, threadgroup=64)
    found = kernel(TEXT[body], name).checked_program.run(launch)
    records = {(r.kind, r.access.location, r.other and r.other.location) for r in found.records}
    return records, found.writers[0].tolist(), found.threads, x.tolist()


@pytest.mark.parametrize("name", ["uchar", "half", "float"])
@pytest.mark.parametrize("body", TEXT)
def test_windows_find_what_one_run_finds(name: str, body: str, monkeypatch: pytest.MonkeyPatch):
    whole, windows = (seen(body, name, most, monkeypatch) for most in (100, 1))
    assert whole == windows
    assert bool(whole[0]) == (body in ("far", "twice"))


@pytest.mark.parametrize("values", [[], [5], [1, 2, 3, 9, 10, 11], [7] * 40, [*range(90), 4, 4, 1, 99]])
def test_packed_words_come_out_as_they_went_in(values: list[int]):
    words = np.array(values, np.uint32)
    np.testing.assert_array_equal(Packed.of(words).array(), words)
    many = np.tile(np.arange(256, dtype=np.uint32), 400) + np.repeat(
        np.arange(400, dtype=np.uint32) << 12, 256
    )
    np.testing.assert_array_equal(Packed.of(many).array(), many)
    noise = np.random.default_rng(1).integers(0, 1 << 32, 70_000).astype(np.uint32)
    np.testing.assert_array_equal(Packed.of(noise).array(), noise)


@pytest.mark.parametrize("kind", [Windows, Writers])
def test_whether_a_buffer_has_writers_is_said_without_decoding_them(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
):
    made = Windows({0: 4}) if kind is Windows else Writers({0: np.zeros(4, np.uint32)}, {}, None)  # type: ignore[arg-type]
    monkeypatch.setattr(kind, "__getitem__", lambda self, index: pytest.fail("all of it was put together"))
    assert 0 in made and 1 not in made
