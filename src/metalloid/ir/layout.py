"""Sizes, alignments and offsets of types in memory, from a module's data layout."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from metalloid.errors import NotVectorised
from metalloid.ir.types import (
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from metalloid.records import dataclass, field

# What LLVM assumes where the text says nothing, in bits.
_INTS = {1: 8, 8: 8, 16: 16, 32: 32, 64: 32}
_FLOATS = {16: 16, 32: 32, 64: 64, 128: 128}
_VECTORS = {64: 64, 128: 128}


@dataclass(frozen=True)
class DataLayout:
    """Alignments by width, in bits; pointers as (size, alignment) by address space."""

    ints: Mapping[int, int] = field(default_factory=lambda: dict(_INTS))
    floats: Mapping[int, int] = field(default_factory=lambda: dict(_FLOATS))
    vectors: Mapping[int, int] = field(default_factory=lambda: dict(_VECTORS))
    pointers: Mapping[int, tuple[int, int]] = field(default_factory=lambda: {0: (64, 64)})

    def pointer_bits(self, space: int) -> int:
        return self.pointers.get(space, self.pointers[0])[0]

    def bits(self, type: Type) -> int:
        """How many bits of a value mean something."""
        match type:
            case IntType(bits) | FloatType(_, bits):
                return bits
            case PointerType(space):
                return self.pointer_bits(space)
            case VectorType(count, element):
                return count * self.bits(element)
            case _:
                return 8 * self.size(type)

    def store_size(self, type: Type) -> int:
        """How many bytes a load or store touches."""
        return (self.bits(type) + 7) // 8

    def size(self, type: Type) -> int:
        """How far apart two neighbours lie, in bytes."""
        match type:
            case ArrayType(count, element):
                return count * self.size(element)
            case StructType():
                return self.struct(type)[1]
            case _:
                return _round_up(self.store_size(type), self.align(type))

    def align(self, type: Type) -> int:
        """The alignment a type has by nature, in bytes."""
        match type:
            case IntType(bits):
                return _int_align(self.ints, bits)
            case FloatType(_, bits):
                return self.floats[bits] // 8
            case PointerType(space):
                return self.pointers.get(space, self.pointers[0])[1] // 8
            case VectorType():
                bits = self.bits(type)
                return self.vectors.get(bits, 8 * _power_of_two((bits + 7) // 8)) // 8
            case ArrayType(_, element):
                return self.align(element)
            case StructType(elements, packed):
                return 1 if packed else max((self.align(e) for e in elements), default=1)
            case _:
                raise TypeError(f"{type} has no place in memory")

    def struct(self, type: StructType) -> tuple[tuple[int, ...], int]:
        """The offset of each field, and the size of the whole."""
        offsets, at = [], 0
        for element in type.elements:
            if not type.packed:
                at = _round_up(at, self.align(element))
            offsets.append(at)
            at += self.size(element)
        return tuple(offsets), at if type.packed else _round_up(at, self.align(type))


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _power_of_two(value: int) -> int:
    return 1 << (value - 1).bit_length()


def _int_align(known: Mapping[int, int], bits: int) -> int:
    """The next wider known integer's alignment, or the widest's."""
    wider = [w for w in known if w >= bits]
    return known[min(wider) if wider else max(known)] // 8


@lru_cache(maxsize=64)
def data_layout(text: str) -> DataLayout:
    """The meaning of a `target datalayout`."""
    ints, floats, vectors = dict(_INTS), dict(_FLOATS), dict(_VECTORS)
    pointers = {0: (64, 64)}
    tables = {"i": ints, "f": floats, "v": vectors}
    for part in filter(None, text.split("-")):
        kind, fields = part[0], part[1:].split(":")
        if kind in tables and len(fields) > 1:
            tables[kind][int(fields[0])] = int(fields[1])
        elif kind == "p" and len(fields) > 2:
            pointers[int(fields[0] or 0)] = (int(fields[1]), int(fields[2]))
    return DataLayout(ints, floats, vectors, pointers)


def scalar_bytes(type: Type) -> int:
    """The bytes that a load or store of a scalar moves. Pointers of threadgroup and private memory are offsets."""
    match type:
        case PointerType():
            return 4 if type.space in (3, 5) else 8
        case IntType(bits) | FloatType(_, bits):
            return -(-bits // 8)
    raise NotVectorised(f"[engine] values of type {type} are not supported")
