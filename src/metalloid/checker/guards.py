"""The stores of a kernel: to which buffer, how often they ran, and what decides whether they do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metalloid.checker.case import Case, nbytes
from metalloid.checker.code import Code, Dependences
from metalloid.ir.debug import Location
from metalloid.ir.intrinsics import BUFFER, is_matrix_store
from metalloid.ir.module import Block, Instruction
from metalloid.ir.values import Int, Local, Value
from metalloid.runtime.pack import NUMPY
from metalloid.types import Field, Scalar, Struct

_VARYING = frozenset(("thread", "lane", "simdgroup", "device load", "local load"))
_GIVE = ("load", "atomicrmw", "cmpxchg")  # what is in memory; the first operand is where
_THROUGH = ("getelementptr", "phi", "select", "freeze", "bitcast", "inttoptr")


@dataclass(frozen=True)
class Store:
    """A store instruction that may write to the buffer in question."""

    location: Location
    block: Block
    count: int  # how often it ran
    value: Dependences
    address: Dependences
    pointer: Value

    @property
    def varies(self) -> bool:
        """Whether its address differs between threads."""
        return bool(_VARYING & self.address)


def stores_to(case: Case, index: int) -> tuple[Store, ...]:
    """Stores through pointers that come from the buffer at an index, by place."""
    code, found = case.code, dict[Location, Store]()
    for block in code.function.blocks:
        for instruction in block.instructions:
            operands = _operands(instruction)
            place = code.location(instruction)
            if operands is None or place is None or index not in buffers_of(code, operands[1]):
                continue
            ran = case.observation.stores.get(place, 0)
            found.setdefault(place, _store(code, instruction, place, block, ran, *operands))
    return tuple(found.values())


def _store(
    code: Code,
    instruction: Instruction,
    place: Location,
    block: Block,
    ran: int,
    value: Value,
    pointer: Value,
) -> Store:
    lanes = frozenset(("lane",)) if is_matrix_store(instruction.called) else frozenset()  # an element each
    return Store(place, block, ran, code.of(value) | lanes, code.of(pointer) | lanes, pointer)


def guards(case: Case, store: Store) -> Iterator[Location]:
    """The places of the conditions that a thread passes on its way to the store, nearest first."""
    for condition in case.code.conditions(store.block):
        place = case.code.location(condition)
        if place is not None and place.line:
            yield place


def scalars(case: Case, line: str) -> list[str]:
    """The arguments that a line mentions, with their values: `n is 0`, `sizes.rows is 4`."""
    found = []
    for parameter in case.kernel.signature.buffers:
        memory, type = case.launch.buffers.get(parameter.index), parameter.type
        if memory is None or nbytes(memory) != type.size:
            continue
        whole = [Field(parameter.name, type, 0)] if isinstance(type, Scalar) else []
        parts = [
            Field(f"{parameter.name}.{f.name}", f.type, f.offset)
            for f in (type.fields if isinstance(type, Struct) else ())
        ]
        data = bytes(memoryview(memory).cast("B"))
        for part in whole + parts:
            if isinstance(part.type, Scalar) and re.search(rf"\b{re.escape(part.name)}\b", line):
                value = np.frombuffer(data, NUMPY[part.type.dtype], 1, part.offset)[0]
                found.append(f"{part.name} is {value}")
    return found


def looks_at_data(case: Case, store: Store) -> bool:
    """Whether what decides over a store was read from an array, or is an array's address or more."""
    return decided_by_data(case, store.block)


def decided_by_data(case: Case, block: Block) -> bool:
    """The same for all that a block does."""
    loads = _read_from(case.code, list(case.code.conditions(block)))
    return any(index is None or not case.parameters[index].reference for index in loads)


def placed_by_data(case: Case, store: Store) -> bool:
    """Whether the address of a store was read from an array: sizes and strides among the arguments do not count."""
    made = [case.code.defined[n] for n in _names(store.pointer) if n in case.code.defined]
    loads = _read_from(case.code, made)
    return any(index is None or not case.parameters[index].reference for index in loads)


def between_positions(case: Case, store: Store) -> bool:
    """Whether all that decides over a store compares positions with each other, as in the half of a square."""
    conditions = list(case.code.conditions(store.block))
    return bool(conditions) and all(
        c.opcode == "icmp" and all("thread" in case.code.of(o) for o in c.operands) for c in conditions
    )


def has_zero(case: Case, store: Store) -> bool:
    """Whether an argument that decides over a store is 0, or has a part that is."""
    for index in _loads(case, store) - {None}:
        memory = case.launch.buffers.get(index) if index is not None else None
        if memory is not None:
            data = bytes(memoryview(memory).cast("B"))
            words = [data[n : n + 4] for n in range(0, len(data), 4)] if len(data) >= 4 else [data]
            if any(not any(word) for word in words):
                return True
    return False


def _loads(case: Case, store: Store) -> set[int | None]:
    """The buffers that the conditions of a store are read from; None for memory that is no argument."""
    return _read_from(case.code, list(case.code.conditions(store.block)))


def _names(value: Value) -> tuple[str, ...]:
    return (value.name,) if isinstance(value, Local) else ()


def _read_from(code: Code, work: list[Instruction]) -> set[int | None]:
    """The buffers that values are computed from; None for memory that is no argument."""
    found, seen = set[int | None](), set[str]()
    while work:
        instruction = work.pop()
        if instruction.opcode in _GIVE:
            found |= buffers_of(code, instruction.operands[0]) or {None}
            continue
        for name in instruction.uses:
            if name not in seen and name in code.defined:
                seen.add(name)
                work.append(code.defined[name])
    return found


def _operands(instruction: Instruction) -> tuple[Value, Value] | None:
    """Value and pointer of a store; None for anything else."""
    match instruction.opcode:
        case "store":
            return instruction.operands[0], instruction.operands[1]
        case "atomicrmw":
            return instruction.operands[1], instruction.operands[0]
        case "cmpxchg":
            return instruction.operands[2], instruction.operands[0]
        case "call" if is_matrix_store(instruction.called):
            return instruction.operands[3], instruction.operands[0]
        case "call" if instruction.called.startswith(("llvm.memcpy", "llvm.memset", "llvm.memmove")):
            return instruction.operands[1], instruction.operands[0]
        case _:
            return None


def buffers_of(code: Code, pointer: Value) -> set[int]:
    """The buffers that a pointer may lead into."""
    found: set[int] = set()
    seen: set[str] = set()
    work = [pointer]
    while work:
        value = work.pop()
        if not isinstance(value, Local) or value.name in seen or value.name not in code.defined:
            continue
        seen.add(value.name)
        made = code.defined[value.name]
        if made.called == BUFFER and isinstance(made.operands[0], Int):
            found.add(made.operands[0].value)
        elif made.opcode in _THROUGH:
            work += made.operands[:1] if made.opcode == "getelementptr" else made.operands
    return found
