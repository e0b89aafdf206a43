"""Generic pointers as numbers: how they are written to memory, compared, and read back."""

from __future__ import annotations

from metalloid.frontend.spaces.generic import DEVICE, NOTHING, WIDE, mark
from metalloid.ir.build import FunctionBuilder
from metalloid.ir.module import Instruction
from metalloid.ir.types import I1, I32, I64, PointerType, Type
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass, field


@dataclass(frozen=True)
class Parts:
    """A generic pointer: the number of its space, and for each space what it is if it is of that one."""

    tag: Value
    of: dict[int, Value]


@dataclass
class Writer:
    """New instructions, under names that nothing else has."""

    names: FunctionBuilder
    code: list[Instruction] = field(default_factory=list)
    metadata: tuple[tuple[str, str], ...] = ()

    def put(
        self, opcode: str, type: Type, operands: tuple[Value, ...], hint: str = "generic", predicate: str = ""
    ) -> Local:
        name = self.names.fresh(hint)
        self.code.append(
            Instruction(opcode, type, operands, name, predicate=predicate, metadata=self.metadata)
        )
        return self.code[-1].value

    def same(self, a: Value, b: Value) -> Local:
        return self.put("icmp", I1, (a, b), "same", "eq")


def as_number(w: Writer, parts: Parts) -> Value:
    """A generic pointer as an i64."""
    if not parts.of:
        return Int(I64, 0)  # nobody said which
    order = sorted(parts.of, key=lambda s: s == DEVICE)  # device last: it is also what nobody wrote
    total = _number(w, parts.of[order[-1]], order[-1])
    for space in reversed(order[:-1]):
        here = w.same(parts.tag, Int(I32, space))
        total = w.put("select", I64, (here, _number(w, parts.of[space], space), total))
    return total


def _number(w: Writer, pointer: Value, space: int) -> Value:
    if space in WIDE:
        return w.put("ptrtoint", I64, (pointer,))
    low = w.put("ptrtoint", I32, (pointer,))
    wide = w.put("zext", I64, (low,))
    marked = w.put("or", I64, (wide, Int(I64, mark(space) << 32)))
    return w.put("select", I64, (w.same(low, Int(I32, NOTHING)), Int(I64, 0), marked))


def from_number(w: Writer, number: Value, spaces: frozenset[int]) -> Parts:
    """The generic pointer that an i64 stands for."""
    others = sorted(spaces - WIDE)
    high = w.put("trunc", I32, (w.put("lshr", I64, (number, Int(I64, 32))),)) if others else number
    low = w.put("trunc", I32, (number,)) if others else number
    tag: Value = Int(I32, DEVICE)
    of: dict[int, Value] = {DEVICE: w.put("inttoptr", PointerType(DEVICE), (number,))}
    for space in others:
        here = w.same(high, Int(I32, mark(space)))
        tag = w.put("select", I32, (here, Int(I32, space), tag), "space")
        of[space] = w.put("inttoptr", PointerType(space), (low,))
    return Parts(tag, of)
