"""What a kernel takes: element types, parameters, signatures.

Layouts are Metal's: a `float3` takes 16 bytes, a `packed_float3` takes 12.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import Literal

from metalloid.records import dataclass, field


class DType(Enum):
    """A scalar type: its name in numpy's words, its MSL spelling, its size."""

    BOOL = ("bool", "bool", 1)
    INT8 = ("int8", "char", 1)
    UINT8 = ("uint8", "uchar", 1)
    INT16 = ("int16", "short", 2)
    UINT16 = ("uint16", "ushort", 2)
    INT32 = ("int32", "int", 4)
    UINT32 = ("uint32", "uint", 4)
    INT64 = ("int64", "long", 8)
    UINT64 = ("uint64", "ulong", 8)
    FLOAT16 = ("float16", "half", 2)
    BFLOAT16 = ("bfloat16", "bfloat", 2)
    FLOAT32 = ("float32", "float", 4)

    def __init__(self, numpy_name: str, msl: str, size: int) -> None:
        self.numpy_name = numpy_name
        self.msl = msl
        self.size = size


@dataclass(frozen=True)
class Scalar:
    dtype: DType
    atomic: bool = False

    @property
    def size(self) -> int:
        return self.dtype.size

    @property
    def alignment(self) -> int:
        return self.dtype.size

    def __str__(self) -> str:
        return f"atomic<{self.dtype.msl}>" if self.atomic else self.dtype.msl


@dataclass(frozen=True)
class Vector:
    element: Scalar
    length: int
    packed: bool = False

    @property
    def size(self) -> int:
        length = 4 if self.length == 3 and not self.packed else self.length
        return self.element.size * length

    @property
    def alignment(self) -> int:
        return self.element.size if self.packed else self.size

    def __str__(self) -> str:
        return f"{'packed_' if self.packed else ''}{self.element}{self.length}"


@dataclass(frozen=True)
class Matrix:
    """Column-major, as in Metal: `columns` vectors of `rows` elements."""

    element: Scalar
    columns: int
    rows: int

    @property
    def size(self) -> int:
        return Vector(self.element, self.rows).size * self.columns

    @property
    def alignment(self) -> int:
        return Vector(self.element, self.rows).alignment

    def __str__(self) -> str:
        return f"{self.element}{self.columns}x{self.rows}"


@dataclass(frozen=True)
class Array:
    element: Type
    length: int

    @property
    def size(self) -> int:
        return self.element.size * self.length

    @property
    def alignment(self) -> int:
        return self.element.alignment

    def __str__(self) -> str:
        return f"{self.element}[{self.length}]"


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    offset: int
    id: int | None = None  # [[id(n)]], where it is written
    bits: int = 0  # of a bit-field: how many, and how many lie below them in its first byte
    shift: int = 0

    def __str__(self) -> str:
        bits = f" : {self.bits}" if self.bits else ""
        return f"{self.type} {self.name}{bits}{'' if self.id is None else f' [[id({self.id})]]'}"


@dataclass(frozen=True)
class Struct:
    """A struct or union, laid out by the compiler."""

    name: str
    fields: tuple[Field, ...]
    size: int
    alignment: int
    union: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Pointer:
    """A pointer inside a struct (argument buffers): 8 bytes, to `element`."""

    space: str
    element: Type | None  # None: void, or a type that would repeat itself
    const: bool = False  # as declared

    @property
    def size(self) -> int:
        return 8

    @property
    def alignment(self) -> int:
        return 8

    def __str__(self) -> str:
        const = "const " if self.const and self.space != "constant" else ""
        return f"{self.space} {const}{self.element or 'void'}*"


Type = Scalar | Vector | Matrix | Array | Struct | Pointer

Kind = Literal["buffer", "threadgroup", "builtin"]
Access = Literal["read", "write", "read_write", "none"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel, as its author wrote it."""

    name: str
    kind: Kind
    index: int  # buffer or threadgroup index; -1 for a builtin
    type: Type  # what is pointed at, or the builtin's own type
    space: str  # "device", "constant", "threadgroup" or "thread"
    access: Access = "none"  # what the compiled kernel does with it
    const: bool = False  # as declared
    reference: bool = False  # `constant T&` rather than `T*`
    builtin: str = ""  # "thread_position_in_grid", ...
    present: bool = True  # False when its function_constant condition is false
    line: int = 0

    def __str__(self) -> str:
        if self.kind == "builtin":
            return f"{self.type} {self.name} [[{self.builtin}]]"
        const = "const " if self.const and self.space != "constant" else ""
        mark = "&" if self.reference else "*"
        return f"{self.space} {const}{self.type}{mark} {self.name} [[{self.kind}({self.index})]]"


@dataclass(frozen=True)
class Signature:
    """All there is to know about a kernel before running it."""

    name: str  # the name a caller asks for (host name where one is given)
    parameters: tuple[Parameter, ...]
    max_total_threads: int = 1024  # [[max_total_threads_per_threadgroup(n)]]
    threadgroup_memory: int = 0  # bytes of threadgroup variables inside the kernel
    file: str = ""
    line: int = 0
    undefined_constants: tuple[str, ...] = ()  # function constants it needs and was not given
    logs: tuple[str, ...] = field(default=())  # format strings of os_log calls

    @cached_property
    def buffers(self) -> tuple[Parameter, ...]:
        """The parameters a caller binds, in the order of their indices."""
        bound = (p for p in self.parameters if p.kind == "buffer" and p.present)
        return tuple(sorted(bound, key=lambda p: p.index))

    def __str__(self) -> str:
        lines = ",\n    ".join(str(p) for p in self.parameters)
        return f"kernel void {self.name}(\n    {lines})"
