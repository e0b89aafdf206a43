"""Write the entry of a binary's kernel: a function without parameters that feeds it from intrinsics.

As the front end's own entry does for a source. A parameter under a function constant asks first (`PROBE`): LLVM works
the condition out together with the rest, and the answer is read from its result.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.air import shapes
from metalloid.air.constants import nothing
from metalloid.air.described import Argument, Described
from metalloid.air.lowering import Lowering
from metalloid.air.refused import Refused
from metalloid.frontend.attributes import BUILTINS
from metalloid.ir import intrinsics
from metalloid.ir.intrinsics import full
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.types import I1, I32, VOID, IntType, PointerType, Type, VectorType
from metalloid.ir.values import Global, Int, Value

PROBE = "__air_present"


def entry_function(work: Lowering, described: Described, kernel: Function) -> Function:
    """The entry that calls `kernel`, which is still as AIR has it."""
    given: list[Value] = []
    by_position = {argument.position: argument for argument in described.arguments}
    for position, parameter in enumerate(kernel.parameters):
        if position not in by_position:
            raise Refused(f"nothing is said of its parameter {position}")
        given += _values(work, by_position[position], parameter.type)
    callee = Global(kernel.name, PointerType(0))
    work.emit(Instruction("call", VOID, tuple(given), callee=callee))
    work.emit(Instruction("ret", VOID))
    return Function(intrinsics.ENTRY, VOID, (), (Block("entry", tuple(work.code)),))


def _values(work: Lowering, argument: Argument, type: Type) -> tuple[Value, ...]:
    if argument.kind != "builtin":
        return (_memory(work, argument, type),)
    if argument.builtin not in BUILTINS:
        raise Refused(
            f"its parameter '{argument.name}' asks for [[{argument.builtin}]], which is not supported"
        )
    name = full(BUILTINS[argument.builtin])
    count = shapes.lanes(type) if isinstance(type, VectorType) else 1
    return tuple(_position(work, name, axis, shapes.value(type)) for axis in range(count))


def _position(work: Lowering, name: str, axis: int, type: Type) -> Value:
    value = work.call(name, I32, Int(I32, axis))
    if not isinstance(type, IntType):
        raise Refused(f"a position of type {type} is not supported")
    if type.bits == 32:
        return value
    return work.temporary("trunc" if type.bits < 32 else "zext", type, value)


def _memory(work: Lowering, argument: Argument, type: Type) -> Value:
    pointer = shapes.value(type)
    if not isinstance(pointer, PointerType):
        raise Refused(f"its parameter '{argument.name}' is a buffer given by value, which is not supported")
    name = intrinsics.THREADGROUP if pointer.space == shapes.THREADGROUP else intrinsics.BUFFER
    found = work.call(name, pointer, Int(I32, argument.index))
    if not argument.condition:
        return found
    held = Global(argument.condition, PointerType(shapes.DEVICE))
    byte = work.temporary("load", IntType(8), held, align=1)
    there = work.temporary("icmp", I1, byte, Int(IntType(8), 0), predicate="ne")
    work.call(PROBE, VOID, Int(I32, argument.position), there)
    return work.pick(there, found, nothing(pointer))


def attributes() -> Mapping[str, str]:
    """Of the functions that are declared: what the header says of them."""
    return {"#0": "{ nounwind willreturn memory(none) }", "#1": "{ convergent nounwind }"}
