"""Every environment variable metalloid reads, typed, in one place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

from metalloid.errors import DeviceError

GUARDS: dict[str, Literal["robust"] | bool] = {"stop": True, "robust": "robust", "off": False}
_guard_unset = ["stop"]
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def cache_directory() -> Path:
    """METALLOID_CACHE_DIR: where compiled kernels are kept."""
    override = os.environ.get("METALLOID_CACHE_DIR", "").strip()
    if not override:
        import platformdirs  # only here: it costs milliseconds that most imports of metalloid never need

        return Path(platformdirs.user_cache_dir("metalloid", appauthor=False))
    if "\0" in override or (os.path.lexists(override) and not Path(override).is_dir()):
        raise DeviceError(
            f"METALLOID_CACHE_DIR is {override!r}, which is not a directory.\n"
            "Name a directory (it is created when missing) or unset the variable."
        )
    return Path(override).expanduser().absolute()


def cache_bytes() -> int:
    """METALLOID_CACHE_BYTES: how large the cache may grow, as 1073741824, 512M or 2G; 0 turns it off."""
    text = os.environ.get("METALLOID_CACHE_BYTES", "").strip()
    if not text:
        return 1 << 30
    match = re.fullmatch(r"([0-9]+)\s*([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if match is None:
        raise DeviceError(
            f"METALLOID_CACHE_BYTES is {text!r}; expected a number of bytes such as 1073741824, 512M or 2G.\n"
            "0 turns the cache off; unset, the limit is 1G."
        )
    return int(match[1]) * _UNITS[match[2].upper()]


def threads() -> int:
    """METALLOID_THREADS: how many threads run threadgroups; all that this process may use where it is not set."""
    text = os.environ.get("METALLOID_THREADS", "").strip()
    if not text:
        try:
            return max(1, len(os.sched_getaffinity(0)))
        except AttributeError:  # not on every system
            return os.cpu_count() or 1
    if not text.isdigit() or not 1 <= int(text) <= 256:
        raise DeviceError(f"METALLOID_THREADS is {text!r}; expected a number from 1 to 256.")
    return int(text)


@cache
def guard() -> Literal["robust"] | bool:
    """METALLOID_GUARD: what becomes of an access outside its memory where a launch does not say: "stop" (where nothing
    is set), "robust" (a read gives 0, a write is dropped, one warning) or "off". Read once."""
    name = os.environ.get("METALLOID_GUARD", "").strip() or _guard_unset[-1]
    if name not in GUARDS:
        raise DeviceError(f"METALLOID_GUARD is {name!r}; expected stop, robust or off.")
    return GUARDS[name]


def guard_as_hardware() -> Callable[[], None]:
    """From now on launches go on after an access outside where METALLOID_GUARD is not set: for programs that were
    written for a GPU. Returns what takes that back."""
    _guard_unset.append("robust")
    guard.cache_clear()

    def undo() -> None:
        _guard_unset.remove("robust")
        guard.cache_clear()

    return undo


def baseline() -> bool:
    """METALLOID_BASELINE: 0 gives small launches good code from the first one on, which takes longer to make."""
    text = os.environ.get("METALLOID_BASELINE", "").strip() or "1"
    if text not in ("0", "1"):
        raise DeviceError(f"METALLOID_BASELINE is {text!r}; expected 0 or 1.")
    return text == "1"


def device() -> str:
    """METALLOID_DEVICE: the device that `metalloid.device()` gives."""
    return os.environ.get("METALLOID_DEVICE", "").strip()


def trace() -> bool:
    """METALLOID_TRACE: print every step of every launch, and at the end what was never released."""
    return os.environ.get("METALLOID_TRACE", "").strip() not in ("", "0")


def forms() -> tuple[str, ...] | None:
    """METALLOID: the call forms to put in place, as `mlx torch` or 1 for all; None where it is not set."""
    text = os.environ.get("METALLOID", "").strip()
    if text in ("", "0"):
        return None
    return () if text == "1" else tuple(re.split(r"[\s,]+", text))


def traceback() -> bool:
    """METALLOID_TRACEBACK: the command line prints the traceback of an error beside its sentence."""
    return os.environ.get("METALLOID_TRACEBACK", "").strip() not in ("", "0")


def check() -> bool:
    """METALLOID_CHECK: check every launch, in any form, and print findings as launches have them."""
    return os.environ.get("METALLOID_CHECK", "").strip() not in ("", "0")


def check_to() -> str:
    """METALLOID_CHECK_TO: set by `metalloid check` for the programs that it starts: a folder for what they find."""
    return os.environ.get("METALLOID_CHECK_TO", "").strip()


def check_engine() -> str:
    """METALLOID_CHECK_ENGINE: who runs checked launches, "vector" (where nothing is set) or "oracle"."""
    name = os.environ.get("METALLOID_CHECK_ENGINE", "").strip() or "vector"
    if name not in ("vector", "oracle"):
        raise DeviceError(f"METALLOID_CHECK_ENGINE is {name!r}; expected vector or oracle.")
    return name
