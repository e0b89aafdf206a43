"""What this machine's processor can do beyond what LLVM finds out: on aarch64 LLVM leaves dot products of bytes out."""

from __future__ import annotations

import ctypes
import platform
from contextlib import suppress
from pathlib import Path

_ARM = ("aarch64", "arm64")


def features() -> str:
    """In LLVM's words, "+dotprod"; "" where there is nothing to add."""
    if platform.machine() not in _ARM:
        return ""
    return "+dotprod" if _linux() or _mac() else ""


def _linux() -> bool:
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found = [line.split(":")[1].split() for line in lines if line.startswith("Features")]
        return bool(found) and all("asimddp" in words for words in found)
    return False


def _mac() -> bool:
    if platform.system() != "Darwin":
        return False
    value, size = ctypes.c_int(0), ctypes.c_size_t(4)
    asked = ctypes.CDLL(None).sysctlbyname(
        b"hw.optional.arm.FEAT_DotProd", ctypes.byref(value), ctypes.byref(size), None, 0
    )
    return bool(asked == 0 and value.value)
