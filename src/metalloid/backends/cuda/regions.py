"""Threadgroup memory in parts that do not meet: which part each access of a kernel is in."""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.analysis.intervals.prove import access
from metalloid.analysis.underlying_objects import UnderlyingObject, UnderlyingObjects
from metalloid.backends.base import Triple
from metalloid.backends.cuda.lanes import Lanes
from metalloid.ir import Function, Instruction, Module
from metalloid.ir.intrinsics import THREADGROUP, matrix_access
from metalloid.ir.layout import data_layout
from metalloid.ir.types import PointerType
from metalloid.ir.values import Int

Place = tuple[str, int]
TILE = 128  # bytes of a matrix of 16 bits an element
_ALL = (-(1 << 62), 1 << 62)


class Regions:
    """`of`: the part that an access to threadgroup memory is in, by its place; parts have numbers."""

    def __init__(self, module: Module, function: Function, size: Triple) -> None:
        self.roots = UnderlyingObjects(function)
        self._layout, self._lanes = data_layout(module.datalayout), Lanes(function, size)
        self._sizes = {g.name: self._layout.size(g.type) for g in module.globals if g.space == 3}
        self.of: dict[Place, int] = {}
        self.variables: dict[str, set[int]] = {}
        self._names: dict[int, str] = {}
        self.complete = True  # no access may be anywhere
        self._given = {
            o.value
            for i in function.instructions()
            if i.called == THREADGROUP
            for o in i.operands
            if isinstance(o, Int)
        }
        found = sorted(self._accesses(function), key=lambda a: (repr(a[0]), a[1]))
        end, last, number = 0, None, -1
        for root, (low, high), place in found:
            if root != last or low >= end:
                number, last, end = number + 1, root, high
            end = max(end, high)
            self.of[place] = number
            self._names[number] = root.name
            if root.name:
                self.variables.setdefault(root.name, set()).add(number)

    def begins(self, region: int) -> bool:
        """Whether a part's memory can begin at a multiple of 128: that of a variable, or all that the host gives."""
        return bool(self._names[region]) or self._given == {0}

    def length(self, region: int | None) -> int:
        """Bytes from one copy of the variable that a part is of to the next; 0 for memory that the host sizes."""
        name = self._names[region] if region is not None else ""
        return self.room(name) if name else 0

    def room(self, name: str) -> int:
        """Bytes of a variable, whole tiles: its copies are aligned as it is."""
        return -(-self._sizes[name] // TILE) * TILE

    def _accesses(self, function: Function) -> Iterator[tuple[UnderlyingObject, tuple[int, int], Place]]:
        for block in function.blocks:
            for n, i in enumerate(block.instructions):
                what = access(i)
                if what is None or what[0].type != PointerType(3):
                    continue
                root = self.roots.root(what[0])
                if root is None or root.kind not in ("threadgroup", "variable"):
                    self.complete = False
                    continue
                yield root, self._range(i), (block.name, n)

    def _range(self, i: Instruction) -> tuple[int, int]:
        """Bytes from the start of the memory; all of them where it is not known."""
        what = access(i)
        assert what is not None
        spread = self._lanes.of(what[0])
        if spread is None:
            return _ALL
        matrix = matrix_access(i.called)
        if matrix is None:
            return spread.least, spread.most + what[1]
        stride = i.operands[1]
        if not isinstance(stride, Int) or stride.signed < 0:
            return _ALL
        return spread.least, spread.most + (7 * max(stride.signed, 1) + 8) * matrix.size
