"""Processes that work on numbered tasks. One that dies takes only its task with it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Died:
    """In place of a result."""

    code: int | None

    def __str__(self) -> str:
        return f"the process died (exit code {self.code})"


def work_on(
    task: Callable[..., Any],
    count: int,
    arguments: tuple[Any, ...],
    jobs: int,
    ends: float | None = None,
) -> Iterator[tuple[int, Any]]:
    """`task(n, *arguments)` for n from 0 to count, as they are done; a result, or Died.

    None is begun after `ends`, of the monotonic clock.
    """
    waiting = iter(range(count))
    busy: dict[Connection, tuple[Any, int]] = {}

    def give(pipe: Connection, process: Any) -> None:
        late = ends is not None and time.monotonic() > ends
        if late or (number := next(waiting, None)) is None:
            pipe.send(None)
            process.join()
            pipe.close()
        else:
            busy[pipe] = (process, number)
            pipe.send(number)

    for _ in range(min(jobs, count)):
        give(*_started(task, arguments))
    while busy:
        for ready in wait(list(busy)):
            assert isinstance(ready, Connection)
            process, number = busy.pop(ready)
            try:
                result = ready.recv()
            except EOFError:
                process.join()
                ready.close()
                yield number, Died(process.exitcode)
                ready, process = _started(task, arguments)
            else:
                yield number, result
            give(ready, process)


def _started(task: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Connection, Any]:
    ours, theirs = _FORK.Pipe()
    process = _FORK.Process(target=_serve, args=(task, arguments, theirs), daemon=True)
    process.start()
    theirs.close()  # so that its end is seen here when the process dies
    return ours, process


def _serve(task: Callable[..., Any], arguments: tuple[Any, ...], pipe: Any) -> None:
    while (number := pipe.recv()) is not None:
        pipe.send(task(number, *arguments))
