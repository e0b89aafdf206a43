"""The shortest way to a launch: a record that is ready but for its memory."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Sequence
from time import perf_counter

from metalloid.backends.backend import Fact, NativeLaunch
from metalloid.backends.base import Launch, LogMessage
from metalloid.backends.cpu import native
from metalloid.backends.cpu.code import Prepared
from metalloid.backends.cpu.repeats import Repeats, repeats
from metalloid.backends.specialize import ParameterSnapshot, Specializer, may_copy

OnLog = Callable[[LogMessage], None] | None
Finish = Callable[[Prepared, native.LaunchRecord, Launch, int, None, OnLog], None]

_move = ctypes.memmove
_SIZE = ctypes.sizeof(native.LaunchRecord)
_LENGTHS = native.LaunchRecord.lengths.offset
_BELOW = native.LaunchRecord.below.offset
_LOGS = native.LaunchRecord.log_count.offset
_MAIN = threading.main_thread().ident
_ident = threading.get_ident


class Room:
    """A record that no launch uses just now, and room for the parameters of the next."""

    __slots__ = ("_start", "address", "below", "holds", "record", "snapshot", "start")

    def __init__(self, threads: int) -> None:
        self.record, self.snapshot = native.LaunchRecord(), ParameterSnapshot()
        self.address = ctypes.addressof(self.record)
        self._start = (ctypes.c_uint64 * 2)(self.address, threads)
        self.start = ctypes.addressof(self._start)  # what the native runtime is given
        self.holds: Prepared | None = None  # what the record was last filled with
        self.below = False  # whether the record says what lies before buffers


class CpuQuick:
    """One kernel, one size of launch."""

    __slots__ = (
        "_choice",
        "_finish",
        "_go",
        "_go_main",
        "_pack",
        "_pack_below",
        "_ran",
        "_run",
        "count",
        "parameters",
        "threads",
    )

    def __init__(
        self,
        finish: Finish,
        choice: Specializer[Prepared],
        threads: int,
        buffers: Sequence[int],
        ran: Callable[[Prepared, float], None],
    ) -> None:
        self._ran = ran
        self._finish, self._choice, self.threads = finish, choice, threads
        self.parameters = choice.parameters
        self.count = count = 1 + max(buffers, default=-1)
        self._pack = struct.Struct(f"{count}Q{_LENGTHS - 8 * count}x{count}Q").pack_into
        self._pack_below = struct.Struct(f"{count}Q").pack_into
        runtime = native.runtime()
        self._run, self._go, self._go_main = runtime.run, runtime.go, runtime.go_main

    def room(self) -> Room:
        return Room(self.threads)

    def fits(self, addresses: Sequence[int], lengths: Sequence[int], below: Sequence[int]) -> bool:
        return may_copy(self.parameters, addresses, lengths, below.__getitem__)

    def find(self, room: Room, addresses: list[int], lengths: Sequence[int]) -> tuple[Prepared, bool]:
        choice = self._choice
        contents = room.snapshot.take(self.parameters, addresses, lengths) if self.parameters else b""
        key = choice.key(tuple(lengths), contents, addresses)
        return choice.code(key), choice.settled(key)

    def start(
        self,
        room: Room,
        code: Prepared,
        addresses: list[int],
        lengths: Sequence[int],
        on_log: OnLog,
        told: Callable[[], Launch],
        below: Sequence[int] | None = None,
    ) -> None:
        record, there = room.record, room.address
        if room.holds is not code:
            _move(there, code.address, _SIZE)
            room.holds = code
        self._pack(record, 0, *addresses, *lengths)
        if below is not None:
            self._pack_below(record, _BELOW, *below)
            room.below = True
        elif room.below:
            self._pack_below(record, _BELOW, *[0] * len(addresses))
            room.below = False
        counts = code.baseline or not code.proved
        begun = perf_counter() if counts else 0.0
        status = self._go_main(room.start) if _ident() == _MAIN else self._go(room.start)
        if counts:
            self._ran(code, perf_counter() - begun)
        if status or record.log_count:
            room.holds = None
            self._finish(code, record, told(), status, None, on_log)

    def repeats(self) -> Repeats | None:
        return repeats()

    def repeat(
        self,
        made: Repeats,
        room: Room,
        code: Prepared,
        addresses: list[int],
        lengths: Sequence[int],
        facts: Sequence[Fact],
        kept: object,
        at_once: bool = False,
    ) -> Callable[[object], None] | None:
        """From now on `made` has the same launch, with the record as it is; not for kernels that log.

        Gives what is to be called where a buffer is gone."""
        other = room.holds is not code  # by now, or the record is spent
        if other or room.below or code.baseline:
            return None
        if any(v.compiled.formats for v in code.variants if v is not None):
            return None
        given = (*addresses, *lengths)

        def stopped(status: int, told: Callable[[], Launch]) -> None:
            record = native.LaunchRecord.from_buffer_copy(room.record)
            _move(room.address, code.address, _SIZE)  # what it holds is spent
            self._pack(room.record, 0, *given)
            self._finish(code, record, told(), status, None, None)

        return made.add(room.address, self.threads, facts, kept, stopped, at_once)

    def native(self, code: Prepared) -> NativeLaunch:
        run = ctypes.cast(self._run, ctypes.c_void_p).value or 0
        return NativeLaunch(code.address, _SIZE, _LENGTHS, _BELOW, _LOGS, run, self.threads)

    def finish(self, code: Prepared, record: int, launch: Launch, status: int, on_log: OnLog) -> None:
        self._finish(code, native.LaunchRecord.from_address(record), launch, status, None, on_log)
