"""The compiler's time is counted on the processor: a busy machine makes nobody give up, a source without end does."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

import metalloid as mt
from metalloid.frontend import clang

ENDLESS = """#include <metal_stdlib>
using namespace metal;
template <int A, int B> struct Wide { typedef Wide<A - 1, B * 2> L; typedef Wide<A - 1, B * 2 + 1> R;
    static constexpr int n = L::n + R::n; };
template <int B> struct Wide<0, B> { static constexpr int n = 1; };
kernel void k(device int* y) { y[0] = Wide<24, 1>::n; }
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the clock is looked at")


@linux
def test_a_source_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clang, "TIMEOUT", 1.0)
    with pytest.raises(mt.CompileError, match="the compiler gave up after 1 seconds"):
        mt.device().library(ENDLESS)["k"]


@linux
def test_waiting_for_a_turn_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is held up for longer than its time on a processor, as on a machine with too much to do."""
    monkeypatch.setattr(clang, "TIMEOUT", 2.0)
    held: list[int] = []
    real = clang._limit

    def slow(pid: int, seconds: float) -> int:
        found = real(pid, seconds)
        os.kill(pid, signal.SIGSTOP)
        held.append(pid)
        threading.Timer(3.0, os.kill, (pid, signal.SIGCONT)).start()
        return found

    monkeypatch.setattr(clang, "_limit", slow)
    start = time.monotonic()
    result = clang.run([*clang._LANGUAGE, "-fsyntax-only", "-x", "c++", "-"], "int x;\n")
    assert held and time.monotonic() - start > 2.5
    assert not result.stopped and not result.failed, result


def test_a_long_text_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    monkeypatch.setattr(clang, "_limit", lambda pid, seconds: given.append(seconds) or 1)
    for text in ("int x;", f"int x;{' ' * 1_000_000}"):
        assert not clang.run([*clang._LANGUAGE, "-fsyntax-only", "-x", "c++", "-"], text).failed
    assert given == [15, 45]
