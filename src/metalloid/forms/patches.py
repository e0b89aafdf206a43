"""Names of a library that are put in place, and given back when the last one who asked for them has gone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from metalloid.errors import DeviceError


class Patches:
    """Those of one form. `put` replaces names through `replace`; calls of `install` nest."""

    def __init__(self, form: str, put: Callable[[], None]) -> None:
        self._form, self._put = form, put
        self._lock = threading.RLock()
        self._undo: list[tuple[Any, str, Any]] = []
        self._afterwards: list[Callable[[], object]] = []
        self._depth = 0

    @property
    def installed(self) -> bool:
        return self._depth > 0

    def install(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                try:
                    self._put()
                except BaseException:
                    self._depth = 0
                    self._restore()
                    raise

    def uninstall(self) -> None:
        with self._lock:
            if self._depth == 0:
                raise DeviceError(f"[{self._form}] uninstall() without install().")
            self._depth -= 1
            if self._depth == 0:
                self._restore()

    def replace(self, module: Any, name: str, value: Any) -> None:
        self._undo.append((module, name, getattr(module, name)))
        setattr(module, name, value)

    def afterwards(self, do: Callable[[], object]) -> None:
        """To be done when the names are back."""
        self._afterwards.append(do)

    def _restore(self) -> None:
        while self._undo:
            module, name, value = self._undo.pop()
            setattr(module, name, value)
        while self._afterwards:
            self._afterwards.pop()()
