"""Where a compile's time goes: processor seconds by stage, while somebody measures (`python -m bench compile`)."""

from __future__ import annotations

import sys
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


def _children() -> float:
    """Processor seconds of the processes that this one has started and that are done."""
    if sys.platform == "win32":
        return time.perf_counter()
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def stage(name: str, elsewhere: bool = False) -> Iterator[None]:
    """The time in here is this stage's. `elsewhere`: that of a process which is started and ends in here."""
    seconds: dict[str, float] | None = getattr(_state, "seconds", None)
    if seconds is None:
        yield
        return
    clock = _children if elsewhere else time.thread_time
    inner: list[float] = _state.open
    inner.append(0.0)
    start, own = clock(), time.thread_time()
    try:
        yield
    finally:
        taken = clock() - start
        seconds[name] = seconds.get(name, 0.0) + taken - inner.pop()
        if inner:
            inner[-1] += time.thread_time() - own if elsewhere else taken
