"""Jobs in processes of their own, each with an end: one that takes too long is ended with all it has started.

A worker stays for the next job, because its imports take longer than most jobs. Diagnosing has a worker beside the one
that runs kernels, so that typing goes on while a kernel runs; of jobs that wait there, only the last one is done.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, Any

from metalloid.studio import limits

Data = dict[str, Any]


class Superseded(Exception):
    """A newer job of the same kind makes this one needless."""


class Closed(Exception):
    """The studio has ended: nothing is started any more."""


class Worker:
    """One process, one job at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._life = threading.RLock()  # starting and ending: a job that waits must not start after the end
        self._turn = threading.Lock()
        self._newest = 0
        self._count = threading.Lock()

    def job(self, kind: str, data: Data, last_only: bool = False) -> Data:
        """What the job answers: its own data, or {"error": sentence}."""
        with self._count:
            self._newest += 1
            mine = self._newest
        with self._turn:
            if last_only and mine != self._newest:
                raise Superseded
            try:
                return self._done(kind, data)
            except Closed:
                return {"error": "the studio has ended"}

    def start(self) -> None:
        with self._turn:
            self._started()

    def _done(self, kind: str, data: Data) -> Data:
        seconds = limits.SECONDS[kind]
        for fresh in (False, True):  # a worker that somebody has ended in the meantime is not the job's fault
            process = self._started()
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps({"kind": kind, "data": data}).encode() + b"\n")
                process.stdin.flush()
                break
            except (OSError, ValueError):  # broken, or closed by another thread
                self.end()
                if fresh:
                    return {"error": "the worker of the studio cannot be started"}
        assert process.stdout is not None
        line = _line_within(process.stdout, seconds)
        if self._closed:
            raise Closed
        if line is None:
            self.end()
            return {
                "error": f"stopped after {seconds:.0f} seconds: the studio gives a kernel no more",
                "stopped": True,
            }
        if not line:
            return {"error": self._fallen(process), "stopped": True}
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer

    def _fallen(self, process: subprocess.Popen[bytes]) -> str:
        self.end()
        code = process.returncode
        why = signal.Signals(-code).name if code and code < 0 else f"exit code {code}"
        memory = limits.MEMORY >> 30
        return (
            f"the process that ran this ended ({why}); it may have asked for more than {memory} GiB of memory"
        )

    def _started(self) -> subprocess.Popen[bytes]:
        with self._life:
            if self._closed:
                raise Closed
            if self._process is None or self._process.poll() is not None:
                self.end()
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "metalloid.studio.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,  # a group of its own, to be ended with the compilers it starts
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
                )
            return self._process

    def close(self) -> None:
        """End the process for good."""
        with self._life:
            self._closed = True
            self.end()

    def end(self) -> None:
        """End the process and all that it has started; the next job gets another."""
        with self._life:
            process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _line_within(pipe: IO[bytes], seconds: float) -> bytes | None:
    """The next line; b"" where the process has ended, None where it took too long or said too much."""
    found: list[bytes] = []

    def read() -> None:
        with suppress(OSError, ValueError):
            found.append(pipe.readline(limits.ANSWER))

    if hasattr(select, "poll"):  # the usual way: no thread is left behind
        waiting = select.poll()
        try:
            waiting.register(pipe, select.POLLIN | select.POLLHUP)
        except ValueError:  # another thread has closed it
            return None
        if not waiting.poll(seconds * 1000):
            return None
        read()
    else:
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(seconds)
    if not found:
        return None
    return found[0] if found[0].endswith(b"\n") or not found[0] else None
