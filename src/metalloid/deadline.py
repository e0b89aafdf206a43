"""How long compiling may take, where a launch has a limit of time.

`within(seconds)` gives the limit. Passes `look` at it wherever they write or go over a whole function, so it costs them
nothing and no loop goes on for long without a look; LLVM on long code runs elsewhere, for as long as is `left`.
Clang has a limit of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from metalloid.errors import OutOfTime

LEAST = 10.0  # seconds: who limits a launch to half a second thinks of the kernel


class _State(threading.local):
    end: float | None = None
    seconds = 0.0  # what was given


_state = _State()


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """What this thread compiles inside has so many seconds in all, or LEAST; None leaves it what it has."""
    if seconds is None:
        yield
        return
    seconds = max(seconds, LEAST)
    before = _state.end, _state.seconds
    _state.end, _state.seconds = time.monotonic() + seconds, seconds
    try:
        yield
    finally:
        _state.end, _state.seconds = before


def left() -> float | None:
    """Seconds; None where there is no limit."""
    return None if _state.end is None else max(0.0, _state.end - time.monotonic())


def look() -> None:
    """Raises OutOfTime where none is left."""
    end = _state.end
    if end is not None and time.monotonic() > end:
        raise out_of_time()


def out_of_time() -> OutOfTime:
    return OutOfTime(
        f"[engine] compiling takes longer than the {_state.seconds:g} s that it is given.\n"
        "  hint: give it more (timeout=); repeated code is compiled sooner as a loop"
    )
