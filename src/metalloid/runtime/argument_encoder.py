"""Argument encoders: write buffers and values into the struct that a kernel takes as an argument buffer.

Kernels see an argument buffer as the struct that they declare: a pointer is eight bytes, the address of a buffer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metalloid.errors import LaunchError
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.pack import pack
from metalloid.runtime.whole import piece
from metalloid.types import Array, Field, Parameter, Pointer, Struct, Type


class ArgumentEncoder:
    """`set_argument_buffer(buffer)`, then `set_buffer(b, index=n)` for the member with [[id(n)]]."""

    def __init__(self, parameter: Parameter, label: str = "") -> None:
        type = parameter.type
        if not isinstance(type, Struct):
            raise LaunchError(
                f"[argument encoder] M306 '{parameter.name}' is {parameter}; an argument buffer is a struct."
            )
        self.label = label or parameter.name
        self._type = type
        self.members = dict(members(type))
        self._buffer: Buffer | None = None
        self._offset = 0

    @property
    def encoded_length(self) -> int:
        """Bytes that a buffer needs for it."""
        return self._type.size

    @property
    def alignment(self) -> int:
        return self._type.alignment

    def set_argument_buffer(self, buffer: Buffer, offset: int = 0, element: int = 0) -> None:
        """Where to write; `element` counts structs, for an array of them."""
        start = offset + element * self._type.size
        self._offset, _ = piece("argument encoder", "argument buffer", start, self._type.size, buffer.nbytes)
        self._buffer = buffer

    def set_buffer(self, buffer: Buffer | None, offset: int = 0, index: int = 0) -> None:
        """The address of a buffer, for a member that is a pointer; None is a null pointer."""
        member, at = self._member(index)
        if not isinstance(member, Pointer):
            raise LaunchError(
                f"[argument encoder] M306 index {index} of '{self.label}' is {member}, no pointer.\n"
                "Use set_constant for values."
            )
        address = 0
        if buffer is not None:
            start, _ = piece("argument encoder", "buffer", offset, 0, buffer.nbytes)
            address = buffer.address + start
        self._write(at, address.to_bytes(8, "little"))

    def set_constant(self, value: object, index: int = 0) -> None:
        """A value, for a member that is none."""
        member, at = self._member(index)
        self._write(at, pack(member, value, f"[argument encoder] '{self.label}' index {index}"))

    def constant_data(self, index: int = 0) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """The bytes of a member, to be changed in place."""
        member, at = self._member(index)
        memory = self._memory()
        return memory[self._offset + at : self._offset + at + member.size]

    def inside(self, index: int) -> ArgumentEncoder:
        """What writes the argument buffer that a pointer leads to."""
        member, _ = self._member(index)
        if not isinstance(member, Pointer) or not isinstance(member.element, Struct):
            raise LaunchError(
                f"[argument encoder] M306 index {index} of '{self.label}' is {member}, no pointer to a struct."
            )
        return ArgumentEncoder(
            Parameter(f"{self.label}[{index}]", "buffer", index, member.element, member.space)
        )

    def _member(self, index: int) -> tuple[Type, int]:
        found = self.members.get(index)
        if found is None:
            known = ", ".join(map(str, self.members)) or "none"
            raise LaunchError(f"[argument encoder] M306 '{self.label}' has no index {index}; it has {known}.")
        return found

    def _memory(self) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        if self._buffer is None:
            raise LaunchError(
                "[argument encoder] M306 there is no argument buffer to write to.\nCall set_argument_buffer first."
            )
        self._buffer.fresh = False
        return self._buffer.memory().reshape(-1).view(np.uint8)

    def _write(self, at: int, data: bytes) -> None:
        memory = self._memory()
        memory[self._offset + at : self._offset + at + len(data)] = np.frombuffer(data, np.uint8)


def members(struct: Struct) -> Iterator[tuple[int, tuple[Type, int]]]:
    """Indices with the types and offsets of what they name: [[id(n)]], or one after the other where none is written.

    Members of a struct inside count on, and elements of an array each have an index.
    """
    following = 0
    for field in struct.fields:
        first = field.id if field.id is not None else following
        for n, (type, offset) in enumerate(_leaves(field)):
            yield first + n, (type, offset)
            following = first + n + 1


def _leaves(field: Field) -> Iterator[tuple[Type, int]]:
    if isinstance(field.type, Struct):
        for inner in field.type.fields:
            for type, offset in _leaves(inner):
                yield type, field.offset + offset
    elif isinstance(field.type, Array):
        size = field.type.element.size
        for n in range(field.type.length):
            yield from _leaves(Field(field.name, field.type.element, field.offset + n * size))
    else:
        yield field.type, field.offset
