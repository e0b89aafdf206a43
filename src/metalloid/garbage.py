"""Python's garbage collector waits while something is compiled.

Passes make objects by the hundred thousand, and next to none of them refers back to itself: what is not needed goes by
its count of references. The collector walked over all of them again and again, 8% of a compile.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_waiting: list[bool] = []  # one for each thread inside; the first says whether it was on
# Objects of a long kernel, beside which a caller's own are few: they are old at once. To look at all of them, twice,
# took 170 ms behind hashcat's longest.
_MANY = 100_000


@contextmanager
def kept() -> Iterator[None]:
    """Nothing is collected in here, on any thread; who has the collector off keeps it off."""
    inside = False
    try:
        with _lock:
            on = gc.isenabled() if not _waiting else _waiting[0]
            inside = True  # from here on it is to be undone, wherever an interrupt (Control-C) comes
            _waiting.append(on)
            gc.disable()
        yield
    finally:
        with _lock:
            if inside and _waiting and _waiting.pop() and not _waiting:
                try:
                    if gc.get_count()[0] > _MANY:
                        _age()
                finally:
                    gc.enable()


@contextmanager
def imports() -> Iterator[None]:
    """Nothing is collected in here, and what was made is old at once: modules, classes and functions stay. Looking at
    all of them for garbage took 20 ms of a first launch."""
    with kept():
        known = len(sys.modules)
        yield
        if len(sys.modules) > known:  # else the caller's own objects would only be made old
            _age()


def _age() -> None:
    """All objects into the oldest generation, without a look at them. What somebody has put aside would be put back."""
    if not gc.get_freeze_count():
        try:
            gc.freeze()
        finally:
            gc.unfreeze()


def _forget() -> None:
    """In a child process, which has none of the threads that are inside."""
    global _lock
    _lock = threading.Lock()
    if _waiting and _waiting[0]:
        gc.enable()
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
