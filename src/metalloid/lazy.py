"""Names of a package that are looked up when they are first used: a start should import what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from metalloid import garbage


def names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """`__getattr__` of a package: `homes` says which module has a name, or that the name is a module of it."""

    def look_up(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        with garbage.imports():
            home = import_module(homes[name])
        found: object = home if homes[name] == f"{package}.{name}" else getattr(home, name)
        setattr(sys.modules[package], name, found)
        return found

    return look_up
