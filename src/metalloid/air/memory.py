"""Loads, stores and addresses: vectors and structs piece by piece, at the places where AIR has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from metalloid.air import shapes
from metalloid.air.calls import lower_call
from metalloid.air.constants import index_constants
from metalloid.air.deferred import number
from metalloid.air.lowering import Lowering, lane
from metalloid.air.refused import Refused
from metalloid.ir.module import Instruction
from metalloid.ir.types import I1, I8, I64, VOID, ArrayType, PointerType, StructType, Type, VectorType
from metalloid.ir.values import Int, Named, Value, const

_CLEARED = 64  # bytes; private variables up to this size start as zeros, as those of a source do


def _load(work: Lowering, i: Instruction) -> None:
    pointer = work.one(i.operands[0])
    if isinstance(i.type, VectorType):
        element = _element(i.type)
        for k in range(shapes.lanes(i.type)):
            place = work.offset(pointer, element, k)
            work.emit(_access(i, lane(i.name, k), element, (place,), _align(i, element, k)))
    elif isinstance(i.type, StructType | ArrayType):
        type = shapes.value(i.type)
        whole: Value = Named(type, "poison")
        for path, offset, leaf in _leaves(i.type):
            place = _byte(work, pointer, offset)
            part = work.emit(
                _access(i, work.fresh(), shapes.value(leaf), (place,), _aligned(i.align, offset))
            )
            whole = work.temporary("insertvalue", type, whole, part, indices=path)
        work.alias(i.name, whole)
    else:
        work.emit(replace(i, type=shapes.value(i.type), operands=(pointer,)))


def _store(work: Lowering, i: Instruction) -> None:
    given, pointer = i.operands[0], work.one(i.operands[1])
    if isinstance(given.type, VectorType):
        element = _element(given.type)
        for k, value in enumerate(work.lanes(given)):
            place = work.offset(pointer, element, k)
            work.emit(_access(i, "", VOID, (value, place), _align(i, element, k)))
    elif isinstance(given.type, StructType | ArrayType):
        whole = work.one(given)
        for path, offset, leaf in _leaves(given.type):
            part = work.temporary("extractvalue", shapes.value(leaf), whole, indices=path)
            place = _byte(work, pointer, offset)
            work.emit(_access(i, "", VOID, (part, place), _aligned(i.align, offset)))
    else:
        work.emit(replace(i, operands=(work.one(given), pointer)))


def _element(type: VectorType) -> Type:
    if type.element == I1:
        raise Refused("it keeps a vector of bools in memory, which is not supported")
    return shapes.value(type.element)


def _access(i: Instruction, name: str, type: Type, operands: tuple[Value, ...], align: int) -> Instruction:
    return replace(i, name=name, type=type, operands=operands, align=align)


def _align(i: Instruction, element: Type, index: int) -> int:
    return _aligned(i.align, index * shapes.LAYOUT.size(element))


def _aligned(align: int, offset: int) -> int:
    """What is known of a place so many bytes behind an aligned one."""
    return min(align or 1, offset & -offset) if offset else align


def _byte(work: Lowering, pointer: Value, offset: int) -> Value:
    return work.offset(pointer, I8, offset)


def _leaves(type: Type) -> list[tuple[tuple[int, ...], int, Type]]:
    """The scalars of a struct: the way to each as a value, its offset, its type."""
    match type:
        case StructType(elements):
            offsets, _ = shapes.LAYOUT.struct(type)
            parts = list(zip(offsets, elements, strict=True))
        case ArrayType(count, element) | VectorType(count, element):
            step = shapes.LAYOUT.size(element)
            parts = [(k * step, element) for k in range(count)]
        case _:
            return [((), 0, type)]
    if len(parts) > _CLEARED:
        raise Refused(f"it reads or writes a {type} at once, which is too large")
    return [
        ((k, *path), offset + more, leaf)
        for k, (offset, part) in enumerate(parts)
        for path, more, leaf in _leaves(part)
    ]


def _alloca(work: Lowering, i: Instruction) -> None:
    assert i.element is not None
    count = work.one(i.operands[0]) if i.operands else None
    if count is not None and not isinstance(count, Int):
        known = number(work.module, work.function, count) if work.function else None
        if known is None:
            raise Refused("it has an array whose size is not known at compile time")
        count = Int(I64, known)
    type = PointerType(shapes.PRIVATE)
    pointer = work.emit(
        replace(i, type=type, element=shapes.memory(i.element), operands=(count,) if count else ())
    )
    size = shapes.LAYOUT.size(i.element) * (count.value if count else 1)
    if 0 < size <= _CLEARED:
        zero, no = Int(I8, 0), Int(I1, 0)
        work.call("llvm.memset.p5.i64", VOID, pointer, zero, const(I64, size), no)


def _address(work: Lowering, i: Instruction) -> None:
    assert i.element is not None
    if isinstance(i.type, VectorType):
        raise Refused("it has a vector of pointers, which is not supported")
    base, *indices = (work.one(o) for o in i.operands)
    stepped = tuple(index_constants(i.element, tuple(indices)))  # type: ignore[arg-type]
    element = shapes.memory(i.element)
    work.emit(replace(i, type=shapes.value(i.type), element=element, operands=(base, *stepped)))


def _plain(work: Lowering, i: Instruction) -> None:
    if any(isinstance(o.type, VectorType) for o in i.operands):
        raise Refused(f"it has an atomic vector ({i.opcode}), which is not supported")
    type = i.type if i.opcode == "cmpxchg" else shapes.value(i.type)
    work.emit(replace(i, type=type, operands=tuple(work.one(o) for o in i.operands)))


MEMORY: dict[str, Callable[[Lowering, Instruction], None]] = {
    "load": _load,
    "store": _store,
    "alloca": _alloca,
    "getelementptr": _address,
    "atomicrmw": _plain,
    "cmpxchg": _plain,
    "fence": _plain,
    "call": lower_call,
}
