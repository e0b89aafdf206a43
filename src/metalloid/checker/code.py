"""What the compiled kernel says about itself: on what a value depends, and where its barriers stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from metalloid.ir import Module, read_once
from metalloid.ir.debug import Location, location
from metalloid.ir.dominance import post_dominators
from metalloid.ir.intrinsics import (
    BARRIER,
    ENTRY,
    POSITIONS,
    REDUCTIONS,
    SIMD_BARRIER,
    Tells,
    collective,
    full,
)
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.values import Int, Local, Value

# What a value may depend on.
LANE, SIMDGROUP, THREAD, GROUP = "lane", "simdgroup", "thread", "group"
LOCAL_LOAD, DEVICE_LOAD, SIMD_RESULT = "local load", "device load", "simd result"

_TOLD: dict[Tells, str] = {"lane": LANE, "simdgroup": SIMDGROUP, "thread": THREAD, "threadgroup": GROUP}
_SOURCES = {full(name): _TOLD[tells] for name, tells in POSITIONS.items() if tells}
Dependences = frozenset[str]
NOTHING: Dependences = frozenset()


def reduces(instruction: Instruction) -> bool:
    """Whether it makes one value of what the lanes of a SIMD-group have."""
    found = collective(instruction.called)
    return found is not None and found.group == "simd" and found.what in REDUCTIONS


@dataclass(frozen=True)
class Barrier:
    flags: int
    location: Location | None


@dataclass(frozen=True)
class Code:
    """The scalar IR of a kernel, read once."""

    text: str

    @cached_property
    def module(self) -> Module:
        return read_once(self.text)

    @cached_property
    def function(self) -> Function:
        return self.module.function[ENTRY]

    def location(self, instruction: Instruction) -> Location | None:
        return location(self.module, instruction)

    @cached_property
    def places(self) -> tuple[Location, ...]:
        """Every place of the user's that has code."""
        found = (self.location(i) for i in self.function.instructions())
        return tuple(dict.fromkeys(place for place in found if place is not None))

    @cached_property
    def barriers(self) -> tuple[Barrier, ...]:
        found = (i for i in self.function.instructions() if i.called == BARRIER)
        flags = ((i, i.operands[0]) for i in found)
        return tuple(Barrier(f.value if isinstance(f, Int) else 0, self.location(i)) for i, f in flags)

    @cached_property
    def simd_barriers(self) -> tuple[Location, ...]:
        """Where barriers of SIMD-groups stand."""
        found = (self.location(i) for i in self.function.instructions() if i.called == SIMD_BARRIER)
        return tuple(place for place in found if place is not None)

    @cached_property
    def depends(self) -> Mapping[str, Dependences]:
        """By name of a value: all it is computed from. Control is not followed."""
        found: dict[str, Dependences] = {}
        changed = True
        while changed:
            changed = False
            for instruction in self.function.instructions():
                if not instruction.name:
                    continue
                joined = _own(instruction).union(*(found.get(name, NOTHING) for name in instruction.uses))
                if reduces(instruction):
                    joined = joined - {LANE}
                if joined != found.get(instruction.name, NOTHING):
                    found[instruction.name] = joined
                    changed = True
        return found

    def of(self, value: Value) -> Dependences:
        return self.depends.get(value.name, NOTHING) if isinstance(value, Local) else NOTHING

    @cached_property
    def defined(self) -> Mapping[str, Instruction]:
        return {i.name: i for i in self.function.instructions() if i.name}

    def conditions(self, block: Block) -> Iterator[Instruction]:
        """The comparisons that decide whether a block runs."""
        after = post_dominators(self.function)
        seen, work = {block.name}, [block.name]
        while work:
            name = work.pop()
            for other in self.function.blocks:
                end = other.terminator
                ways = len(end.labels) > 1 and any(after.dominates(name, label) for label in end.labels)
                if ways and not after.dominates(name, other.name) and other.name not in seen:
                    seen.add(other.name)
                    work.append(other.name)
                    if isinstance(end.operands[0], Local) and end.operands[0].name in self.defined:
                        yield self.defined[end.operands[0].name]


def _own(instruction: Instruction) -> Dependences:
    if instruction.opcode in ("load", "atomicrmw", "cmpxchg"):  # an atomic gives each thread what it found
        space = getattr(instruction.operands[0].type, "space", 0)
        return frozenset([LOCAL_LOAD if space == 3 else DEVICE_LOAD])
    source = _SOURCES.get(instruction.called)
    if source is not None:
        return frozenset([source])
    return frozenset([SIMD_RESULT]) if reduces(instruction) else NOTHING
