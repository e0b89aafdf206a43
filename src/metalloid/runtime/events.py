"""Shared events: a number that only grows, for queues and the host to wait on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from metalloid.errors import LaunchError


class SharedEvent:
    """`signal(n)` sets the value; whoever waits for n or less goes on."""

    def __init__(self) -> None:
        self._value = 0
        self._changed = threading.Condition()
        self._listeners: list[tuple[int, Callable[[SharedEvent, int], None]]] = []

    @property
    def value(self) -> int:
        return self._value

    def signal(self, value: int) -> None:
        with self._changed:
            if value < self._value:
                raise LaunchError(f"[event] the value is {self._value}; {value} would take it back.")
            self._value = value
            due = [item for item in self._listeners if item[0] <= value]
            self._listeners = [item for item in self._listeners if item[0] > value]
            self._changed.notify_all()
        for _, listener in due:
            listener(self, value)

    def wait(self, value: int, timeout: float | None = None) -> bool:
        """Wait on the host until the value is reached; False where time ran out."""
        with self._changed:
            return self._changed.wait_for(lambda: self._value >= value, timeout)

    def notify(self, value: int, listener: Callable[[SharedEvent, int], None]) -> None:
        """Call `listener(event, value)` as soon as the value is reached."""
        with self._changed:
            if self._value < value:
                self._listeners.append((value, listener))
                return
        listener(self, self._value)

    def __repr__(self) -> str:
        return f"<shared event, value {self._value}>"
