"""The end of a process in which Python is a guest: a program on the framework, which ends without ending Python."""

from __future__ import annotations

import atexit
import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

_kept: list[Any] = []


def at_exit(action: Callable[[], None]) -> None:
    """Call something at the end of the process: Python's own end, or C's where nobody ends Python."""
    if sys.orig_argv:
        atexit.register(action)
        return

    def called(_: int | None) -> None:
        try:
            action()
        except Exception as error:
            print(f"metalloid: the end of the program was not orderly: {error}", file=sys.stderr)

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(called)
    _kept.append(callback)
    ctypes.CDLL(None).__cxa_atexit(callback, None, None)


@cache
def keep_llvm() -> None:
    """Give nothing back to LLVM once the process ends. Static objects of a program let go of their pipelines then, and
    LLVM's own static objects, which were made later, are gone before. To be called when llvmlite has been loaded."""
    from llvmlite.binding import common

    at_exit(common._at_shutdown)  # llvmlite's own word for it
