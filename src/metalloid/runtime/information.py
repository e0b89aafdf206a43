"""What a device is, in Metal's words: families, limits, memory, language version, timestamps.

The numbers that depend on the machine are the machine's; families and versions say which of Metal's abilities kernels
have here.
"""

from __future__ import annotations

import os
import time

from metalloid.errors import DeviceError
from metalloid.records import dataclass

FAMILIES = (*(f"apple{n}" for n in range(1, 9)), *(f"common{n}" for n in (1, 2, 3)), "mac2", "metal3")
LANGUAGE_VERSIONS = ("1.0", "1.1", "1.2", "2.0", "2.1", "2.2", "2.3", "2.4", "3.0", "3.1", "3.2")


@dataclass(frozen=True)
class DeviceInfo:
    """All of it, as numbers and words."""

    name: str
    architecture: str
    families: tuple[str, ...]
    language_version: str  # the newest that kernels may be written in
    unified_memory: bool
    working_set: int  # bytes that buffers should hold at most
    max_buffer_length: int  # bytes of one buffer
    max_threads_per_threadgroup: int
    max_threadgroup_memory: int  # bytes
    simd_width: int
    argument_buffers: int  # Metal's tier
    registry_id: int
    removable: bool = False
    low_power: bool = False
    headless: bool = True


@dataclass(frozen=True)
class Timestamps:
    """The host's and the device's clocks at one moment, in nanoseconds: here they are one clock."""

    cpu: int
    gpu: int


def version_macro(version: str) -> dict[str, str]:
    """What the preprocessor says of a language version; nothing of "", the newest."""
    if not version:
        return {}
    if version not in LANGUAGE_VERSIONS:
        raise DeviceError(
            f"[library] there is no language version {version!r} here; known are {', '.join(LANGUAGE_VERSIONS)}."
        )
    return {"__METAL_VERSION__": version.replace(".", "") + "0"}


def timestamps() -> Timestamps:
    now = time.perf_counter_ns()
    return Timestamps(now, now)


def total_memory() -> int:
    """Bytes of this machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30
