"""What one piece of GPU code is made for: a size of threadgroup, what is proved, and what the launch itself carries.

Constant arguments of known size (`constant Params& p`) travel inside the launch: no memory of the GPU's, no copy.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.base import Triple
from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import BUFFER, Effect, effect
from metalloid.ir.types import PointerType
from metalloid.ir.values import Int, Local, Value
from metalloid.types import Signature

if TYPE_CHECKING:
    from metalloid.analysis.intervals.prove import Proof

MOST_ARRAY = 256  # bytes of an array in constant memory, such as a shape
MOST_INLINE = 3072  # bytes of arguments in a launch; the driver takes 4096 with the record


Aligned = frozenset[tuple[str, int, int]]  # block, place in it, a power of two that divides the offset
Places = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]  # along each axis the first, and the end


@dataclass(frozen=True)
class Variant:
    """How code differs for the same kernel."""

    size: Triple = (1024, 1, 1)  # of a threadgroup
    flat: bool = True  # ragged: blocks are one row of threads
    guard: bool = True
    apart: bool = False  # no memory that is written is bound a second time
    # Arguments that the launch carries, by index: their place behind the record, and their bytes.
    inlined: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    proof: Proof | None = None
    aligned: Aligned = frozenset()  # what is known of the offsets of accesses
    even: bool = False  # all memory starts at a multiple of 16
    robust: bool = False  # an access outside is told and left out
    # Where a launch may begin before the one before it has ended: buffers that nobody writes meanwhile (early.py).
    early: frozenset[int] | None = None
    # How many threadgroups are worked on as one along each axis, what is known for that, and the threadgroup memory
    # that the host gives each of them (coarse.py).
    coarse: Triple = (1, 1, 1)
    known: frozenset[tuple[str, int]] = frozenset()
    local: int = 0
    # The threadgroups that code is for, where that matters; and parts of a launch, each with its own (parts.py).
    places: Places | None = None
    parts: tuple[Variant, ...] = ()

    @property
    def threads(self) -> int:
        return self.size[0] * self.size[1] * self.size[2]

    @property
    def members(self) -> int:
        """Threadgroups that are worked on as one, at most."""
        if self.parts:
            return max(part.members for part in self.parts)
        return self.coarse[0] * self.coarse[1] * self.coarse[2]

    @property
    def room(self) -> int:
        """Bytes of threadgroup memory that the host gives all that are worked on as one."""
        return max((part.room for part in self.parts), default=self.local * self.members)

    def blocks(self, groups: Triple = (1, 1, 1)) -> Triple:
        """What a grid of these threadgroups is launched as."""
        if self.parts:
            return sum(math.prod(part.blocks()) for part in self.parts), 1, 1
        if self.places is not None:
            (a, b), (c, d), (e, f) = self.places
            groups = b - a, d - c, f - e
        x, y, z = (-(-n // many) for n, many in zip(groups, self.coarse, strict=True))
        return x, y, z


def inlinable(function: Function, signature: Signature, parameters: Collection[int]) -> dict[int, int]:
    """Most bytes of each argument that can travel in the launch: it is only read, at addresses made from it alone.

    Values and arrays in constant memory do, and the `parameters` of proofs: what they hold then cannot change.
    """
    roots = UnderlyingObjects(function)
    kept = {
        p.index: p.type.size if p.reference else MOST_ARRAY
        for p in signature.buffers
        if p.access in ("read", "none")
        and (p.reference or p.space == "constant" or p.index in parameters)
        and p.type.size
    }
    for i in function.instructions():
        for pointer in _pointers(i):
            root = roots.root(pointer)
            if root is not None and root.kind == "buffer" and root.index in kept and not _reads(i, pointer):
                del kept[root.index]
    return kept


def layout(most: Mapping[int, int], lengths: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Where arguments of these lengths lie in a launch, with their sizes; those that do not fit are left out."""
    places, at = {}, 0
    for index, limit in most.items():
        size = lengths[index] if index < len(lengths) else 0
        if 0 < size <= limit and at + size <= MOST_INLINE:
            places[index] = at, size
            at += _rounded(size)
    return places


def carried(places: Mapping[int, tuple[int, int]]) -> int:
    """Bytes of arguments in a launch."""
    return max((at + _rounded(size) for at, size in places.values()), default=0)


def _rounded(size: int) -> int:
    return -(-size // 16) * 16


def read_only(function: Function) -> frozenset[int] | None:
    """Buffers that nobody writes; None where a write may be anywhere."""
    roots = UnderlyingObjects(function)
    bound: set[int] = set()
    written: set[int] = set()
    for i in function.instructions():
        if i.called == BUFFER and isinstance(i.operands[0], Int):
            bound.add(i.operands[0].value)
        if not effect(i) & Effect.WRITES:
            continue
        for pointer in _pointers(i):
            root = roots.root(pointer)
            if root is None or (root.kind == "unknown" and root.space == 1):
                return None
            if root.kind == "buffer":
                written.add(root.index)
    return frozenset(bound - written)


def _pointers(i: Instruction) -> list[Value]:
    return [o for o in i.operands if isinstance(o.type, PointerType)]


def _reads(i: Instruction, pointer: Value) -> bool:
    """Whether an instruction loads from a pointer or steps from it, and nothing else."""
    if not isinstance(pointer, Local) or "volatile" in i.flags or i.ordering:
        return False
    return i.opcode in ("load", "getelementptr")
