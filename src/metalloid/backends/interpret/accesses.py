"""How values of each type lie in memory: reading them, writing them, and what zero is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metalloid.backends.interpret.memory import NULL_POINTER, Pointer
from metalloid.errors import DeviceError
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type


def zero(type: Type) -> Any:
    """The value with all bits zero; also what undef and poison are read as."""
    match type:
        case PointerType():
            return NULL_POINTER
        case ArrayType(count, element):
            return (zero(element),) * count
        case StructType(elements):
            return tuple(zero(e) for e in elements)
        case IntType() | FloatType():
            return 0
        case _:
            raise DeviceError(f"[interpret] the oracle runs scalar code; it has no values of type {type}")


def loader(layout: DataLayout, type: Type) -> Callable[[Any, Pointer], Any]:
    """How a thread reads a value of this type."""
    match type:
        case IntType(bits) | FloatType(_, bits):
            size, mask = layout.store_size(type), (1 << bits) - 1
            return lambda t, p: t.load(p, size) & mask
        case PointerType(space):
            size = layout.store_size(type)
            return lambda t, p: t.space(space).at(t.load(p, size))
        case ArrayType(count, element):
            inner, step = loader(layout, element), layout.size(element)
            return lambda t, p: tuple(inner(t, p.moved(n * step)) for n in range(count))
        case StructType(elements):
            parts = list(zip(layout.struct(type)[0], (loader(layout, e) for e in elements), strict=True))
            return lambda t, p: tuple(read(t, p.moved(offset)) for offset, read in parts)
        case _:
            raise DeviceError(f"[interpret] the oracle runs scalar code; it cannot load {type}")


def storer(layout: DataLayout, type: Type) -> Callable[[Any, Pointer, Any], None]:
    """How a thread writes a value of this type."""
    match type:
        case IntType() | FloatType():
            size = layout.store_size(type)
            return lambda t, p, v: t.store(p, size, v)
        case PointerType(space):
            size, mask = layout.store_size(type), (1 << layout.pointer_bits(space)) - 1
            return lambda t, p, v: t.store(p, size, v.address & mask)
        case ArrayType(count, element):
            inner, step = storer(layout, element), layout.size(element)

            def write_array(t: Any, p: Pointer, v: Any) -> None:
                for n in range(count):
                    inner(t, p.moved(n * step), v[n])

            return write_array
        case StructType(elements):
            parts = list(zip(layout.struct(type)[0], (storer(layout, e) for e in elements), strict=True))

            def write_struct(t: Any, p: Pointer, v: Any) -> None:
                for (offset, write), part in zip(parts, v, strict=True):
                    write(t, p.moved(offset), part)

            return write_struct
        case _:
            raise DeviceError(f"[interpret] the oracle runs scalar code; it cannot store {type}")
