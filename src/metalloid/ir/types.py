"""The types of LLVM IR, as frozen values; `str` gives LLVM's spelling.

Pointers are opaque and know only their address space. Struct types carry
their fields even where the text calls them by name, so nobody needs a table.
"""

from __future__ import annotations

from metalloid.ir.tokens import quote
from metalloid.records import dataclass


@dataclass(frozen=True, slots=True)
class IntType:
    bits: int

    def __str__(self) -> str:
        return f"i{self.bits}"


@dataclass(frozen=True, slots=True)
class FloatType:
    name: str  # half, bfloat, float, double
    bits: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class PointerType:
    space: int = 0

    def __str__(self) -> str:
        return f"ptr addrspace({self.space})" if self.space else "ptr"


@dataclass(frozen=True, slots=True)
class VectorType:
    count: int
    element: Type

    def __str__(self) -> str:
        return f"<{self.count} x {self.element}>"


@dataclass(frozen=True, slots=True)
class ArrayType:
    count: int
    element: Type

    def __str__(self) -> str:
        return f"[{self.count} x {self.element}]"


@dataclass(frozen=True, slots=True)
class StructType:
    elements: tuple[Type, ...]
    packed: bool = False
    name: str = ""  # as written after `%`; "" for a literal struct

    @property
    def body(self) -> str:
        """The spelling of the fields, also where the type has a name."""
        inner = ", ".join(str(e) for e in self.elements)
        braces = f"{{ {inner} }}" if inner else "{}"
        return f"<{braces}>" if self.packed else braces

    def __str__(self) -> str:
        return quote("%", self.name) if self.name else self.body


@dataclass(frozen=True, slots=True)
class FunctionType:
    result: Type
    parameters: tuple[Type, ...]
    variadic: bool = False

    def __str__(self) -> str:
        inner = [str(p) for p in self.parameters] + ["..."] * self.variadic
        return f"{self.result} ({', '.join(inner)})"


@dataclass(frozen=True, slots=True)
class PlainType:
    """A type that is only a word: void, label, metadata, token."""

    name: str

    def __str__(self) -> str:
        return self.name


Type = IntType | FloatType | PointerType | VectorType | ArrayType | StructType | FunctionType | PlainType

I1, I8, I16, I32, I64 = (IntType(bits) for bits in (1, 8, 16, 32, 64))
HALF = FloatType("half", 16)
BFLOAT = FloatType("bfloat", 16)
FLOAT = FloatType("float", 32)
DOUBLE = FloatType("double", 64)
PTR = PointerType(0)
DEVICE_PTR = PointerType(1)
VOID = PlainType("void")
LABEL = PlainType("label")
METADATA = PlainType("metadata")
TOKEN = PlainType("token")

WORDS: dict[str, Type] = {str(t): t for t in (HALF, BFLOAT, FLOAT, DOUBLE, VOID, LABEL, METADATA, TOKEN)}


def scalar(type: Type) -> Type:
    """The element of a vector, or the type itself."""
    return type.element if isinstance(type, VectorType) else type


def like(shape: Type, element: Type) -> Type:
    """`element`, as wide a vector as `shape` is."""
    return VectorType(shape.count, element) if isinstance(shape, VectorType) else element


def is_float(type: Type) -> bool:
    """True for a floating-point type or a vector of them."""
    return isinstance(scalar(type), FloatType)


def is_pointer(type: Type) -> bool:
    """True for a pointer or a vector of them."""
    return isinstance(scalar(type), PointerType)


def bits(type: Type) -> int:
    """How many bits a number takes; for a vector, one element."""
    element = scalar(type)
    if isinstance(element, IntType | FloatType):
        return element.bits
    raise TypeError(f"{type} is not a number")


def inner_type(type: Type, indices: tuple[int, ...]) -> Type:
    """The type of the part of an aggregate that these indices lead to."""
    for index in indices:
        if isinstance(type, StructType):
            type = type.elements[index]
        elif isinstance(type, ArrayType):
            type = type.element
        else:
            raise TypeError(f"{type} has no part {index}")
    return type


def pointer_shape(base: Type, indices: tuple[Type, ...]) -> Type:
    """The type of a getelementptr: a vector of pointers where any operand is a vector."""
    for index in indices:
        if isinstance(index, VectorType) and not isinstance(base, VectorType):
            return like(index, base)
    return base
