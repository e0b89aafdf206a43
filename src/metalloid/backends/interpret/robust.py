"""Memory for launches that go on after an access outside, as a GPU's do: a read gives 0, a write is dropped.

The first of each place in the source is kept, for a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from metalloid.backends.base import Fault, Launch
from metalloid.backends.interpret import lenient, memory
from metalloid.backends.interpret.memory import AccessError, Pointer
from metalloid.backends.interpret.scheduler import outside
from metalloid.backends.interpret.thread import Thread
from metalloid.ir import Module


class Robust:
    """The memory of one launch; `faults` are what it went on after."""

    def __init__(self, module: Module, launch: Launch) -> None:
        self._module, self._launch = module, launch
        self._found: dict[object, Fault] = {}

    @property
    def faults(self) -> list[Fault]:
        return list(self._found.values())

    def begin(self, threads: Sequence[Thread]) -> None:
        """A threadgroup starts."""
        for thread in threads:
            thread.load = partial(self._load, thread)
            thread.store = partial(self._store, thread)
            thread.load_bytes = partial(self._load_bytes, thread)
            thread.store_bytes = partial(self._store_bytes, thread)
            thread.aligned = partial(self._aligned, thread)

    def _load(self, thread: Thread, pointer: Pointer, size: int) -> int:
        try:
            return memory.load(pointer, size)
        except AccessError as error:
            self._keep(thread, error)
            return lenient.load(pointer, size)

    def _store(self, thread: Thread, pointer: Pointer, size: int, value: int) -> None:
        try:
            memory.store(pointer, size, value)
        except AccessError as error:
            self._keep(thread, error)

    def _load_bytes(self, thread: Thread, pointer: Pointer, size: int) -> bytes:
        try:
            return memory.load_bytes(pointer, size)
        except AccessError as error:
            self._keep(thread, error)
            return lenient.load_bytes(pointer, size)

    def _store_bytes(self, thread: Thread, pointer: Pointer, data: bytes) -> None:
        try:
            memory.store_bytes(pointer, data)
        except AccessError as error:
            self._keep(thread, error)

    def _aligned(self, thread: Thread, pointer: Pointer, size: int, write: bool) -> None:
        """An atomic at an odd address is told, and carried out: one thread runs at a time."""
        try:
            memory.aligned(pointer, size, write)
        except AccessError as error:
            self._keep(thread, error)

    def _keep(self, thread: Thread, error: AccessError) -> None:
        fault = outside(self._module, self._launch, thread, error)
        self._found.setdefault((fault.rule, fault.location, fault.buffer), fault)
