"""The native runtime: built by clang on first use, kept in the cache, loaded into the process.

It needs no linker and no header of the system: clang makes LLVM IR of it, llvmlite the rest. Checked kernels call a
second part, which nobody waits for who does not check.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from metalloid import cache as disk
from metalloid.backends.cpu import codegen
from metalloid.backends.toolchain import compiler
from metalloid.errors import DeviceError
from metalloid.hashes import sha256
from metalloid.once import once

_SOURCE = Path(__file__).parent / "runtime"
_FLAGS = ("-x", "c++", "-std=c++17", "-emit-llvm", "-fno-rtti", "-nostdsysteminc", "-nobuiltininc")
_CALLED = ("mt_fault", "mt_note", "mt_outside", "mt_log", "mt_frame", "mt_release")  # by kernels
_HALVES = ("__truncdfhf2", "__truncsfhf2", "__extendhfsf2")  # LLVM calls them where there is no instruction
_CHECKS = (
    *("mt_check_group", "mt_check_barrier", "mt_check_simd_barrier", "mt_check_fence"),
    *("mt_check_lanes", "mt_check_inactive", "mt_check_left"),
)  # by checked kernels

FAULT, TIMEOUT, INTERRUPTED, NO_MEMORY = 1, 2, 3, 4
NOTED = 5  # it ran to its end, and has something to tell
PARTS = 8  # of a launch at most: launch.h
COPIES = 4  # of buffers
ANY_LENGTH = (1 << 64) - 1


class Range(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint64), ("length", ctypes.c_uint64)]


class FaultRecord(ctypes.Structure):
    _fields_ = [
        ("state", ctypes.c_int32),
        *((name, ctypes.c_uint32) for name in ("site", "index", "x", "y", "z", "variant", "pad")),
        ("offset", ctypes.c_int64),
    ]


class LogRecord(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("what", "index", "x", "y", "z", "pad")),
        ("value", ctypes.c_uint64),
    ]


class CopyRecord(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("buffer", "kind", "rounds", "pad")),
        *((name, ctypes.c_uint64) for name in ("most", "length")),
    ]


class LaunchRecord(ctypes.Structure):
    """struct Launch of launch.h."""

    _fields_ = [
        ("buffers", ctypes.c_uint64 * 32),
        ("lengths", ctypes.c_uint64 * 32),
        ("local_offsets", ctypes.c_uint64 * 32),
        ("local_lengths", ctypes.c_uint64 * 32),
        ("grid", ctypes.c_uint32 * 3),
        ("threadgroup", ctypes.c_uint32 * 3),
        ("groups", ctypes.c_uint32 * 3),
        ("together", ctypes.c_uint32),
        ("range_count", ctypes.c_uint64),
        ("ranges", ctypes.c_void_p),
        ("cancel", ctypes.c_int32),
        ("zero", ctypes.c_int32),
        ("local_total", ctypes.c_uint64),
        ("check", ctypes.c_void_p),
        ("below", ctypes.c_uint64 * 32),
        ("latest", ctypes.c_uint32 * 3),
        ("overlaps", ctypes.c_uint32),
        ("kernels", ctypes.c_uint64 * 3),
        ("scratch", ctypes.c_uint64 * 3),
        ("tables", ctypes.c_uint32 * 3),
        ("backwards", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("chunk", ctypes.c_uint64),
        ("taken", ctypes.c_uint64 * PARTS),
        ("finished", ctypes.c_uint64),
        ("fault", FaultRecord),
        ("logs", ctypes.POINTER(LogRecord)),
        ("log_count", ctypes.c_uint64),
        ("log_room", ctypes.c_uint64),
        ("note", FaultRecord),
        ("order", ctypes.c_uint64),
        ("alone", ctypes.c_uint32),
        ("parts", ctypes.c_uint32),
        ("took", ctypes.c_int64 * 2),
        ("runs", ctypes.c_uint64),
        ("copy_count", ctypes.c_uint64),
        ("copies", CopyRecord * COPIES),
    ]


def _source_key(*how: object, name: str) -> str:
    """What identifies the files of a part of the runtime, and how they are compiled."""
    texts = [path.read_bytes() for path in (_SOURCE / name, *sorted(_SOURCE.glob("*.h")))]
    return sha256(b"\0".join([*texts, repr((name, *how, _FLAGS)).encode()])).hexdigest()


def source_ir(name: str, level: str, triple: str) -> str:
    """A part of the runtime as LLVM IR for a machine."""
    key = _source_key(level, triple, name=name)
    store = disk.default()
    found = store.get(key, "ll")
    if found is None:
        import subprocess

        command = [compiler(), "clang", "-cc1", "-triple", triple, level, *_FLAGS, "-I", str(_SOURCE)]
        result = subprocess.run(
            [*command, "-o", "-", str(_SOURCE / name)], capture_output=True, timeout=120, check=False
        )
        if result.returncode:
            raise DeviceError(
                f"[engine] the runtime does not compile:\n{result.stderr.decode(errors='replace')}"
            )
        found = result.stdout
        store.put(key, "ll", found)
    return found.decode()


def _object(name: str, level: str, target: codegen.Target) -> bytes:
    """Machine code, found by the files that it is made of: to read the IR between for its key took 4 ms of a start."""
    key = _source_key(level, *codegen.made_by(target), name=name)
    found = codegen.kept_object(key)
    if found is None:
        lines = source_ir(name, level, codegen.triple(target)).splitlines()
        text = "\n".join(
            line for line in lines if not line.startswith(("target datalayout", "target triple"))
        )
        found = codegen.made_object(text, target, 0, ready=True)
        disk.default().put(key, "o", found)
    return found


def _loaded(name: str, level: str, exported: tuple[str, ...]) -> codegen.Code:
    """A part of the runtime in this process; kernels can call what it exports."""
    target = codegen.host()
    code = codegen.Code(_object(name, level, target), target)
    for function in exported:
        codegen.add_symbol(function, code.address(function))
    return code


class Runtime:
    """Functions of the native runtime."""

    def __init__(self) -> None:
        # Most of it runs once in a launch: -O2 would take half as long again, and gain nothing that can be measured.
        self._code = code = _loaded("runtime.cpp", "-O1", (*_CALLED, *_HALVES))
        run = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint32
        )
        self.run: Any = run(code.address("mt_run"))
        go = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
        self.go: Any = go(code.address("mt_go"))
        self.go_main: Any = go(code.address("mt_go_main"))
        run_all = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32
        )
        self.run_all: Any = run_all(code.address("mt_run_all"))
        self.again, self.is_again = code.address("mt_again"), code.address("mt_is_again")
        self.python: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("mt_python"))
        self.free: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("mt_free"))
        ctypes.CFUNCTYPE(None)(code.address("mt_start"))()
        size = ctypes.CFUNCTYPE(ctypes.c_uint64)(code.address("mt_sizeof_launch"))()
        if size != ctypes.sizeof(LaunchRecord):
            raise DeviceError(
                f"[engine] a launch has {size} bytes in C++ and {ctypes.sizeof(LaunchRecord)} in Python"
            )


class Checks:
    """What checked kernels call."""

    def __init__(self) -> None:
        self._code = _loaded("check.cpp", "-O2", _CHECKS)
        size = ctypes.CFUNCTYPE(ctypes.c_uint64)(self._code.address("mt_sizeof_check"))
        self.sizeof_check = int(size())


@once
def runtime() -> Runtime:
    return Runtime()


@once
def checks() -> Checks:
    return Checks()
