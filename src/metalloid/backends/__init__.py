"""Where kernels run. A device is a folder here with a `device.py`; the oracle, `interpret`, defines what is right."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalloid.backends.backend import Backend

_FILES = ("device.py", "device.pyc")  # looked for, not imported: a start should load what it needs
FIRST = "cpu"  # what a launch runs on where nobody says


@cache
def names() -> tuple[str, ...]:
    """The devices that metalloid knows, the default first; whether they can be used here is another question."""
    places = [path for folder in __path__ for path in Path(folder).iterdir()]
    found = {path.name for path in places if any((path / name).is_file() for name in _FILES)}
    return tuple(sorted(found, key=lambda name: (name != FIRST, name)))


@cache
def named(name: str) -> Backend:
    """The device of this name."""
    found: Backend = import_module(f"{__name__}.{name}.device").BACKEND
    return found
