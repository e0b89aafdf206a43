"""Where private arrays lie in the scratch of a gang."""

from __future__ import annotations

from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.output import Output, PrivatePlace
from metalloid.ir import Function
from metalloid.ir.gep import distances
from metalloid.ir.intrinsics import PRIVATE
from metalloid.ir.name_privates import Private
from metalloid.ir.types import PointerType
from metalloid.ir.values import Local


class Scratch:
    """Places in a gang's scratch."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, size: int, align: int = 64) -> int:
        at = -(-self.size // align) * align
        self.size = at + size
        return at

    @property
    def stride(self) -> int:
        return -(-self.size // 64) * 64


def place_privates(
    out: Output, function: Function, roots: UnderlyingObjects, privates: list[Private], scratch: Scratch
) -> None:
    """Lanes side by side where all accesses are of one size through the variable itself; else in one piece."""
    units = _units(out, function, roots, len(privates))
    frame = 16
    for n, private in enumerate(privates):
        if not units[n]:
            frame = -(-frame // private.align) * private.align
            out.private[n] = PrivatePlace(frame, private.size, 0)
            frame += private.size
    frame = -(-frame // 16) * 16
    if any(not u for u in units):
        assert scratch.size == 0
        # Frames start at offset 0 of the private area; their common size is that of the largest offset in them.
        last = max(p.at + p.size for p in out.private.values())
        scratch.take(last * out.lanes.width)
    for n, private in enumerate(privates):
        if units[n]:
            at = scratch.take(-(-private.size // units[n]) * units[n] * out.lanes.width)
            out.private[n] = PrivatePlace(at, private.size, units[n])


def _units(out: Output, function: Function, roots: UnderlyingObjects, count: int) -> list[int]:
    """For each private variable the one size of its accesses, or 0."""
    sizes: list[set[int]] = [set() for _ in range(count)]
    spoiled = [False] * count

    def spoil(value: object) -> None:
        if isinstance(value, Local) and isinstance(value.type, PointerType) and value.type.space == 5:
            root = roots.of[value.name]
            if root.kind == "private":
                spoiled[root.index] = True
            else:
                spoiled[:] = [True] * count

    steps: list[set[int]] = [set() for _ in range(count)]
    for i in function.instructions():
        if i.opcode in ("load", "store") and not i.ordering:
            pointer = i.operands[-1]
            if (
                isinstance(pointer, Local)
                and isinstance(pointer.type, PointerType)
                and pointer.type.space == 5
            ):
                root = roots.of[pointer.name]
                if root.kind == "private":
                    sizes[root.index].add(
                        memory_type(i.type if i.opcode == "load" else i.operands[0].type)[1]
                    )
                else:
                    spoil(pointer)
            if i.opcode == "store":
                spoil(i.operands[0])
        elif i.opcode == "getelementptr" and isinstance(i.type, PointerType) and i.type.space == 5:
            root = roots.of[i.name]
            if root.kind == "private":
                steps[root.index] |= set(distances(out.layout, i))
            else:
                spoil(i.operands[0])
        elif i.opcode in ("phi", "select") and isinstance(i.type, PointerType) and i.type.space == 5:
            if roots.of[i.name].kind != "private":
                for operand in i.operands:
                    spoil(operand)
        elif i.called != PRIVATE:
            for operand in i.operands:
                spoil(operand)
    found = []
    for n in range(count):
        size = next(iter(sizes[n])) if len(sizes[n]) == 1 and not spoiled[n] else 0
        found.append(size if size and all(s % size == 0 for s in steps[n]) else 0)
    return found
