"""Constant tables that hold addresses of threadgroup memory, or generic pointers: `threadgroup float* p[2] = {a, b}`.

They become tables of numbers, the same that such pointers are in memory elsewhere.
"""

from __future__ import annotations

from metalloid.frontend.spaces.generic import GENERIC, NOTHING, mark
from metalloid.ir.module import GlobalVariable, Module
from metalloid.ir.types import I32, I64, ArrayType, PointerType, StructType, Type
from metalloid.ir.values import Aggregate, Constant, Expression, Int, Named
from metalloid.records import replace

_NUMBER: dict[Type, Type] = {GENERIC: I64, PointerType(3): I32}


def tables_of_numbers(module: Module) -> Module:
    """The module with numbers for the pointers in its tables that are no addresses of device memory."""
    if not any(_affected(g) for g in module.globals):
        return module
    return replace(module, globals=tuple(_numbers(g) if _affected(g) else g for g in module.globals))


def _affected(table: GlobalVariable) -> bool:
    return table.initializer is not None and table.space != 3 and _plain(table.type) != table.type


def _numbers(table: GlobalVariable) -> GlobalVariable:
    assert table.initializer is not None
    return replace(table, type=_plain(table.type), initializer=_number(table.initializer))


def _plain(type: Type) -> Type:
    match type:
        case PointerType():
            return _NUMBER.get(type, type)
        case ArrayType(count, element):
            return ArrayType(count, _plain(element))
        case StructType(elements, packed):
            plain = tuple(map(_plain, elements))
            return StructType(plain, packed) if plain != elements else type
        case _:
            return type


def _number(value: Constant) -> Constant:
    if isinstance(value, Aggregate):
        return Aggregate(_plain(value.type), tuple(map(_number, value.elements)))
    if isinstance(value, Named):
        return Named(_plain(value.type), "zeroinitializer" if value.word == "null" else value.word)
    if value.type == PointerType(3):
        return _nothing(value) or Expression("ptrtoint", I32, (value,))
    if value.type == GENERIC and isinstance(value, Expression):
        return _generic(value)
    return value


def _nothing(value: Constant) -> Constant | None:
    """A null pointer to threadgroup memory is written as a cast of the generic one."""
    cast = isinstance(value, Expression) and value.opcode == "addrspacecast"
    return Int(I32, NOTHING) if cast else None


def _generic(value: Expression) -> Constant:
    if value.opcode == "getelementptr":
        inner = _generic_base(value.operands[0])
        real = replace(value, type=inner.type, operands=(inner, *value.operands[1:]))
    else:
        real = _generic_base(value)  # type: ignore[assignment]
    number = Expression("ptrtoint", I64, (real,))
    assert isinstance(real.type, PointerType)
    if real.type.space != 3:
        return number
    return Expression("add", I64, (number, Int(I64, mark(3) << 32)))


def _generic_base(value: Constant) -> Constant:
    """What a constant generic pointer was cast from."""
    return value.operands[0] if isinstance(value, Expression) and value.opcode == "addrspacecast" else value
