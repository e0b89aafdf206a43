"""Which bytes the lanes of one SIMD-group touch, without running the kernel.

Addresses are nearly always arithmetic on positions, sizes and scalar arguments. All of these are known when
a launch is made, so the first way through the kernel is walked once with 32 numbers in the place of each integer:
every loop once, every branch with the lanes that take it. What depends on floats or on memory that the kernel
writes stays unknown, and nothing is said about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metalloid.analysis.underlying_objects import UnderlyingObject, UnderlyingObjects
from metalloid.backends.base import QUAD_WIDTH, SIMD_WIDTH, Launch
from metalloid.checker.numbers import ARITHMETIC, Known, Numbers, compared, unsigned, wrapped
from metalloid.ir.cfg import graph
from metalloid.ir.debug import Location, location
from metalloid.ir.gep import steps
from metalloid.ir.intrinsics import BUFFER, ENTRY, THREADGROUP, short
from metalloid.ir.layout import DataLayout, data_layout
from metalloid.ir.loops import Loop, loops
from metalloid.ir.module import Instruction, Module
from metalloid.ir.types import IntType, PointerType
from metalloid.ir.values import Expression, Global, Int, Local, Named, Value


@dataclass(frozen=True)
class Touch:
    """One load or store, as the lanes of a SIMD-group carry it out together."""

    root: UnderlyingObject
    offsets: Numbers  # in bytes, of the lanes that take part
    size: int
    writes: bool
    location: Location | None
    trips: int  # how often the loops around it go round; 1 outside of loops, 0 where that is not known
    from_data: bool  # the address was read from memory: scattered by the data, not by the code


def touches(module: Module, launch: Launch, readable: frozenset[int]) -> tuple[Touch, ...]:
    """All accesses on the first way of the first SIMD-group; `readable` are buffers that nobody writes."""
    return _Walk(module, launch, readable).walk()


class _Walk:
    def __init__(self, module: Module, launch: Launch, readable: frozenset[int]) -> None:
        self.module, self.launch, self.readable = module, launch, readable
        self.function = module.function[ENTRY]
        self.layout: DataLayout = data_layout(module.datalayout)
        self.roots = UnderlyingObjects(self.function)
        self.values: dict[str, Known | None] = {}
        self.positions = _positions(launch)
        self.count = len(self.positions["thread_index_in_simdgroup", 0])
        self.edges: dict[tuple[str, str], Numbers] = {}
        self.found: list[tuple[str, Touch]] = []
        self.forest = loops(self.function)

    def walk(self) -> tuple[Touch, ...]:
        leaving = {edge for loop in self.forest.loops.values() for edge in loop.exits}
        cfg = graph(self.function)
        for name in cfg.reverse_postorder:
            before = [p for p in cfg.predecessors[name] if (p, name) in self.edges]
            active = self._all(False)
            for source in before:
                active = active | self.edges[source, name]
            if name == cfg.root:
                active = self._all(True)
            block = self.function.block[name]
            for i in block.instructions:
                if i.opcode == "phi":
                    self.values[i.name] = self._phi(i, name)
                elif i.opcode in ("load", "store"):
                    self._access(i, name, active)
                elif i.name:
                    self.values[i.name] = self._made(i)
            self._leave(block.terminator, name, active, leaving)
        return tuple(replace(touch, trips=self._trips(block)) for block, touch in self.found)

    def _trips(self, block: str) -> int:
        """How often a block runs, by the loops around it."""
        total = 1
        for header in self.forest.nest(block):
            total *= self._rounds(self.forest.loops[header])
        return total

    def _rounds(self, loop: Loop) -> int:
        """How often a loop goes round that counts from one known number to another; 0 for other loops."""
        counters = {}
        for phi in self.function.block[loop.header].phis:
            start = self.values.get(phi.name)
            for value, source in phi.cases:
                step = self._step(phi.name, value) if source in loop.latches else None
                if start is not None and step is not None:
                    counters[phi.name] = counters[value.name] = (start, step)  # type: ignore[union-attr]
        for inside, _ in loop.exits:
            end = self.function.block[inside].terminator
            test = (
                self.function.definitions.get(getattr(end.operands[0], "name", "")) if end.operands else None
            )
            if test is None or test.opcode != "icmp":
                continue
            for counter, bound in (test.operands, test.operands[::-1]):
                known, limit = counters.get(getattr(counter, "name", "")), self._value(bound)
                if known is not None and limit is not None:
                    start, step = known
                    rounds = np.abs(unsigned(limit).astype(float) - unsigned(start).astype(float))
                    return max(1, int((rounds / max(1, abs(step))).max()))
        return 0

    def _step(self, phi: str, next: Value) -> int | None:
        """By how much a counter grows; None where it is no counter."""
        made = self.function.definitions.get(getattr(next, "name", ""))
        if made is None or made.opcode != "add" or phi not in made.uses:
            return None
        for operand in made.operands:
            step = None if getattr(operand, "name", "") == phi else self._value(operand)
            if step is not None and (step.lanes == step.lanes[0]).all():
                return int(step.lanes[0])
        return None

    def _leave(self, end: Instruction, name: str, active: Numbers, leaving: set[tuple[str, str]]) -> None:
        """The lanes on each way out. Loops are walked once: whoever came in goes on behind them."""
        condition = self._value(end.operands[0]) if end.opcode == "br" and end.operands else None
        in_loop = any((name, other) in leaving for other in end.labels)
        for n, target in enumerate(end.labels):
            lanes = active
            if condition is not None and not in_loop:
                taken = condition.lanes != 0
                lanes = active & (taken if n == 0 else ~taken)
            had = self.edges.get((name, target))
            self.edges[name, target] = lanes if had is None else had | lanes

    def _phi(self, i: Instruction, block: str) -> Known | None:
        """What the lanes that came each way bring; ways back into a loop have not been walked yet."""
        made: Known | None = None
        for value, source in i.cases:
            lanes = self.edges.get((source, block))
            if lanes is None or not lanes.any():
                continue
            brought = self._value(value)
            if brought is None:
                return None
            if made is None:
                made = brought
            else:
                same = np.where(lanes, brought.lanes, made.lanes)
                made = Known(same, made.bits, made.data or brought.data)
        return made

    def _access(self, i: Instruction, block: str, active: Numbers) -> None:
        writes = i.opcode == "store"
        pointer = i.operands[1 if writes else 0]
        kind = i.operands[0].type if writes else i.type
        size = self.layout.store_size(kind)
        root, at = self.roots.root(pointer), self._value(pointer)
        if root is not None and at is not None and root.kind in ("buffer", "threadgroup", "variable"):
            place = location(self.module, i)
            touch = Touch(root, at.lanes[active], size, writes, place, 1, at.data)
            self.found.append((block, touch))
        if not writes:
            self.values[i.name] = self._loaded(root, at, kind, active)

    def _loaded(
        self, root: UnderlyingObject | None, at: Known | None, kind: object, active: Numbers
    ) -> Known | None:
        """An integer that a buffer nobody writes holds at these offsets."""
        if not isinstance(kind, IntType) or kind.bits not in (8, 16, 32, 64) or at is None or root is None:
            return None
        if root.kind != "buffer" or root.index not in self.readable or root.index not in self.launch.buffers:
            return None
        raw = np.frombuffer(self.launch.buffers[root.index], np.uint8)
        size = kind.bits // 8
        inside = active & (at.lanes >= 0) & (at.lanes + size <= raw.size)
        lanes = np.zeros(self.count, np.int64)
        for lane in np.flatnonzero(inside):
            start = int(at.lanes[lane])
            lanes[lane] = int.from_bytes(raw[start : start + size].tobytes(), "little", signed=True)
        alone = bool((at.lanes == at.lanes[0]).all())
        return Known(lanes, kind.bits, at.data or not alone)

    def _value(self, value: Value) -> Known | None:
        match value:
            case Local(name):
                return self.values.get(name)
            case Int(type, _):
                return Known(np.full(self.count, value.signed, np.int64), type.bits)
            case Named(IntType(bits), _):
                return Known(np.zeros(self.count, np.int64), bits)
            case Global():
                return Known(np.zeros(self.count, np.int64), 64)
            case Expression("getelementptr", _, operands):
                return self._stepped(value.element, operands)
            case _:
                return None

    def _made(self, i: Instruction) -> Known | None:
        if i.opcode == "call":
            return self._called(i)
        if i.opcode == "getelementptr":
            return self._stepped(i.element, i.operands)
        operands = [self._value(v) for v in i.operands]
        if any(o is None for o in operands):
            return None
        known = [o for o in operands if o is not None]
        data = any(o.data for o in known)
        if i.opcode == "icmp":
            return Known(compared(i.predicate, *known), 1, data)
        if isinstance(i.type, PointerType) and i.opcode in ("select", "freeze"):
            bits = 64
        elif isinstance(i.type, IntType):
            bits = i.type.bits
        else:
            return None
        if i.opcode == "select":
            return Known(np.where(known[0].lanes != 0, known[1].lanes, known[2].lanes), bits, data)
        work = ARITHMETIC.get(i.opcode)
        return wrapped(work(*known), bits, data) if work and bits <= 64 else None

    def _called(self, i: Instruction) -> Known | None:
        name = short(i.called)
        axis = i.operands[0].value if i.operands and isinstance(i.operands[0], Int) else 0
        if (name, axis) in self.positions:
            return Known(self.positions[name, axis], 32)
        if i.called in (BUFFER, THREADGROUP):
            return Known(np.zeros(self.count, np.int64), 64)
        work = ARITHMETIC.get(".".join(i.called.split(".")[:2]))
        operands = [self._value(v) for v in i.operands]
        if work is None or any(o is None for o in operands) or not isinstance(i.type, IntType):
            return None
        known = [o for o in operands if o is not None]
        return wrapped(work(*known), i.type.bits, any(o.data for o in known))

    def _stepped(self, element: Any, operands: tuple[Value, ...]) -> Known | None:
        base = self._value(operands[0])
        if base is None:
            return None
        total, data = base.lanes, base.data
        for index, size in steps(self.layout, element, operands[1:]):
            if index is None:
                total = total + size
                continue
            known = self._value(index)
            if known is None:
                return None
            total, data = total + known.lanes * size, data or known.data
        return Known(total, 64, data)

    def _all(self, yes: bool) -> Numbers:
        return np.full(self.count, yes)


def _positions(launch: Launch) -> dict[tuple[str, int], Numbers]:
    """The position builtins of the first SIMD-group, by name and axis."""
    size = launch.size_of((0, 0, 0))
    count = min(SIMD_WIDTH, size[0] * size[1] * size[2])
    index = np.arange(count, dtype=np.int64)
    local = index % size[0], index // size[0] % size[1], index // (size[0] * size[1])
    groups = -(-(size[0] * size[1] * size[2]) // SIMD_WIDTH)

    def same(number: int) -> Numbers:
        return np.full(count, number, np.int64)

    made: dict[tuple[str, int], Numbers] = {
        ("thread_index_in_threadgroup", 0): index,
        ("thread_index_in_simdgroup", 0): index,
        ("simdgroup_index_in_threadgroup", 0): same(0),
        ("thread_index_in_quadgroup", 0): index % QUAD_WIDTH,
        ("quadgroup_index_in_threadgroup", 0): index // QUAD_WIDTH,
        ("simdgroups_per_threadgroup", 0): same(groups),
        ("dispatch_simdgroups_per_threadgroup", 0): same(groups),
        ("threads_per_simdgroup", 0): same(SIMD_WIDTH),
        ("thread_execution_width", 0): same(SIMD_WIDTH),
    }
    for axis in range(3):
        made["thread_position_in_threadgroup", axis] = local[axis]
        made["thread_position_in_grid", axis] = local[axis]
        made["threadgroup_position_in_grid", axis] = same(0)
        made["grid_origin", axis] = same(0)
        made["grid_size", axis] = made["threads_per_grid", axis] = same(launch.grid[axis])
        made["threads_per_threadgroup", axis] = same(size[axis])
        made["dispatch_threads_per_threadgroup", axis] = same(launch.threadgroup[axis])
        made["threadgroups_per_grid", axis] = same(launch.threadgroups[axis])
    return made
