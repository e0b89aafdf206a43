"""Queues: command buffers in the order of their places, run by a thread that comes and goes."""

from __future__ import annotations

import atexit
import sys
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING

from metalloid.runtime.commands import CommandBuffer, Status
from metalloid.runtime.events import SharedEvent

if TYPE_CHECKING:
    from metalloid.runtime.device import Device

_LINGER = 0.2  # seconds a thread waits for more work: starting one costs 0.1 ms
_queues: weakref.WeakSet[Queue] = weakref.WeakSet()


class Queue:
    """Command buffers of one queue run one after the other; queues run beside each other."""

    def __init__(self, device: Device, label: str = "") -> None:
        self.device, self.label = device, label
        self._waiting: deque[weakref.ref[CommandBuffer] | CommandBuffer] = deque()
        self._changed = threading.Condition()
        self._running = False
        _queues.add(self)

    def command_buffer(self, label: str = "") -> CommandBuffer:
        return CommandBuffer(self, label)

    def event(self) -> SharedEvent:
        return SharedEvent()

    def wait_until_idle(self) -> None:
        """Wait for everything that has been committed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running or self._next() is None)

    def _reserve(self, commands: CommandBuffer) -> None:
        # Weak until it is committed: a place in the queue does not keep forgotten work alive.
        with self._changed:
            self._waiting.append(weakref.ref(commands))

    def _wake(self) -> None:
        with self._changed:
            for at, item in enumerate(self._waiting):
                commands = item() if isinstance(item, weakref.ref) else item
                if commands is not None and commands.status is Status.COMMITTED:
                    self._waiting[at] = commands
            if not self._running:
                self._running = True
                threading.Thread(
                    target=self._serve, name=f"metalloid queue {self.label}", daemon=True
                ).start()
            self._changed.notify_all()

    def _next(self) -> CommandBuffer | None:
        """The first command buffer, if it may start."""
        while self._waiting:
            first = self._waiting[0]
            if isinstance(first, CommandBuffer):
                return first
            if first() is not None:
                return None  # enqueued, and what comes after it has to wait
            self._waiting.popleft()
        return None

    def _serve(self) -> None:
        while True:
            with self._changed:
                commands = self._next()
                if commands is None:
                    self._changed.wait(_LINGER)
                    commands = self._next()
                if commands is None:
                    self._running = False
                    self._changed.notify_all()
                    return
            commands._run()
            with self._changed:
                self._waiting.popleft()
                self._changed.notify_all()
            del commands

    def __repr__(self) -> str:
        return f"<queue{f' {self.label!r}' if self.label else ''} of {self.device}, {len(self._waiting)} waiting>"


@atexit.register
def _finish() -> None:
    """Work that was committed runs, also where the program ends before it; unless it waits for what nobody will do."""
    stuck: list[CommandBuffer] = []
    while True:
        running = [queue._next() for queue in tuple(_queues) if queue._running]
        busy = [commands for commands in running if commands is not None]
        if not busy:
            return
        if all(commands.waits_for for commands in busy):
            if busy == stuck:
                break
            stuck = busy
        time.sleep(0.02)
    for commands in stuck:
        print(f"metalloid: {commands!r} never ran: it waits for {commands.waits_for}", file=sys.stderr)
