"""Finds `Metal` and what belongs to it where nobody else does: behind all other finders, so PyObjC stays in front."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MODULES = ("Metal", "Foundation", "objc", "libdispatch", "metalcompute")


class Provider(MetaPathFinder, Loader):
    """The modules of `MODULES`, made when they are imported."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, origin="metalloid") if name in MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from metalloid.metal.module import contents

        module.__dict__.update(contents(module.__name__))


PROVIDER = Provider()


def put() -> None:
    sys.meta_path.append(PROVIDER)


def take_away() -> None:
    """The finder, and the modules it made."""
    sys.meta_path.remove(PROVIDER)
    for name in MODULES:
        made = sys.modules.get(name)
        if made is not None and getattr(made.__spec__, "loader", None) is PROVIDER:
            del sys.modules[name]
