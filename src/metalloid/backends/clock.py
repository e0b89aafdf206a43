"""Seconds that a thread has spent on compiling: what a command buffer's time on the device leaves out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from metalloid import garbage


class _Clock(threading.local):
    seconds = 0.0
    depth = 0  # compiling inside compiling counts once


_clock = _Clock()


def compiled() -> float:
    """Seconds so far, of this thread."""
    return _clock.seconds


@contextmanager
def compiling() -> Iterator[None]:
    """Count the time inside."""
    _clock.depth += 1
    start = time.perf_counter()
    try:
        with garbage.kept():
            yield
    finally:
        _clock.depth -= 1
        if not _clock.depth:
            _clock.seconds += time.perf_counter() - start
