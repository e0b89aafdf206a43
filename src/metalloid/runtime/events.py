"""Shared events: a number that only grows, for queues and the host to wait on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from metalloid.errors import LaunchError
from metalloid.runtime.steps import tell
from metalloid.runtime.whole import whole

Block = Callable[["SharedEvent", int], None]
_LINGER = 0.2  # seconds a thread waits for more: starting one costs 0.1 ms


class EventListener:
    """Where blocks run that wait for a value: a thread of its own, so that whoever signals is not held up."""

    def __init__(self, label: str = "") -> None:
        self.label = label
        self._due: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running = False

    def post(self, run: Callable[[], None]) -> None:
        """Run it after all that was posted before."""
        with self._lock:
            self._due.put(run)
            if not self._running:
                self._running = True
                threading.Thread(
                    target=self._serve, name=f"metalloid listener {self.label}", daemon=True
                ).start()

    def _serve(self) -> None:
        while True:
            try:
                run = self._due.get(timeout=_LINGER)
            except queue.Empty:
                with self._lock:
                    if self._due.empty():
                        self._running = False
                        return
                continue
            try:
                run()
            except Exception as error:  # told as that of a thread; those that wait behind it still run
                thread = threading.current_thread()
                threading.excepthook(
                    threading.ExceptHookArgs((type(error), error, error.__traceback__, thread))
                )


class SharedEvent:
    """`signal(n)` sets the value; whoever waits for n or less goes on."""

    def __init__(self, label: str = "") -> None:
        self.label = label
        self._value = 0
        self._changed = threading.Condition()
        self._listeners: list[tuple[int, Block, EventListener | None]] = []

    @property
    def value(self) -> int:
        return self._value

    def signal(self, value: int) -> None:
        number = whole("event", "value", value, 0, (1 << 64) - 1)
        with self._changed:
            if number < self._value:
                raise LaunchError(f"[event] the value is {self._value}; {number} would take it back.")
            self._value = number
            due = [item for item in self._listeners if item[0] <= number]
            self._listeners = [item for item in self._listeners if item[0] > number]
            self._changed.notify_all()
        tell("signal", repr(self))
        for _, block, listener in due:
            self._call(block, listener, number)

    def wait(self, value: int, timeout: float | None = None) -> bool:
        """Wait on the host until the value is reached; False where `timeout` seconds ran out."""
        number = whole("event", "value", value, 0, (1 << 64) - 1)
        with self._changed:
            return self._changed.wait_for(lambda: self._value >= number, timeout)

    def notify(self, value: int, block: Block, listener: EventListener | None = None) -> None:
        """Call `block(event, value)` once the value is reached: on a listener's thread, or on whoever signals."""
        number = whole("event", "value", value, 0, (1 << 64) - 1)
        with self._changed:
            if self._value < number:
                self._listeners.append((number, block, listener))
                return
        self._call(block, listener, self._value)

    def _call(self, block: Block, listener: EventListener | None, value: int) -> None:
        if listener is None:
            block(self, value)
        else:
            listener.post(lambda: block(self, value))

    def __repr__(self) -> str:
        return f"<shared event{f' {self.label!r}' if self.label else ''}, value {self._value}>"
