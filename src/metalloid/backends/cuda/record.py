"""What a kernel is launched with: the structures of runtime/device.cpp."""

from __future__ import annotations

import ctypes
import struct

from metalloid.ir.types import PointerType
from metalloid.ir.values import Local

SLOTS = 32
LAUNCH = Local("mt.launch", PointerType(0))  # a kernel's parameter, that all of it lies in


class LaunchRecord(ctypes.Structure):
    _fields_ = [
        ("buffers", ctypes.c_uint64 * SLOTS),
        ("lengths", ctypes.c_uint64 * SLOTS),
        ("local_offsets", ctypes.c_uint32 * SLOTS),
        ("local_lengths", ctypes.c_uint32 * SLOTS),
        ("grid", ctypes.c_uint32 * 3),
        ("groups", ctypes.c_uint32 * 3),
        *((name, ctypes.c_uint32) for name in ("dynamic", "number")),
        *((name, ctypes.c_uint64) for name in ("fault", "cancel", "regions", "region_count", "spare", "log")),
    ]


class FaultRecord(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("taken", "site", "kind", "number")),
        ("offset", ctypes.c_uint64),
        ("thread", ctypes.c_uint32 * 3),
        ("group", ctypes.c_uint32 * 3),
    ]


class LogPiece(ctypes.Structure):
    _fields_ = [
        ("what", ctypes.c_uint32),
        ("thread", ctypes.c_uint32 * 3),
        ("value", ctypes.c_uint64),
    ]


LOG = struct.Struct("2IQ")  # struct Log: pieces that were written, room for as many
REGION = struct.Struct("3Q")  # struct Region: place on the GPU, bytes, address in pointers
SPARE = 256  # bytes of zeros, and as many for what is not to be written
RECORD = ctypes.sizeof(LaunchRecord)  # bytes; the arguments that a launch carries lie behind it
