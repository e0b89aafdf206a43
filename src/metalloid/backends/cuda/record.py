"""What a kernel is launched with: struct Launch and struct Fault of runtime/device.cpp."""

from __future__ import annotations

import ctypes

SLOTS = 32


class LaunchRecord(ctypes.Structure):
    _fields_ = [
        ("buffers", ctypes.c_uint64 * SLOTS),
        ("lengths", ctypes.c_uint64 * SLOTS),
        ("local_offsets", ctypes.c_uint32 * SLOTS),
        ("local_lengths", ctypes.c_uint32 * SLOTS),
        ("grid", ctypes.c_uint32 * 3),
        ("groups", ctypes.c_uint32 * 3),
        *((name, ctypes.c_uint32) for name in ("dynamic", "number")),
        *((name, ctypes.c_uint64) for name in ("fault", "cancel", "regions", "region_count")),
    ]


class FaultRecord(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("taken", "site", "kind", "number")),
        ("offset", ctypes.c_uint64),
        ("thread", ctypes.c_uint32 * 3),
        ("group", ctypes.c_uint32 * 3),
    ]


RECORD = ctypes.sizeof(LaunchRecord)  # bytes; the arguments that a launch carries lie behind it
