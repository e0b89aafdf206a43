"""`import Metal` on any machine: a module of PyObjC's shape, and the small `metalcompute`.

import metalloid.metal

metalloid.metal.install()     # from here on `import Metal`, where the real one is not installed
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from metalloid.errors import DeviceError
from metalloid.metal import finder

__all__ = ["install", "installed", "is_installed", "uninstall"]

_lock = threading.Lock()
_depth = 0


def install() -> None:
    """Make `import Metal`, `Foundation`, `objc`, `libdispatch` and `metalcompute` find metalloid's. Calls nest."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            finder.put()


def uninstall() -> None:
    """Undo one `install`; after the last one the modules are gone."""
    global _depth
    with _lock:
        if _depth == 0:
            raise DeviceError("[metal] uninstall() without install().")
        _depth -= 1
        if _depth == 0:
            finder.take_away()


@contextmanager
def installed() -> Iterator[None]:
    """`with metalloid.metal.installed():` installs for as long as the block runs."""
    install()
    try:
        yield
    finally:
        uninstall()


def is_installed() -> bool:
    """Whether `install` is in force."""
    return _depth > 0
