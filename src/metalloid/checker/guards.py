"""The stores of a kernel: to which buffer, how often they ran, and what decides whether they do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metalloid.checker.case import Case
from metalloid.checker.code import Code, Dependences
from metalloid.ir.debug import Location
from metalloid.ir.module import Block, Instruction
from metalloid.ir.values import Int, Local, Value

_VARYING = frozenset(("thread", "lane", "simdgroup", "device load", "local load"))
_THROUGH = ("getelementptr", "phi", "select", "freeze", "bitcast", "inttoptr")


@dataclass(frozen=True)
class Store:
    """A store instruction that may write to the buffer in question."""

    location: Location
    block: Block
    count: int  # how often it ran
    value: Dependences
    address: Dependences

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
            if operands is None or place is None or index not in _buffers(code, operands[1]):
                continue
            ran = case.observation.stores.get(place, 0)
            found.setdefault(place, Store(place, block, ran, code.of(operands[0]), code.of(operands[1])))
    return tuple(found.values())


def guards(case: Case, store: Store) -> Iterator[Location]:
    """The places of the conditions that a thread passes on its way to the store, nearest first."""
    for condition in case.code.conditions(store.block):
        place = case.code.location(condition)
        if place is not None and place.line:
            yield place


def _operands(instruction: Instruction) -> tuple[Value, Value] | None:
    """Value and pointer of a store; None for anything else."""
    match instruction.opcode:
        case "store":
            return instruction.operands[0], instruction.operands[1]
        case "atomicrmw":
            return instruction.operands[1], instruction.operands[0]
        case "cmpxchg":
            return instruction.operands[2], instruction.operands[0]
        case "call" if instruction.called.startswith("__mt_matrix_store"):
            return instruction.operands[3], instruction.operands[0]
        case "call" if instruction.called.startswith(("llvm.memcpy", "llvm.memset", "llvm.memmove")):
            return instruction.operands[1], instruction.operands[0]
        case _:
            return None


def _buffers(code: Code, pointer: Value) -> set[int]:
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
        if made.called == "__mt_buffer" and isinstance(made.operands[0], Int):
            found.add(made.operands[0].value)
        elif made.opcode in _THROUGH:
            work += made.operands[:1] if made.opcode == "getelementptr" else made.operands
    return found
