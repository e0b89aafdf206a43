"""The driver of an imitated GPU: `Gpu` with memory of the host's, and launches that `machine.cpp` runs."""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import llvmlite.binding as llvm

from metalloid import cache as disk
from metalloid.backends.cuda import code, driver, program
from metalloid.backends.cuda.driver import Gpu, Told
from metalloid.backends.cuda.memory import Memory
from metalloid.backends.toolchain import compiler
from metalloid.errors import DeviceError
from tests.cuda.simulator.translate import machine_code, simulated

_SOURCE = Path(__file__).parent / "machine.cpp"
_FLAGS = ("-std=c++20", "-O2", "-g0", "-fno-sanitize=all", "-shared", "-fPIC", "-nostdlib++")
PROBLEMS = {
    1: "threads wait for each other for ever",
    2: "a lane that is not in its own mask",
    3: "lanes of one mask do different things",
    4: "a line of a matrix begins at no multiple of 16 bytes",
}


@cache
def machine() -> Any:
    text = _SOURCE.read_bytes()
    key = hashlib.sha256(text + repr(_FLAGS).encode()).hexdigest()

    def build(made: Path) -> None:
        command = [compiler(), "c++", *_FLAGS, "-o", str(made), str(_SOURCE)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    made = disk.default().path(key, "so", build)
    library = ctypes.CDLL(str(made))
    library.known = _names(made)
    for name in library.known:
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    library.sim_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return library


def _names(made: Path) -> set[str]:
    return {n.decode() for n in re.findall(rb"\b(sim_\w+|mt_dynamic)\b", made.read_bytes())}


class Simulated(Gpu):
    """One GPU that is none. Launches run beside the host, one after the other, as in a stream."""

    processor = "sm_90"
    threads = 2048
    processors = 1
    # Of no driver: machine code of this one is kept apart.
    version = -int(hashlib.sha256((_SOURCE.parent / "translate.py").read_bytes()).hexdigest()[:8], 16)
    name = "imitated"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = threading.local()
        self._free: dict[int, list[int]] = {}
        self._told: list[Told] = []
        self._work = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None
        self._memory: dict[int, Any] = {}
        self._capture: list[Any] | None = None
        machine()

    def enter(self) -> None:
        if not hasattr(self._own, "span"):
            self._own.span = None

    def mark(self) -> Any:
        self.wait()
        return time.perf_counter()

    def between(self, one: Any, other: Any) -> float:
        return float(other - one)

    stream = None

    def assemble(self, ptx: str) -> bytes:
        return ptx.encode()

    def load(self, code: bytes, kernel: str) -> Any:
        text = code.decode()
        if unknown := set(re.findall(r"^declare .*@(sim_\w+)", text, flags=re.M)) - machine().known:
            raise DeviceError(f"[simulator] there is no {', '.join(sorted(unknown))} in machine.cpp")
        return None, machine_code(text)

    def needs(self, code: bytes, kernel: str) -> tuple[int, int]:
        return 0, 0

    def allow(self, function: Any, local: int) -> None:
        pass

    def take(self, size: int) -> int:
        """Memory of exactly its size at a multiple of 256, as the driver's is, full of a pattern."""
        room = ctypes.create_string_buffer(b"\xa5" * (size + 256), size + 256)
        address = -(-ctypes.addressof(room) // 256) * 256
        self._memory[address] = room
        return address

    def give_back(self, address: int, size: int) -> None:
        self.wait()
        del self._memory[address]

    def upload(self, address: int, host: int, size: int) -> None:
        if self._capture is not None:
            self._capture.append(partial(ctypes.memmove, address, host, size))
            return
        self.wait()
        ctypes.memmove(address, host, size)

    def fetch(self, host: int, address: int, size: int) -> None:
        self.upload(host, address, size)

    def download(self, host: int, address: int, size: int) -> None:
        self.wait()
        ctypes.memmove(host, address, size)

    def pin(self, size: int) -> int:
        return self.take(size)

    def unpin(self, host: int) -> None:
        self.give_back(host, 0)

    def _places(self) -> list[Told]:
        size = 64 * 512
        host = self.take(2 * size)
        ctypes.memset(host, 0, 2 * size)
        return [Told(host + 512 * n, host + size + 512 * n) for n in range(64)]

    def launch(self, function: int, shape: tuple[int, ...], pointers: int, early: bool = False) -> None:
        if self.span is not None:
            self.span.begins()
        self.wait()
        record = ctypes.create_string_buffer(4096)  # the driver copies parameters, too
        ctypes.memmove(record, ctypes.c_void_p.from_address(pointers).value or 0, 4096)
        sizes = (ctypes.c_uint32 * 7)(*shape)
        if self._capture is not None:
            self._capture.append(partial(self._run, function, record, sizes))
        else:
            self._last = self._work.submit(self._run, function, record, sizes)

    def _run(self, function: int, record: Any, sizes: Any) -> None:
        if problem := machine().sim_run(function, ctypes.addressof(record), sizes):
            raise DeviceError(f"[simulator] {PROBLEMS[problem]}")

    def captured(self, launches: Callable[[], None]) -> Any:
        self._capture = []
        try:
            launches()
            return self._capture
        finally:
            self._capture = None

    def replay(self, graph: Any) -> None:
        for step in graph:
            self.wait()
            self._last = self._work.submit(step)

    def forget(self, graph: Any) -> None:
        pass

    def wait(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def done(self) -> bool:
        return self._last is None or self._last.done()

    def stop(self, told: Told) -> None:
        ctypes.c_uint32.from_address(told.cancel).value = 1

    def forgive(self, told: Told) -> None:
        self.wait()
        ctypes.c_uint32.from_address(told.cancel).value = 0
        ctypes.memset(told.fault_address, 0, ctypes.sizeof(type(told.fault)))


@cache
def simulated_memory(number: int = 0) -> Memory:
    return Memory(Simulated())


@contextmanager
def installed() -> Iterator[None]:
    """The device "cuda" is the imitated one, where there is no GPU."""
    if not driver.missing():
        yield
        return
    with (
        mock.patch.object(driver, "missing", lambda: ""),
        mock.patch.object(program, "memory", simulated_memory),
        mock.patch.object(code, "compile_ptx", simulated),
    ):
        yield
