"""Where a compile's time goes: processor seconds by stage, while somebody measures (`python -m bench compile`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_state = threading.local()


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Seconds of each stage that this thread passes, those of stages inside it left out."""
    found: dict[str, float] = {}
    _state.seconds, _state.open = found, []
    try:
        yield found
    finally:
        del _state.seconds


@contextmanager
def stage(name: str, elapsed: bool = False) -> Iterator[None]:
    """The time in here is this stage's. `elapsed`: by the clock on the wall, where another process works."""
    seconds: dict[str, float] | None = getattr(_state, "seconds", None)
    if seconds is None:
        yield
        return
    clock = time.perf_counter if elapsed else time.thread_time
    inner: list[float] = _state.open
    inner.append(0.0)
    start, own = clock(), time.thread_time()
    try:
        yield
    finally:
        taken = clock() - start
        seconds[name] = seconds.get(name, 0.0) + taken - inner.pop()
        if inner:
            inner[-1] += time.thread_time() - own if elapsed else taken
