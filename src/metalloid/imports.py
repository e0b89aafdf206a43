"""Act when a module has been imported, whoever imports it and whenever.

A finder in front of all others lets them find the module and waits until it has been loaded. Nothing is imported
for it: a program that never imports the module pays for a look into a dictionary.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[], None]


def after(module: str, act: Action) -> Action:
    """Call `act` as soon as `module` has been loaded, now where it has been; returns what forgets it again."""
    loaded = sys.modules.get(module)
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        act()
        return _nothing
    waiting = _finder.waiting.setdefault(module, [])
    waiting.append(act)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)

    def forget() -> None:
        if act in waiting:
            waiting.remove(act)
        if not any(_finder.waiting.values()) and _finder in sys.meta_path:
            sys.meta_path.remove(_finder)

    return forget


def _nothing() -> None:
    """Nothing is waiting any more."""


class _Finder:
    """Finds nothing itself; lets the others find, and acts when the module has been loaded."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Action]] = {}
        self._busy: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not self.waiting.get(name) or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, self.waiting[name])  # type: ignore[assignment]  # a duck
        return spec


class _Loader:
    def __init__(self, loader: Any, waiting: list[Action]) -> None:
        self._loader, self._waiting = loader, waiting

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader  # whoever asks for the module's files asks its own loader
        self._loader.exec_module(module)
        while self._waiting:
            self._waiting.pop(0)()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


_finder = _Finder()
