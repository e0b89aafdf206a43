"""What this machine's processor can do beyond what LLVM finds out: on aarch64 LLVM leaves dot products of bytes out, on
x86 it does not know whether gathers are slowed down, as many processors do for what gathers give away."""

from __future__ import annotations

import ctypes
import platform
from contextlib import suppress
from pathlib import Path

_ARM = ("aarch64", "arm64")
_GATHERS = Path("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling")


def features() -> str:
    """In LLVM's words, "+dotprod" or "+fast-gather"; "" where there is nothing to add."""
    if platform.machine() not in _ARM:
        return "+fast-gather" if _full_speed(_GATHERS) else ""
    return "+dotprod" if _linux() or _mac() else ""


def _full_speed(said: Path) -> bool:
    """Whether Linux says that nothing slows gathers down. Where it does not know, as in many virtual machines, they may
    be slow."""
    with suppress(OSError):
        return said.read_text().startswith(("Not affected", "Vulnerable"))
    return False


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
