"""Work that is begun before it is needed, beside the rest.

Whoever needs the result does the work as well: it finds it done, waits for it at the worker's own lock, or meets the
error that the worker met. So nothing is told from here, and nothing depends on it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Hashable

_begun: dict[Hashable, threading.Thread] = {}


def may_import() -> bool:
    """Whether a thread may import while others do.

    pytest reads the modules it imports with `ast`, and before Python 3.13 two threads that do so at once can meet a
    SystemError ("recursion depth mismatch").
    """
    return sys.version_info >= (3, 13) or "_pytest.assertion.rewrite" not in sys.modules


def begin(what: Hashable, work: Callable[[], object]) -> None:
    """Do `work` in the background, once for each `what`."""

    def quietly() -> None:
        with contextlib.suppress(Exception):
            work()

    if what not in _begun:
        thread = threading.Thread(target=quietly, name=f"metalloid {what}")
        with contextlib.suppress(RuntimeError):  # no more threads, or the interpreter ends
            thread.start()
            _begun[what] = thread


def wait(what: Hashable) -> None:
    """Until it is done, where it was begun."""
    if what in _begun and _begun[what] is not threading.current_thread():
        _begun[what].join()


def _wait_for_all() -> None:
    for what in list(_begun):
        wait(what)


if hasattr(os, "register_at_fork"):  # a child would inherit the locks of threads that it does not have
    os.register_at_fork(before=_wait_for_all)
