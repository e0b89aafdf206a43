"""Argument buffers that a program describes by a list instead of a kernel's struct: where each member lies.

Members lie in the order of their indices, each aligned as its type is: so they do in the struct of the kernel that
takes the buffer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metalloid.errors import LaunchError
from metalloid.runtime.argument_encoder import ArgumentEncoder
from metalloid.runtime.datatypes import type_of
from metalloid.types import Array, Field, Parameter, Struct


@dataclass(frozen=True)
class Described:
    """MTLArgumentDescriptor: one member, or as many as `length` says."""

    type: int  # MTLDataType
    index: int = 0
    length: int = 0  # 0 is one as well
    alignment: int = 0  # at least; 0: the type's own


def described_encoder(members: Iterable[Described]) -> ArgumentEncoder:
    """What writes such an argument buffer; LaunchError where a member cannot be in one."""
    fields: list[Field] = []
    end, most, free = 0, 1, 0
    for one in sorted(members, key=lambda m: m.index):
        type = type_of(one.type)
        if type is None:
            raise LaunchError(
                f"[argument encoder] M306 index {one.index} has MTLDataType {one.type}; metalloid's argument buffers"
                " hold pointers, scalars, vectors and matrices."
            )
        if one.index < free:
            raise LaunchError(f"[argument encoder] M306 index {one.index} is described twice.")
        alignment = max(type.alignment, one.alignment)
        start = -(-end // alignment) * alignment
        whole = Array(type, one.length) if one.length > 1 else type
        fields.append(Field(f"member{one.index}", whole, start, one.index))
        end, most, free = start + whole.size, max(most, alignment), one.index + max(one.length, 1)
    if not fields:
        raise LaunchError("[argument encoder] M306 there are no arguments to encode.")
    struct = Struct("arguments", tuple(fields), -(-end // most) * most, most)
    return ArgumentEncoder(Parameter("arguments", "buffer", 0, struct, "device"))
