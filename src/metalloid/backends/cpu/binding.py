"""The memory of a launch, and its way into the record that native code reads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.cpu import native
from metalloid.backends.cpu.code import Loaded, Prepared
from metalloid.backends.cpu.own_copy import KINDS, OwnCopy
from metalloid.records import replace

_addressof = ctypes.addressof
_first_byte: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def memory_of(launch: Launch, keep: list[object]) -> tuple[list[int], list[int]]:
    """Addresses and lengths of a launch's buffers, by index; `keep` gets what has to stay alive."""
    count = 1 + max(launch.buffers) if launch.buffers else 0
    addresses, lengths = [0] * count, [0] * count
    for index, memory in launch.buffers.items():
        addresses[index], lengths[index] = _address(memory, keep)
    return addresses, lengths


def bind(
    record: native.LaunchRecord,
    launch: Launch,
    addresses: list[int],
    lengths: list[int],
    prepared: Prepared,
    keep: list[object],
) -> None:
    """Put a launch's memory into its record; `keep` gets what has to stay alive."""
    record.buffers[: len(addresses)] = addresses
    record.lengths[: len(lengths)] = lengths
    for index, bytes_below in launch.below.items():
        record.below[index] = bytes_below
    if prepared.searches:
        ranges = [(at, size) for at, size in zip(addresses, lengths, strict=True) if size]
        ranges += [(addresses[i] - n, n) for i, n in launch.below.items()]
        ranges += [(address, memoryview(memory).nbytes) for address, memory in launch.resources]
        joined = merged([*ranges, *prepared.constants])
        table = (native.Range * max(1, len(joined)))(*(native.Range(*r) for r in joined))
        record.ranges, record.range_count = ctypes.addressof(table), len(joined)
        keep.append(table)


def merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order; those that overlap or touch as one."""
    found: list[tuple[int, int]] = []
    for start, length in sorted(ranges):
        if found and start <= found[-1][0] + found[-1][1]:
            first, had = found[-1]
            found[-1] = (first, max(had, start + length - first))
        else:
            found.append((start, length))
    return found


def _address(memory: object, keep: list[object]) -> tuple[int, int]:
    if isinstance(memory, np.ndarray):
        try:  # a quarter of the time that `ctypes.data` takes
            return _addressof(_first_byte(memory)), memory.nbytes
        except (TypeError, ValueError, BufferError):  # read-only, empty, or of a type that cannot be exported
            return memory.ctypes.data, memory.nbytes
    view = memoryview(memory).cast("B")  # type: ignore[arg-type]
    if not view.nbytes:
        return 0, 0
    if view.readonly:
        array = np.frombuffer(view, np.uint8)
        keep.append(array)
        return int(array.__array_interface__["data"][0]), array.nbytes
    raw = (ctypes.c_char * view.nbytes).from_buffer(view)
    keep.append(raw)
    return ctypes.addressof(raw), view.nbytes


def bind_local(record: native.LaunchRecord, launch: Launch, static: int) -> None:
    """Host-sized threadgroup memory lies behind the kernel's own."""
    at = -(-static // 16) * 16
    for index, length in sorted(launch.threadgroup_memory.items()):
        record.local_offsets[index], record.local_lengths[index] = at, length
        at += -(-length // 16) * 16
    record.local_total = at


def bind_copies(record: native.LaunchRecord, variants: Sequence[Loaded]) -> None:
    """The buffers that threads may have copies of. Where variants want them in other places, there are none."""
    wanted: dict[int, OwnCopy] = {}
    agreed = True
    for copy in (c for v in variants for c in v.compiled.own_copies):
        had = wanted.setdefault(copy.slot, copy)
        agreed = agreed and (had.buffer, had.kind) == (copy.buffer, copy.kind)
        longest = max(had.length, copy.length) if had.length and copy.length else 0
        wanted[copy.slot] = replace(had, length=longest)
    record.copy_count = max(wanted, default=-1) + 1
    for slot, copy in wanted.items():
        made = record.copies[slot]
        made.buffer, made.kind, made.rounds = copy.buffer, KINDS.index(copy.kind), copy.rounds
        made.most = (copy.length or native.ANY_LENGTH) if agreed else 0
