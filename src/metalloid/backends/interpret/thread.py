"""One thread: a generator that runs blocks and yields where it must wait for others."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from metalloid.backends.base import SIMD_WIDTH, Launch, LogMessage, Triple
from metalloid.backends.interpret import memory
from metalloid.backends.interpret.memory import NULL, AddressSpace, Object, Pointer
from metalloid.backends.interpret.nesting import Key, Progress
from metalloid.backends.interpret.program import Code, Step, Stopped
from metalloid.backends.observe import Memory
from metalloid.ir.module import Instruction

LOOK = 10_000  # instructions between two looks at the clock
LONG = 9_000  # instructions of a thread that is in a loop for long
GOES_ROUND = ("still running at the limit of instructions per thread", "still running when its time was up")


@dataclass(frozen=True)
class Request:
    """What a waiting thread waits at, and what it brings along.

    `key` says where in the run of the program it is. Threads with equal keys are at the same
    instruction in the same iterations of all loops around it; a smaller key is further behind.
    """

    key: Key
    step: Step
    operands: tuple[Any, ...]


@dataclass
class Group:
    """What the threads of a threadgroup have in common."""

    launch: Launch
    position: Triple
    size: Triple
    device: AddressSpace
    globals: Mapping[str, Pointer]
    local: AddressSpace = field(default_factory=lambda: AddressSpace(32))
    arguments: dict[int, Pointer] = field(default_factory=dict)  # host-sized threadgroup memory

    @property
    def count(self) -> int:
        x, y, z = self.size
        return x * y * z


class Thread:
    """The state of one thread; `run` is its program."""

    def __init__(
        self,
        code: Code,
        group: Group,
        index: int,
        buffers: Mapping[int, Pointer],
        limit: int,
        deadline: float | None = None,
    ) -> None:
        x, y, _ = group.size
        self.code, self.group, self.index, self.buffers = code, group, index, buffers
        self.local_position: Triple = (index % x, index // x % y, index // (x * y))
        self.registers: dict[str, Any] = {}
        self.private = AddressSpace(32)
        self.current: Instruction | None = None
        self.progress = Progress(code.nesting)
        self.log: list[Any] = []
        self.messages: list[LogMessage] = []
        self.limit = self.budget = self.look_at = limit
        self.deadline = deadline
        self.branch: Instruction | None = None  # the last one that could have gone elsewhere
        # How it reaches memory; an observer puts itself in between.
        self.load, self.store = memory.load, memory.store
        self.load_bytes, self.store_bytes = memory.load_bytes, memory.store_bytes
        self.aligned = memory.aligned

    def fence(self, flags: int, order: int, scope: int) -> None:
        """Threads change places only where they wait: there is nothing to put in order."""

    def left_array(self, size: int, index: int) -> None:
        """An index has left a dimension of an array: told where somebody watches."""

    @property
    def lane(self) -> int:
        return self.index % SIMD_WIDTH

    @property
    def position(self) -> Triple:
        """Position in the grid."""
        axes = zip(self.group.position, self.group.launch.threadgroup, self.local_position, strict=True)
        x, y, z = (group * size + local for group, size, local in axes)
        return x, y, z

    def space(self, number: int) -> AddressSpace:
        return {3: self.group.local, 5: self.private}.get(number, self.group.device)

    def buffer(self, index: int) -> Pointer:
        return self.buffers.get(index) or Pointer(_missing("buffer", index, "is not bound"))

    def threadgroup_memory(self, index: int) -> Pointer:
        found = self.group.arguments.get(index)
        return found or Pointer(_missing("threadgroup", index, "has no size"))

    def run(self) -> Generator[Request, Any, None]:
        block, previous = self.code.entry, ""
        registers = self.registers
        while True:
            self.progress.enter(block.name, previous)
            if block.phis:
                values = [phi(self) for _, phi in block.phis[previous]]
                for (name, _), value in zip(block.phis[previous], values, strict=True):
                    registers[name] = value
            for number, step in enumerate(block.steps):
                self.current = step.instruction
                if step.wait:
                    operands = tuple(operand(self) for operand in step.operands)
                    value = yield Request(self.progress.key(block.name, number), step, operands)
                else:
                    value = step.run(self)
                if step.instruction.name:
                    registers[step.instruction.name] = value
            self.current = block.terminator
            if len(block.terminator.labels) > 1:
                self.branch = block.terminator
            target = block.leave(self)
            if target is None:
                return
            previous, block = block.name, self.code.blocks[target]
            self.budget -= len(block.steps) + 1
            if self.budget < self.look_at:
                self._look()

    def _look(self) -> None:
        """Now and then: whether the thread may go on."""
        if self.budget < 0:
            raise Stopped(GOES_ROUND[0])
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Stopped(
                GOES_ROUND[1] if self.limit - self.budget > LONG else "still running, and its time was up"
            )
        self.look_at = max(0, self.budget - LOOK)


def _missing(kind: str, index: int, why: str) -> Object:
    words = "buffer" if kind == "buffer" else "threadgroup memory"
    return Object(f"{words} {index}, which {why}", NULL.data, memory=Memory(kind, index))
