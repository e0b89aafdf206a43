"""What one thread of a launch did, step by step: for questions such as "where did this value become zero?".

Only the threadgroup of that thread runs. The thread's registers and its ways to memory write down what
passes through them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metalloid.backends.base import Launch, Triple
from metalloid.backends.interpret.memory import Pointer
from metalloid.backends.interpret.observer import Observer
from metalloid.backends.interpret.thread import Thread
from metalloid.ir.module import Instruction, Module

MOST = 2_000_000  # entries of a trace


@dataclass(frozen=True, slots=True)
class Did:
    """One entry: a value that got a name, or a store, which has none."""

    name: str
    value: Any
    instruction: Instruction | None  # that ran; for a phi the branch that led to it
    pointer: Pointer | None = None  # of a store, and of the last load before a value


class _Registers(dict[str, Any]):
    def __init__(self, thread: Thread, log: list[Did]) -> None:
        super().__init__()
        self.thread, self.log = thread, log
        self.pointer: Pointer | None = None

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        if len(self.log) < MOST:
            self.log.append(Did(name, value, self.thread.current, self.pointer))
        self.pointer = None


class Tracer(Observer):
    """An observer that follows one thread and goes on past its mistakes."""

    def __init__(self, module: Module, launch: Launch, seconds: float, thread: Triple) -> None:
        super().__init__(module, launch, seconds)
        self.position, self.log = thread, list[Did]()

    def begin(self, threads: Any) -> None:
        super().begin(threads)
        for thread in threads:
            if thread.position == self.position:
                self._follow(thread)

    def _follow(self, thread: Thread) -> None:
        registers = _Registers(thread, self.log)
        thread.registers = registers
        load, store = thread.load, thread.store

        def loading(pointer: Pointer, size: int) -> int:
            registers.pointer = pointer
            return load(pointer, size)

        def storing(pointer: Pointer, size: int, value: int) -> None:
            self.log.append(Did("", value, thread.current, pointer))
            store(pointer, size, value)

        thread.load, thread.store = loading, storing
