"""The suite with kernels for another processor: everything runs here but their machine code, which an emulator runs.

A whole interpreter under emulation takes minutes for a test; compiled here for aarch64, kernels and the native runtime
alone take seconds. docs/design/aarch64.md says how to set it up.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import platform
import shlex
import struct
import subprocess
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from metalloid.backends.cpu import codegen, native
from metalloid.backends.cpu.checked import records

TARGET = codegen.Target(os.environ.get("EMULATED_CPU", "apple-m1"), "+neon", "aarch64-unknown-linux-gnu")
COMMAND = shlex.split(os.environ["EMULATED_PYTHON"])  # an interpreter for the target, under its emulator
SITE_WORDS, PER_SITE, PER_GROUP, PADDING = 13, 48, 32, 1000  # bytes and words: see shadow.py

lock = threading.RLock()
constants: set[int] = set()  # tables of kernels: they lie over there
counted = {"load": 0, "run": 0, "run_all": 0, "call": 0}
kept: list[object] = []


class Served:
    """The emulated process."""

    process: subprocess.Popen[bytes] | None = None

    def ask(self, name: str, *arguments: Any) -> Any:
        with lock:
            counted[name] = counted.get(name, 0) + 1
            if self.process is None:
                command = ["setarch", "x86_64", *COMMAND, str(Path(__file__).parent / "serve.py")]
                self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            into, out = self.process.stdin, self.process.stdout
            assert into is not None and out is not None
            data = pickle.dumps((name, arguments))
            into.write(struct.pack("<Q", len(data)) + data)
            into.flush()
            head = out.read(8)
            if len(head) < 8:
                status, self.process = self.process.wait(), None
                raise SystemError(f"the emulated process ended with {status}")
            fine, answer = pickle.loads(out.read(struct.unpack("<Q", head)[0]))
        if not fine:
            raise SystemError(f"emulated: {answer}")
        return answer


SERVED = Served()
ask = SERVED.ask


class Code:
    """As machine.Code, over there."""

    def __init__(self, object_code: bytes, target: codegen.Target) -> None:
        self.number = ask("load", bytes(object_code))

    def address(self, name: str) -> int:
        return int(ask("address", self.number, name))

    def table(self, name: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = ask("table", self.number, name)
        constants.update(start for start, _ in found)
        return found


def memory_of(address: int) -> Iterable[tuple[int, int]]:
    """Where everything lies that a launch may read or write."""
    launch = native.LaunchRecord.from_address(address)
    yield address, ctypes.sizeof(launch)
    yield from zip(launch.buffers, launch.lengths, strict=True)
    if launch.range_count:
        yield launch.ranges, 16 * launch.range_count
        for part in (native.Range * launch.range_count).from_address(launch.ranges):
            if part.start not in constants:
                yield part.start, part.length
    if launch.order:
        yield launch.order, 4 * launch.total
    if launch.check:
        yield from shadows_of(launch)


def shadows_of(launch: native.LaunchRecord) -> Iterable[tuple[int, int]]:
    check = records.CheckRecord.from_address(launch.check)
    word, sites = 8 if check.wide else 4, max(1, check.site_count)
    yield launch.check, ctypes.sizeof(check)
    yield check.counts, SITE_WORDS * sites
    yield check.sites, PER_SITE * sites
    yield check.groups, PER_GROUP * launch.total
    for s in check.shadows:
        first = ctypes.c_int64(s.window).value >> s.shift
        count = (min(s.in_window, s.length) >> s.shift) + PADDING
        for words in filter(None, (s.writer, s.first, s.other)):
            yield words + word * (first - PADDING), word * (count + PADDING)
        yield s.start, s.length


def gathered(places: Iterable[tuple[int, int]]) -> list[tuple[int, bytes]]:
    found: list[list[int]] = []
    for start, length in sorted(p for p in places if p[0] and p[1]):
        if found and start <= sum(found[-1]):
            found[-1][1] = max(found[-1][1], start + length - found[-1][0])
        else:
            found.append([start, length])
    return [(start, ctypes.string_at(start, length)) for start, length in found]


def put_back(before: Sequence[tuple[int, bytes]], after: Sequence[bytes]) -> None:
    for (start, was), now in zip(before, after, strict=True):
        if was != now:
            ctypes.memmove(start, now, len(now))


class Runtime:
    """As native.Runtime, over there."""

    def run(self, address: int, threads: int, timeout: int, catch: int) -> int:
        memory = gathered(memory_of(address))
        status, after, logs = ask("run", memory, address, threads, timeout)
        put_back(memory, after)
        if logs:
            kept.append(text := ctypes.create_string_buffer(logs, len(logs)))
            native.LaunchRecord.from_address(address).logs = ctypes.cast(
                text, ctypes.POINTER(native.LogRecord)
            )
        return int(status)

    def run_all(self, address: int, count: int, threads: int, catch: int) -> int:
        size = ctypes.sizeof(native.LaunchRecord)
        memory = gathered(p for n in range(count) for p in memory_of(address + n * size))
        status, after = ask("run_all", memory, address, count, threads)
        put_back(memory, after)
        return int(status)

    def free(self, memory: object) -> None:
        """What is logged here belongs to Python."""


class Checks:
    def __init__(self) -> None:
        self.sizeof_check = int(ask("check"))


RUNTIME = Runtime()
codegen.host = lambda: TARGET  # type: ignore[assignment]
codegen.Code = Code  # type: ignore[assignment, misc]
native.runtime = lambda: RUNTIME  # type: ignore[assignment, return-value]
native.checks = Checks  # type: ignore[assignment]
platform.machine = lambda: "aarch64"


def pytest_configure() -> None:
    import tests.emulated.maths  # noqa: F401  it needs the target


def pytest_terminal_summary(terminalreporter: Any) -> None:
    launches = counted["run"] + counted["run_all"] + counted["call"]
    terminalreporter.write_line(f"{TARGET.cpu}, emulated: {counted['load']} objects, {launches} launches")
