"""Who runs when, and who takes part in what.

Every lane runs until it has to wait or ends. Of the lanes of a SIMD-group that wait, those
that are furthest behind go first: the smallest key (nesting.py), where a key lists the
iterations of the loops around a place, and the place. Lanes with that same key do a
SIMD-group operation together; nobody else does. So lanes that took the other side of a
branch do not join, lanes that left a loop wait for those still in it, two lanes at the same
call in different iterations do not meet, and all meet again after.

Where those furthest behind are at a threadgroup barrier, their SIMD-group has come to it.
A barrier counts SIMD-groups that still run, as GPUs do: when each of them has come to one,
whichever it is, those lanes go on. Threads that have returned hold nobody up, nor do lanes
that went past. Two lanes of a SIMD-group that wait where neither can still get to the other's
barrier are a fault (M204).
Under observation any barrier that not all threads reach is told, and ends the run.

Threads change places only where they wait. The order in which they run is the
schedule's: a kernel that lacks a barrier gives other results under another.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from metalloid.backends.base import SIMD_WIDTH, Fault, Launch, LogMessage
from metalloid.backends.interpret import matrix, simd
from metalloid.backends.interpret.memory import AccessError
from metalloid.backends.interpret.program import Step, Stopped
from metalloid.backends.interpret.thread import Request, Thread
from metalloid.errors import KernelFault
from metalloid.ir.cfg import graph
from metalloid.ir.debug import location
from metalloid.ir.intrinsics import ENTRY, SIMD_BARRIER
from metalloid.ir.module import Instruction, Module

if TYPE_CHECKING:
    from metalloid.backends.interpret.observer import Observer

T = TypeVar("T")


@dataclass(frozen=True)
class Schedule:
    """In which order threadgroups, SIMD-groups and lanes run."""

    order: Literal["forward", "reverse", "shuffle"] = "forward"
    seed: int = 0

    def arranger(self) -> Callable[[list[T]], list[T]]:
        """A function that puts a list into this order; each call of a shuffle gives another."""
        if self.order == "forward":
            return list
        if self.order == "reverse":
            return lambda items: items[::-1]
        generator = random.Random(self.seed)
        return lambda items: generator.sample(items, len(items))


@dataclass
class Running:
    """A thread, its generator, and what it waits for."""

    thread: Thread
    program: Generator[Request, Any, None]
    request: Request | None = None
    started: bool = False
    ended: bool = False

    def advance(self, value: Any = None) -> None:
        """Run on until it waits or ends."""
        try:
            self.request = self.program.send(value if self.started else None)
        except StopIteration:
            self.request, self.ended = None, True
        self.started = True


def _furthest_behind(group: list[Running]) -> list[Running]:
    """The lanes of a SIMD-group that go on first: all at the start, then those with the smallest key."""
    fresh = [r for r in group if not r.started]
    waiting = [(r.request.key, r) for r in group if r.request]
    if fresh or not waiting:
        return fresh
    least = min(key for key, _ in waiting)
    return [r for key, r in waiting if key == least]


class Scheduler:
    """Runs the threads of one threadgroup to their end."""

    def __init__(
        self,
        module: Module,
        launch: Launch,
        arrange: Callable[[list[Any]], list[Any]],
        on_log: Callable[[LogMessage], None] | None,
        observer: Observer | None = None,
    ) -> None:
        self.module, self.launch, self.arrange, self.on_log = module, launch, arrange, on_log
        self.observer = observer
        self.operations: dict[str, Callable[[Any, Any], dict[int, Any]]] = {}
        self._blocks: dict[int, str] = {}

    def run(self, threads: list[Thread]) -> None:
        everyone = [Running(t, t.run()) for t in threads]
        groups = [everyone[n : n + SIMD_WIDTH] for n in range(0, len(everyone), SIMD_WIDTH)]
        while True:
            self._to_barriers(groups)
            if all(r.ended for r in everyone):
                return
            self._check_barrier(everyone)

    def _to_barriers(self, groups: list[list[Running]]) -> None:
        """From the start or a barrier to the next barrier.

        A SIMD-group leaves a barrier when it is its turn, not with the others: what it reads late,
        another may have overwritten meanwhile, and a missing barrier shows.
        """
        waiting = list(groups)
        left: set[int] = set()
        while waiting:
            group = self.arrange(waiting)[0]
            number = group[0].thread.index
            lanes = _furthest_behind(group)
            if number not in left:
                left.add(number)
                for r in self.arrange(lanes):
                    self._advance(r)
            elif lanes and lanes[0].request and lanes[0].request.step.wait == "simd":
                self._together(lanes)
            else:
                waiting.remove(group)

    def _together(self, taking_part: list[Running]) -> None:
        """Lanes of a SIMD-group do an operation and run on."""
        arrived = {r.thread.lane: r.request.operands for r in taking_part if r.request}
        assert taking_part[0].request
        step = taking_part[0].request.step
        threads = {r.thread.lane: r.thread for r in taking_part}
        if self.observer:
            self.observer.together(step.instruction.called, threads, arrived)
        try:
            results = self._operation(step)(threads, arrived)
        except AccessError as error:
            self._access_fault(taking_part[0].thread, error)
        for r in self.arrange(taking_part):
            self._advance(r, results[r.thread.lane])

    def _operation(self, step: Step) -> Callable[[Any, Any], dict[int, Any]]:
        name = step.instruction.called
        if name not in self.operations:
            if name == SIMD_BARRIER:
                self.operations[name] = lambda _, arrived: dict.fromkeys(arrived)
            elif name in matrix.OPERATIONS:
                self.operations[name] = matrix.OPERATIONS[name]
            else:
                meaning = simd.operation(name)
                self.operations[name] = lambda _, arrived: meaning(arrived)
        return self.operations[name]

    def _advance(self, running: Running, value: Any = None) -> None:
        thread = running.thread
        if running.ended:
            return
        if self.observer and (late := self.observer.late()):
            self._fault("", late, thread, thread.current)
        try:
            running.advance(value)
        except AccessError as error:
            self._access_fault(thread, error)
        except Stopped as error:
            self._fault("", str(error), thread, thread.current)
        if self.on_log:
            for message in thread.messages:
                self.on_log(message)
        thread.messages.clear()

    def _check_barrier(self, everyone: list[Running]) -> None:
        """Whether those who wait may go on."""
        here = next(r for r in everyone if r.request)
        assert here.request
        missing = [r for r in everyone if r.request is None or r.request.key != here.request.key]
        if not missing:
            if self.observer:
                self.observer.barrier(here.thread, here.request.operands[0])
            return
        apart = self._apart(everyone)
        if self.observer:
            ended = [(r.thread, None if r.request is None else r.request.step.instruction) for r in missing]
            barrier = here.request.step.instruction
            self.observer.missed(here.thread, barrier, ended, len(everyone), apart is None)
        elif apart is None:
            return
        else:
            here, missing = apart[0], [r for r in missing if r is apart[1]] or missing
        assert here.request
        places = ", ".join(self._whereabouts(r, here.request) for r in missing[:4])
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        reached = sum(r.request is not None and r.request.key == here.request.key for r in everyone)
        message = f"barrier reached by {reached} of {len(everyone)} threads; not by {places}{more}"
        self._fault("M204", message, here.thread, here.request.step.instruction)

    def _apart(self, everyone: list[Running]) -> tuple[Running, Running] | None:
        """Two lanes of a SIMD-group at barriers of which neither leads to the other."""
        groups: dict[int, dict[str, Running]] = {}
        for r in everyone:
            if r.request and r.request.step.wait == "barrier":
                places = groups.setdefault(r.thread.index // SIMD_WIDTH, {})
                places.setdefault(self._block(r.request.step.instruction), r)
        for places in groups.values():
            for one, other in combinations(places, 2):
                if not self._leads(one, other) and not self._leads(other, one):
                    return places[one], places[other]
        return None

    def _block(self, instruction: Instruction) -> str:
        """The name of the block that holds a barrier."""
        if not self._blocks:
            blocks = self.module.function[ENTRY].blocks
            self._blocks = {id(i): b.name for b in blocks for i in b.instructions if i.called}
        return self._blocks[id(instruction)]

    @cache  # noqa: B019  a scheduler lives as long as its launch
    def _leads(self, one: str, other: str) -> bool:
        return other in graph(self.module.function[ENTRY]).reachable_from(one)

    def _whereabouts(self, r: Running, barrier: Request) -> str:
        who = f"thread {r.thread.position}"
        if r.request is None:
            return f"{who}, which has returned"
        if r.request.step.instruction is barrier.step.instruction:
            return f"{who}, which is there in another iteration"
        place = location(self.module, r.request.step.instruction)
        return (
            f"{who}, which is at the barrier in line {place.line}" if place else f"{who}, at another barrier"
        )

    def _access_fault(self, thread: Thread, error: AccessError) -> NoReturn:
        fault = outside(self.module, self.launch, thread, error)
        raise KernelFault(fault.text(), fault) from None

    def _fault(self, rule: str, message: str, thread: Thread, instruction: Instruction | None) -> NoReturn:
        where = location(self.module, instruction) if instruction else None
        fault = Fault(rule, message, self.launch.kernel, where, thread.position, thread.group.position)
        raise KernelFault(fault.text(), fault) from None


def outside(module: Module, launch: Launch, thread: Thread, error: AccessError) -> Fault:
    """An access that cannot be carried out, as a fault."""
    target = error.pointer.object
    return Fault(
        error.rule,
        error.describe(),
        launch.kernel,
        location(module, thread.current) if thread.current else None,
        thread.position,
        thread.group.position,
        target.index,
        error.pointer.offset - target.below,
        error.size,
    )
