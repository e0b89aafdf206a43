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
from time import perf_counter

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
_COMMITTED = Status.COMMITTED  # an attribute of an enum takes longer than a name


class Work:
    """What is run: it has a place from the moment it is reserved, and may run once it is committed."""

    status = Status.NOT_ENQUEUED
    waits_for = ""  # the event that holds it up right now, in words
    reserved: Reserved | None = None

    def _run(self) -> None:
        """Called by whoever has the executor's turn."""
        raise NotImplementedError


class Reserved:
    """A place for work that is not committed yet. It does not keep forgotten work alive."""

    __slots__ = ("owner", "work")

    def __init__(self, work: Work) -> None:
        self.owner = weakref.ref(work)
        self.work: Work | None = None  # once it is committed


class SerialExecutor:
    """The work of one executor runs one after the other; executors run beside each other.

    Whoever takes the one token out of `_turn` runs what is first in line, and only he shortens the line: committing
    short work and waiting for it takes no lock. The lock is for those who sleep and for the thread's coming and going.
    """

    def __init__(self, device: Processor, label: str = "") -> None:
        self.device, self.label = device, label
        self._waiting: deque[Work | Reserved] = deque()
        self._turn = [None]
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)  # for whoever waits
        self._waiters = 0
        self._due = threading.Condition(self._lock)  # for the thread
        self._short = False  # whether the last work was
        self._running = False  # whether there is a thread
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
        work.reserved = Reserved(work)
        self._waiting.append(work.reserved)

    def hurry(self) -> None:
        """Have the thread look at once: somebody waits who cannot do the work himself."""
        with self._lock:
            if self._running:
                self._due.notify()
            elif self._waiting:
                self._running = True
                name = f"metalloid queue {self.label}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _commit(self, work: Work) -> None:
        """Work may run from now on: at its place, or behind all others."""
        work.status = _COMMITTED
        if (place := work.reserved) is not None:
            work.reserved, place.work = None, work
        else:
            self._waiting.append(work)
        if not self._running or not self._short:
            self.hurry()

    def _next(self) -> Work | None:
        """The first in line, if it may start."""
        try:
            first = self._waiting[0]
        except IndexError:
            return None
        if isinstance(first, Work):
            return first
        for place in self._waiting.copy():
            work = place if isinstance(place, Work) else place.work
            if work is not None:
                return work
            if isinstance(place, Reserved) and place.owner() is not None:
                return None  # enqueued, and what comes after it has to wait
        return None

    def help(self, work: Work | None = None) -> bool:
        """Run the first in line here and now, or this work where it is that; False where nobody needs to. Whoever waits
        for work anyway need not wake another thread."""
        try:
            self._turn.pop()
        except IndexError:
            return False
        except BaseException:  # an interrupt, which comes behind the call
            self._turn.append(None)
            raise
        try:
            first = self._next()
            if first is None or (work is not None and first is not work):
                return False
            self._do(first)
            return True
        finally:
            self._turn.append(None)
            if self._waiters:
                self._tell_waiters()
            if self._waiting:
                self.hurry()

    def _do(self, work: Work) -> None:
        begun = perf_counter()
        try:
            work._run()
        finally:
            place = self._waiting.popleft()
            self._short = perf_counter() - begun < _SHORT
            while place is not work:  # its own place, and before it those of forgotten work
                place = (
                    place.work
                    if isinstance(place, Reserved) and place.work is not None
                    else self._waiting.popleft()
                )

    def _serve(self) -> None:
        idle = perf_counter()
        while True:
            if self._next() is not None and self.help():
                idle = perf_counter()
                continue
            with self._lock:
                if self._turn and self._next() is not None:
                    continue  # committed meanwhile
                self._due.wait(_TICK)
                if not self._turn:
                    idle = perf_counter()
                elif perf_counter() - idle > _LINGER and self._gone():
                    return

    def _gone(self) -> bool:
        """Say that the thread goes, and look once more: whoever commits looks afterwards whether there is one."""
        self._running = False
        self._running = self._next() is not None
        if self._running:
            return False
        self._changed.notify_all()
        return True

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
