"""What is told to whoever traces: one step, and how it went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from metalloid.records import dataclass
from metalloid.runtime.watch import watchers


@dataclass(frozen=True)
class Step:
    """One thing that was done, and how it went."""

    kind: str  # "compile", "bind", "sizes", "threadgroup memory", "run", "refused", "commit", ...
    subject: str  # the kernel or object
    detail: str
    outcome: str = "ok"
    seconds: float = 0.0

    def __str__(self) -> str:
        took = f" [{self.seconds * 1e3:.3f} ms]" if self.seconds else ""
        return f"{self.kind} {self.subject}: {self.detail}{took} -> {self.outcome}"


@contextmanager
def step(kind: str, subject: str, detail: str = "") -> Iterator[None]:
    """A step that takes time and may fail, for whoever traces."""
    tracers = [watcher.add for watcher in watchers if hasattr(watcher, "add")]
    if not tracers:
        yield
        return
    start = time.perf_counter()
    outcome = "ok"
    try:
        yield
    except BaseException as error:
        outcome = f"{error.__class__.__name__}: {error}"
        raise
    finally:
        seconds = time.perf_counter() - start
        for add in tracers:
            add(Step(kind, subject, detail, outcome, seconds))


def tell(kind: str, subject: str, detail: str = "", outcome: str = "ok") -> None:
    """A step that takes no time."""
    for watcher in tuple(watchers):
        if hasattr(watcher, "add"):
            watcher.add(Step(kind, subject, detail, outcome))
