"""What each instruction does: a table from opcode to a maker of Python functions.

Numbers are unsigned ints (of a float, its bits), pointers `Pointer`s, aggregates tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from metalloid.backends.interpret import numbers
from metalloid.backends.interpret.accesses import loader, storer, zero
from metalloid.backends.interpret.memory import Pointer
from metalloid.errors import DeviceError
from metalloid.ir.floats import to_bits, to_float
from metalloid.ir.gep import steps
from metalloid.ir.layout import DataLayout
from metalloid.ir.module import Instruction, Module
from metalloid.ir.types import FloatType, IntType, PointerType
from metalloid.ir.values import (
    Aggregate,
    Bytes,
    Expression,
    Float,
    Global,
    Int,
    Local,
    Metadata,
    Named,
    Value,
)

Run = Callable[[Any], Any]  # of a thread


@dataclass(frozen=True)
class Maker:
    """What a maker needs to know of the module."""

    module: Module
    layout: DataLayout

    def operand(self, value: Value) -> Run:
        """How a thread finds this value."""
        match value:
            case Local(name):
                return lambda thread: thread.registers[name]
            case Global(name):
                return lambda thread: thread.group.globals[name]
            case Expression():
                made = Instruction(
                    value.opcode, value.type, value.operands, flags=value.flags, element=value.element
                )
                return MAKERS[value.opcode](self, made)
            case _:
                constant = self.constant(value)
                return lambda thread: constant

    def constant(self, value: Value) -> Any:
        match value:
            case Int(_, number) | Float(_, number):
                return number
            case Named(type):
                return zero(type)
            case Aggregate(_, elements):
                return tuple(self.constant(e) for e in elements)
            case Bytes(_, data):
                return tuple(data)
            case Metadata():
                return None
            case _:
                raise DeviceError(f"[interpret] this constant is not supported: {value}")


def _binary(maker: Maker, i: Instruction) -> Run:
    left, right = (maker.operand(o) for o in i.operands)
    if isinstance(i.type, FloatType):
        kind, compute = i.type, numbers.FLOATING[i.opcode]
        return lambda t: to_bits(kind, compute(to_float(kind, left(t)), to_float(kind, right(t))))
    if not isinstance(i.type, IntType):
        raise DeviceError(f"[interpret] the oracle runs scalar code; it has no {i.opcode} of {i.type}")
    bits, mask = i.type.bits, (1 << i.type.bits) - 1
    integer = numbers.INTEGER[i.opcode]
    return lambda t: integer(left(t), right(t), bits) & mask


def _fneg(maker: Maker, i: Instruction) -> Run:
    operand = maker.operand(i.operands[0])
    assert isinstance(i.type, FloatType)
    sign = 1 << i.type.bits - 1
    return lambda t: operand(t) ^ sign


def _same(maker: Maker, i: Instruction) -> Run:
    return maker.operand(i.operands[0])


def _icmp(maker: Maker, i: Instruction) -> Run:
    left, right = (maker.operand(o) for o in i.operands)
    compare, type = numbers.ICMP[i.predicate], i.operands[0].type
    if isinstance(type, PointerType):
        return lambda t: int(compare(left(t).address, right(t).address, 64))
    assert isinstance(type, IntType)
    bits = type.bits
    return lambda t: int(compare(left(t), right(t), bits))


def _fcmp(maker: Maker, i: Instruction) -> Run:
    left, right = (maker.operand(o) for o in i.operands)
    type, predicate = i.operands[0].type, i.predicate
    assert isinstance(type, FloatType)
    return lambda t: int(numbers.fcmp(predicate, to_float(type, left(t)), to_float(type, right(t))))


def _select(maker: Maker, i: Instruction) -> Run:
    condition, then, otherwise = (maker.operand(o) for o in i.operands)
    return lambda t: then(t) if condition(t) else otherwise(t)


def _cast(maker: Maker, i: Instruction) -> Run:
    operand, source, target = maker.operand(i.operands[0]), i.operands[0].type, i.type
    match i.opcode, source, target:
        case "trunc" | "zext", IntType(), IntType(bits):
            mask = (1 << bits) - 1
            return lambda t: operand(t) & mask
        case "sext", IntType(narrow), IntType(bits):
            return lambda t: numbers.wrap(numbers.signed(operand(t), narrow), bits)
        case "fptrunc" | "fpext", FloatType(), FloatType():
            return lambda t: numbers.convert(source, target, operand(t))
        case "fptosi" | "fptoui", FloatType(), IntType(bits):
            return lambda t: numbers.to_int(to_float(source, operand(t)), bits, i.opcode == "fptosi")
        case "uitofp", IntType(), FloatType():
            return lambda t: numbers.from_int(target, operand(t))
        case "sitofp", IntType(narrow), FloatType():
            return lambda t: numbers.from_int(target, numbers.signed(operand(t), narrow))
        case "ptrtoint" | "ptrtoaddr", PointerType(), IntType(bits):
            return lambda t: numbers.wrap(operand(t).address, bits)
        case "inttoptr", IntType(), PointerType(space):
            mask = (1 << maker.layout.pointer_bits(space)) - 1
            return lambda t: t.space(space).at(operand(t) & mask)
        case (("bitcast" | "addrspacecast"), _, (IntType() | FloatType() | PointerType())):
            return operand
        case _:
            raise DeviceError(f"[interpret] the oracle cannot {i.opcode} {source} to {target}")


def _getelementptr(maker: Maker, i: Instruction) -> Run:
    """Where the indices lead: a constant distance, and terms of index times stride."""
    base, layout = maker.operand(i.operands[0]), maker.layout
    assert isinstance(i.type, PointerType)
    walked = list(steps(layout, i.element, i.operands[1:]))
    fixed = sum(size for index, size in walked if index is None)
    terms = [_term(maker, index, size) for index, size in walked if index is not None]
    half = 1 << layout.pointer_bits(i.type.space) - 1

    def run(t: Any) -> Pointer:
        pointer = base(t)
        distance = pointer.offset + fixed + sum(term(t) for term in terms)
        return Pointer(pointer.object, (distance + half) % (2 * half) - half)

    return run


def _term(maker: Maker, index: Value, stride: int) -> Run:
    value, type = maker.operand(index), index.type
    assert isinstance(type, IntType)
    bits = type.bits
    return lambda t: numbers.signed(value(t), bits) * stride


def _load(maker: Maker, i: Instruction) -> Run:
    pointer, read = maker.operand(i.operands[0]), loader(maker.layout, i.type)
    if not i.ordering:
        return lambda t: read(t, pointer(t))
    size = maker.layout.store_size(i.type)

    def run(t: Any) -> Any:
        target = pointer(t)
        t.aligned(target, size, False)
        return read(t, target)

    return run


def _store(maker: Maker, i: Instruction) -> Run:
    value, pointer = (maker.operand(o) for o in i.operands)
    write = storer(maker.layout, i.operands[0].type)
    if not i.ordering:
        return lambda t: write(t, pointer(t), value(t))
    size = maker.layout.store_size(i.operands[0].type)

    def run(t: Any) -> None:
        target = pointer(t)
        t.aligned(target, size, True)
        write(t, target, value(t))

    return run


def _extractvalue(maker: Maker, i: Instruction) -> Run:
    whole = maker.operand(i.operands[0])

    def run(t: Any) -> Any:
        value = whole(t)
        for index in i.indices:
            value = value[index]
        return value

    return run


def _insert(whole: Any, indices: tuple[int, ...], part: Any) -> Any:
    first, *rest = indices
    inner = _insert(whole[first], tuple(rest), part) if rest else part
    return (*whole[:first], inner, *whole[first + 1 :])


def _insertvalue(maker: Maker, i: Instruction) -> Run:
    whole, part = (maker.operand(o) for o in i.operands)
    return lambda t: _insert(whole(t), i.indices, part(t))


MAKERS: dict[str, Callable[[Maker, Instruction], Run]] = {
    **dict.fromkeys((*numbers.INTEGER, *numbers.FLOATING), _binary),
    **dict.fromkeys(
        (
            *("trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp"),
            *("ptrtoint", "ptrtoaddr", "inttoptr", "bitcast", "addrspacecast"),
        ),
        _cast,
    ),
    "fneg": _fneg,
    "freeze": _same,
    "icmp": _icmp,
    "fcmp": _fcmp,
    "select": _select,
    "getelementptr": _getelementptr,
    "load": _load,
    "store": _store,
    "extractvalue": _extractvalue,
    "insertvalue": _insertvalue,
}
