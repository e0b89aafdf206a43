"""Where kernels run. A device is a folder here with a `device.py`; the oracle, `interpret`, defines what is right."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalloid.backends.backend import Backend

FIRST = "cpu"  # what a launch runs on where nobody says


@cache
def names() -> tuple[str, ...]:
    """The devices that metalloid knows, the default first; whether they can be used here is another question."""
    found = [
        package.name
        for package in pkgutil.iter_modules(__path__)
        if package.ispkg and find_spec(f"{__name__}.{package.name}.device") is not None
    ]
    return tuple(sorted(found, key=lambda name: (name != FIRST, name)))


@cache
def named(name: str) -> Backend:
    """The device of this name."""
    found: Backend = import_module(f"{__name__}.{name}.device").BACKEND
    return found
