"""Launches kept ready to run: one call of the native runtime runs them all."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence

from metalloid.backends.backend import Recorded
from metalloid.backends.base import Guard
from metalloid.backends.cpu import native
from metalloid.backends.cpu.code import Prepared
from metalloid.backends.cpu.program import Program

_MAIN = threading.main_thread()


class CpuBatch:
    def __init__(self, launches: Sequence[Recorded], guard: Guard, threads: int) -> None:
        self._launches, self._guard, self._threads = launches, guard, threads
        self._records: ctypes.Array[native.LaunchRecord] | None = None
        self._prepared: list[Prepared] = []
        self._keep: list[object] = []
        self._fill()

    def _fill(self) -> ctypes.Array[native.LaunchRecord]:
        records = (native.LaunchRecord * len(self._launches))()
        self._prepared, self._keep = [], []
        for record, one in zip(records, self._launches, strict=True):
            prepared = _program(one).fill(
                record, one.launch, self._guard, self._threads, one.live, self._keep
            )
            self._prepared.append(prepared)
        self._records = records
        return records

    def run(self) -> None:
        records = self._records if self._records is not None else self._fill()
        main = threading.current_thread() is _MAIN
        told = native.runtime().run_all(ctypes.addressof(records), len(records), self._threads, main)
        if told >= 0:
            self._records = None  # what the records hold is spent
            for one, prepared, record in zip(self._launches, self._prepared, records, strict=True):
                _program(one).finish(prepared, record, one.launch, record.cancel, None, one.on_log)


def _program(one: Recorded) -> Program:
    assert isinstance(one.program, Program)
    return one.program
