"""Runs in an emulated interpreter: loads machine code, and runs launches whose memory comes with them.

Memory is put where it lies in the process that asks, so that every address in it stays what it is.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import struct
import sys
from collections.abc import Sequence
from typing import Any

from metalloid.backends.cpu import codegen, native

Region = tuple[int, bytes]
PAGE = 4096
READ_WRITE, PRIVATE_FIXED_ANONYMOUS = 3, 0x32

mapped: set[int] = set()  # pages
codes: list[codegen.Code] = []


def place(at: int, data: bytes) -> None:
    first, end = at // PAGE, -(-(at + len(data)) // PAGE)
    mmap = ctypes.CDLL(None).mmap
    mmap.restype = ctypes.c_void_p
    for page in range(first, end):
        if page not in mapped:
            where = ctypes.c_void_p(page * PAGE)
            if mmap(where, ctypes.c_size_t(PAGE), READ_WRITE, PRIVATE_FIXED_ANONYMOUS, -1, 0) != page * PAGE:
                raise MemoryError(f"page {page * PAGE:#x} is taken")
            mapped.add(page)
    ctypes.memmove(at, data, len(data))


def load(code: bytes) -> int:
    codes.append(codegen.Code(code, codegen.host()))
    return len(codes) - 1


def around(regions: Sequence[Region], act: Any) -> tuple[Any, list[bytes]]:
    for at, data in regions:
        place(at, data)
    found = act()
    return found, [ctypes.string_at(at, len(data)) for at, data in regions]


def run(regions: Sequence[Region], address: int, threads: int, timeout: int) -> Any:
    logs = b""

    def act() -> int:
        nonlocal logs
        status = native.runtime().run(address, threads, timeout, 0)
        record = native.LaunchRecord.from_address(address)
        if record.log_count:
            logs = ctypes.string_at(record.logs, record.log_count * ctypes.sizeof(native.LogRecord))
        return int(status)

    return (*around(regions, act), logs)


def run_all(regions: Sequence[Region], address: int, count: int, threads: int) -> Any:
    return around(regions, lambda: native.runtime().run_all(address, count, threads, 0))


def call(code: int, name: str, regions: Sequence[Region], pointers: Sequence[int], count: int) -> Any:
    """A function of scalar_jit."""
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_long)
    return around(regions, lambda: kind(codes[code].address(name))(*pointers, count))


REQUESTS: dict[str, Any] = {
    "load": load,
    "address": lambda code, name: codes[code].address(name),
    "table": lambda code, name: codes[code].table(name),
    "run": run,
    "run_all": run_all,
    "call": call,
    "check": lambda: native.checks().sizeof_check,
}


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody prints is no answer
    native.runtime()
    while len(head := sys.stdin.buffer.read(8)) == 8:
        name, arguments = pickle.loads(sys.stdin.buffer.read(struct.unpack("<Q", head)[0]))
        try:
            answer: Any = True, REQUESTS[name](*arguments)
        except Exception as error:
            answer = False, repr(error)
        data = pickle.dumps(answer)
        answers.write(struct.pack("<Q", len(data)) + data)
        answers.flush()


if __name__ == "__main__":
    main()
