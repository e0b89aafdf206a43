"""Addresses of atomics that each lane computes by itself: bins[a[i] & 255] += 1, where all a[i] lie at known distances.

Taking a lane out of a register takes two instructions, and as long as adding to memory. Where little is done to a
loaded number, each lane loads its own again, as plain C does.
"""

from __future__ import annotations

from metalloid.analysis.intervals import is_proved
from metalloid.backends.cpu.lower.access.load_groups import space_of
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address, memory_type, resolve
from metalloid.backends.cpu.lower.access.plan import Spot, spots
from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.ir import Instruction
from metalloid.ir.gep import steps
from metalloid.ir.intrinsics import CHANGES, effect
from metalloid.ir.values import Value
from metalloid.records import dataclass

_CASTS = ("zext", "sext", "trunc")
_CHEAP = ("and", "lshr", "shl", "add", "sub")
_READ = (1, 2)  # the spaces of buffers: what is added to threadgroup memory is never there
_INDICES = ("i32", "i64")
_WRITES = ("store", "atomicrmw", "cmpxchg")
MOST = 3  # instructions besides casts


@dataclass(frozen=True)
class Again:
    """How lanes find a number: by loads at known distances, and instructions with one operand that varies."""

    e: Emitter
    work: tuple[Instruction, ...]  # from the load on
    row: MemRef
    spots: tuple[Spot, ...]  # of the lanes, in it

    def __getitem__(self, lane: str) -> str:
        e, load = self.e, self.work[0]
        kind, size = memory_type(load.type)
        # In two steps: LLVM would make an `or` of the sum, which no address can hold.
        first = address(e, self.row.ptr, self.row.offset.base or "0")
        at = e.put(f"getelementptr i8, ptr {first}, i64 {self.spots[int(lane)].offset}")
        now = e.put(f"load {kind}, ptr {at}, align {load.align or size}")
        before: Value = load.value
        for i in self.work[1:]:
            if i.opcode in _CASTS:
                now = e.put(f"{i.opcode} {lowered(before.type)} {now} to {lowered(i.type)}")
            else:
                a, b = (now if o == before else e.scalar(o) for o in i.operands)
                now = e.put(f"{i.opcode} {lowered(i.type)} {a}, {b}")
            before = i.value
        return now


@dataclass(frozen=True)
class Offsets:
    """A number's multiples, from a base on."""

    e: Emitter
    base: str
    index: Again
    step: int

    def __getitem__(self, lane: str) -> str:
        return self.of(self.number(lane))

    def number(self, lane: str) -> str:
        """The index, as 64 bits."""
        now, kind = self.index[lane], lowered(self.index.work[-1].type)
        return now if kind == "i64" else self.e.put(f"sext {kind} {now} to i64")

    def of(self, number: str) -> str:
        return self.e.put(f"add i64 {self.base}, {self.e.put(f'mul i64 {number}, {self.step}')}")


def offsets(e: Emitter, i: Instruction, examined: bool = False) -> Offsets | None:
    """How the lanes of an atomic find their offsets by themselves; None where registers are as good. `examined`: each
    lane looks whether what it has found is inside."""
    gep = e.made_here(i.operands[0])
    if gep is None or gep.opcode != "getelementptr":
        return None
    if e.out.guard and not (examined or is_proved(i)):
        return None  # what was looked at has to be what is used, whoever writes meanwhile
    base, ways = e.get(gep.operands[0]), list(steps(e.out.layout, gep.element, gep.operands[1:]))
    index = ways[0][0] if len(ways) == 1 else None
    if base.base is None or not base.uniform or index is None or str(index.type) not in _INDICES:
        return None
    found = again(e, index, i)
    return Offsets(e, base.base, found, ways[0][1]) if found is not None else None


def again(e: Emitter, value: Value, i: Instruction) -> Again | None:
    """How the lanes of an instruction find an operand by themselves."""
    work = _work(e, value)
    if work is None or not _may_load_again(e, work[0], i):
        return None
    proved, e.proved = e.proved, True  # it was looked at
    row = resolve(e, work[0].operands[0], memory_type(work[0].type)[1])
    e.proved = proved
    if row.offset.base is None or row.offset.uniform:
        return None
    found = spots(row.offset.terms, e.width)
    return Again(e, work, row, found) if not any(s.part for s in found) else None


def _work(e: Emitter, value: Value) -> tuple[Instruction, ...] | None:
    """What makes a value out of one load."""
    made: list[Instruction] = []
    while (i := e.made_here(value)) is not None:
        made.append(i)
        if i.opcode == "load":
            cheap = sum(j.opcode not in _CASTS for j in made[:-1]) <= MOST
            return tuple(reversed(made)) if cheap and memory_type(i.type)[0] == lowered(i.type) else None
        if i.opcode in _CHEAP:
            varying = [o for o in i.operands if not e.get(o).uniform]
            if len(varying) != 1 or i.operands[0] == i.operands[1]:
                return None
            value = varying[0]
        elif i.opcode in _CASTS:
            value = i.operands[0]
        else:
            return None
    return None


def _may_load_again(e: Emitter, load: Instruction, i: Instruction) -> bool:
    """Whether what was loaded is still there, and nobody else stores it meanwhile."""
    body = e.function.block[e.block].body
    names = [j.name or id(j) for j in body]
    first, last = names.index(load.name), next(n for n, j in enumerate(body) if j is i)
    if e.out.robust and not is_proved(load):
        return False  # it may have been outside, and 0
    if load.ordering or "volatile" in load.flags or space_of(load.operands[0]) not in _READ:
        return False
    return not any(j.opcode in _WRITES or effect(j) & CHANGES for j in body[first:last])
