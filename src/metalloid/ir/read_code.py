"""Read one instruction.

A table maps each opcode to the function that reads what follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metalloid.ir.module import Instruction
from metalloid.ir.opcodes import BINARY, CASTS, COMPARES, UNARY
from metalloid.ir.read_call import TAILS, read_call
from metalloid.ir.read_memory import MEMORY
from metalloid.ir.read_values import ValueReader
from metalloid.ir.tokens import unquote
from metalloid.ir.types import I1, VOID, StructType, Type, VectorType, inner_type, like
from metalloid.records import replace


def read_instruction(
    line: str, structs: Mapping[str, StructType], metadata: tuple[tuple[str, str], ...]
) -> Instruction:
    """The instruction on this line (a switch: all of its lines joined)."""
    r = ValueReader(line, structs)
    name = ""
    if r.peek[:1] == "%":
        name = unquote(r.next())
        r.expect("=")
    opcode = r.next()
    reader = READERS.get(opcode)
    if reader is None:
        r.at -= 1
        r.fail("this instruction is not supported")
    made = reader(r, opcode)
    if r.peek:
        r.fail("the instruction should end here")
    return replace(made, name=name, metadata=metadata)


def _binary(r: ValueReader, opcode: str) -> Instruction:
    flags = r.flags()
    left = r.typed()
    r.expect(",")
    return Instruction(opcode, left.type, (left, r.value(left.type)), flags=flags)


def _unary(r: ValueReader, opcode: str) -> Instruction:
    flags = r.flags()
    operand = r.typed()
    return Instruction(opcode, operand.type, (operand,), flags=flags)


def _cast(r: ValueReader, opcode: str) -> Instruction:
    flags = r.flags()
    operand = r.typed()
    r.expect("to")
    return Instruction(opcode, r.type(), (operand,), flags=flags)


def _compare(r: ValueReader, opcode: str) -> Instruction:
    flags = r.flags()
    predicate = r.next()
    left = r.typed()
    r.expect(",")
    right = r.value(left.type)
    return Instruction(opcode, like(left.type, I1), (left, right), flags=flags, predicate=predicate)


def _select(r: ValueReader, opcode: str) -> Instruction:
    flags = r.flags()
    operands = r.list()
    return Instruction(opcode, operands[1].type, operands, flags=flags)


def _phi(r: ValueReader, opcode: str) -> Instruction:
    flags = r.flags()
    type = r.type()
    operands, labels = [], []
    while r.accept("["):
        operands.append(r.value(type))
        r.expect(",")
        labels.append(unquote(r.next()))
        r.expect("]")
        r.accept(",")
    return Instruction(opcode, type, tuple(operands), flags=flags, labels=tuple(labels))


def _label(r: ValueReader) -> str:
    r.expect("label")
    return unquote(r.next())


def _br(r: ValueReader, opcode: str) -> Instruction:
    if r.peek == "label":
        return Instruction(opcode, VOID, labels=(_label(r),))
    condition = r.typed()
    r.expect(",")
    then = _label(r)
    r.expect(",")
    return Instruction(opcode, VOID, (condition,), labels=(then, _label(r)))


def _switch(r: ValueReader, opcode: str) -> Instruction:
    operands = [r.typed()]
    r.expect(",")
    labels = [_label(r)]
    r.expect("[")
    while not r.accept("]"):
        operands.append(r.typed())
        r.expect(",")
        labels.append(_label(r))
    return Instruction(opcode, VOID, tuple(operands), labels=tuple(labels))


def _ret(r: ValueReader, opcode: str) -> Instruction:
    if r.accept("void"):
        return Instruction(opcode, VOID)
    return Instruction(opcode, VOID, (r.typed(),))


def _unreachable(r: ValueReader, opcode: str) -> Instruction:
    return Instruction(opcode, VOID)


def _indices(r: ValueReader) -> tuple[int, ...]:
    found = []
    while r.accept(","):
        found.append(r.number())
    return tuple(found)


def _extractvalue(r: ValueReader, opcode: str) -> Instruction:
    whole = r.typed()
    indices = _indices(r)
    return Instruction(opcode, inner_type(whole.type, indices), (whole,), indices=indices)


def _insertvalue(r: ValueReader, opcode: str) -> Instruction:
    whole = r.typed()
    r.expect(",")
    part = r.typed()
    return Instruction(opcode, whole.type, (whole, part), indices=_indices(r))


def _vector(r: ValueReader, opcode: str) -> Instruction:
    operands = r.list()
    shape = operands[0].type
    assert isinstance(shape, VectorType)
    type: Type = shape
    if opcode == "extractelement":
        type = shape.element
    elif opcode == "shufflevector":
        mask = operands[2].type
        assert isinstance(mask, VectorType)
        type = VectorType(mask.count, shape.element)
    return Instruction(opcode, type, operands)


_Reader = Callable[[ValueReader, str], Instruction]

READERS: dict[str, _Reader] = {
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(UNARY, _unary),
    **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(COMPARES, _compare),
    **dict.fromkeys(("extractelement", "insertelement", "shufflevector"), _vector),
    **dict.fromkeys(("call", *TAILS), read_call),
    **MEMORY,
    "select": _select,
    "phi": _phi,
    "br": _br,
    "switch": _switch,
    "ret": _ret,
    "unreachable": _unreachable,
    "extractvalue": _extractvalue,
    "insertvalue": _insertvalue,
}
