"""Where kernels run. A device is a folder here with a `device.py`; the oracle, `interpret`, defines what is right."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
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
        if package.ispkg and _is_device(package.name)
    ]
    return tuple(sorted(found, key=lambda name: (name != FIRST, name)))


def _is_device(name: str) -> bool:
    """Looked up without importing the package: a start should load what it needs."""
    folders = [str(Path(folder) / name) for folder in __path__]
    return any(module.name == "device" for module in pkgutil.iter_modules(folders))


@cache
def named(name: str) -> Backend:
    """The device of this name."""
    found: Backend = import_module(f"{__name__}.{name}.device").BACKEND
    return found
