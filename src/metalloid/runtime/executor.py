"""Work in the order of its places, run by a thread that comes and goes.

Whoever encodes work reserves a place here and wakes the thread once the work is committed. `Queue` is one of these
and makes the command buffers as well.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from enum import StrEnum

from metalloid.runtime.processor import Processor

_LINGER = 0.2  # seconds a thread waits for more work: starting one costs 0.1 ms
# Seconds after which it looks for work that it was not woken for: whoever commits short work mostly waits for it at
# once, and does it himself. Waking a thread, which then wants the interpreter, costs more than the work.
_TICK = 0.001
_SHORT = 0.0002  # seconds of work
_executors: weakref.WeakSet[SerialExecutor] = weakref.WeakSet()


class Status(StrEnum):
    NOT_ENQUEUED = "not enqueued"
    ENQUEUED = "enqueued"
    COMMITTED = "committed"
    SCHEDULED = "scheduled"
    COMPLETED = "completed"
    ERROR = "error"


DONE = (Status.COMPLETED, Status.ERROR)
_ENQUEUED, _COMMITTED = Status.ENQUEUED, Status.COMMITTED  # an attribute of an enum takes longer than a name


class Work:
    """What is run: it has a place from the moment it is reserved, and may run once it is committed."""

    status = Status.NOT_ENQUEUED
    waits_for = ""  # the event that holds it up right now, in words

    def _run(self) -> None:
        """Called by the executor's thread."""
        raise NotImplementedError


class SerialExecutor:
    """The work of one executor runs one after the other; executors run beside each other."""

    def __init__(self, device: Processor, label: str = "") -> None:
        self.device, self.label = device, label
        self._waiting: deque[weakref.ref[Work] | Work] = deque()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)  # for whoever waits
        self._waiters = 0
        self._due = threading.Condition(self._lock)  # for the thread
        self._short = False  # whether the last work was
        self._running = False  # whether there is a thread
        self._busy = False  # whether somebody runs the first in line
        _executors.add(self)

    def wait_until_idle(self) -> None:
        """Wait for everything that has been committed."""
        self._wait_for(lambda: not self._running or self._next() is None)

    def _wait_for(self, what: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until something is so; False where `timeout` seconds ran out.

        Whoever changes it calls `_tell_waiters`."""
        with self._lock:
            self._waiters += 1
            try:
                return self._changed.wait_for(what, timeout)
            finally:
                self._waiters -= 1

    def _tell_waiters(self) -> None:
        """Tell those who wait; there mostly are none. (They count themselves before they look: no lock is needed.)"""
        if self._waiters:
            with self._lock:
                self._changed.notify_all()

    def _reserve(self, work: Work) -> None:
        # Weak until it is committed: a place in the queue does not keep forgotten work alive.
        with self._lock:
            self._waiting.append(weakref.ref(work))

    def hurry(self) -> None:
        """Somebody waits who cannot do the work himself."""
        with self._lock:
            self._due.notify()

    def _commit(self, work: Work) -> None:
        """Work may run from now on: at its place, or behind all others."""
        with self._lock:
            if work.status is _ENQUEUED:
                at = next(n for n, item in enumerate(self._waiting) if item == weakref.ref(work))
                self._waiting[at] = work
            else:
                self._waiting.append(work)
            work.status = _COMMITTED
            if not self._running:
                self._running = True
                threading.Thread(
                    target=self._serve, name=f"metalloid queue {self.label}", daemon=True
                ).start()
            elif not self._short:
                self._due.notify()

    def _next(self) -> Work | None:
        """The first in line, if it may start."""
        while self._waiting:
            first = self._waiting[0]
            if isinstance(first, Work):
                return first
            if first() is not None:
                return None  # enqueued, and what comes after it has to wait
            self._waiting.popleft()
        return None

    def help(self, work: Work) -> None:
        """Run committed work here and now where it is first in line and nobody has begun it: whoever waits for it
        anyway need not wake another thread."""
        with self._lock:
            if self._busy or self._next() is not work:
                return
            self._busy = True
        self._do(work)

    def _do(self, work: Work) -> None:
        begun = time.perf_counter()
        try:
            work._run()
        finally:
            with self._lock:
                self._short = time.perf_counter() - begun < _SHORT
                self._waiting.popleft()
                self._busy = False
                if self._waiters:
                    self._changed.notify_all()
                if self._waiting:
                    self._due.notify()

    def _serve(self) -> None:
        idle = time.perf_counter()
        while True:
            with self._lock:
                work = None if self._busy else self._next()
                if work is None:
                    self._due.wait(_TICK)
                    work = None if self._busy else self._next()
                if work is None:
                    if self._busy:
                        idle = time.perf_counter()
                    elif time.perf_counter() - idle > _LINGER:
                        self._running = False
                        self._changed.notify_all()
                        return
                    continue
                self._busy = True
            self._do(work)
            del work
            idle = time.perf_counter()

    def __repr__(self) -> str:
        return f"<queue{f' {self.label!r}' if self.label else ''} of {self.device}, {len(self._waiting)} waiting>"


@atexit.register
def _finish() -> None:
    """Work that was committed runs, also where the program ends before it; unless it waits for what nobody will do."""
    stuck: list[Work] = []
    while True:
        running = [executor._next() for executor in tuple(_executors) if executor._running]
        busy = [work for work in running if work is not None]
        if not busy:
            return
        if all(work.waits_for for work in busy):
            if busy == stuck:
                break
            stuck = busy
        time.sleep(0.02)
    for work in stuck:
        print(f"metalloid: {work!r} never ran: it waits for {work.waits_for}", file=sys.stderr)
