"""Where the elements of a matrix lie that is multiplied.

A lane holds two elements of a matrix, and what they were loaded from is known more often than not: then rows or
columns of it are loaded as they lie, instead of being picked from the lanes' registers.
"""

from __future__ import annotations

from collections.abc import Iterable

from metalloid.analysis.intervals import is_proved
from metalloid.backends.cpu.lower.access.mem_ref import address, resolve
from metalloid.backends.cpu.lower.access.transpose import SIDE
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.matrix.chains import Products
from metalloid.backends.cpu.lower.matrix.elements import loads_rows
from metalloid.backends.cpu.lower.matrix.guard import HOLDER
from metalloid.backends.cpu.lower.text import Text
from metalloid.ir import Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import MATRIX_PRODUCT, matrix_access
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass

Pair = tuple[Value, ...]


@dataclass(frozen=True)
class Source:
    """Memory that holds a matrix: its element (0, 0), and how far apart neighbours are, in bytes."""

    kind: str  # float or half
    pointer: str
    row: int | str  # a number, or a scalar of the code
    column: int | str

    @property
    def size(self) -> int:
        return 4 if self.kind == "float" else 2

    @property
    def by_row(self) -> bool:
        """Whether the elements of a row are neighbours."""
        return self.column == self.size

    @property
    def is_known(self) -> bool:
        """Whether all distances are."""
        return isinstance(self.row, int) and isinstance(self.column, int)

    def line(self, e: Text, number: int) -> str:
        """The address of a row, or of a column where columns are what lies together."""
        step = self.row if self.by_row else self.column
        if isinstance(step, int):
            return address(e, self.pointer, str(number * step))
        return address(e, self.pointer, e.put(f"mul i64 {step}, {number}")) if number else self.pointer


def source(e: Emitter, pair: Pair, fresh: Iterable[str]) -> Source | None:
    """Where both elements of each lane were loaded from, where that is a matrix in memory."""
    found = [_loaded(e, value) for value in pair]
    if e.out.continue_after_fault or any(f is None or f[0].name not in fresh for f in found):
        return None
    (first, kind, _), (second, other, _) = found[0], found[1]  # type: ignore[misc]
    if kind != other:
        return None
    if first.opcode == "call":
        halves = tuple(f[2] for f in found)  # type: ignore[index]
        return _called(e, first, kind) if first.name == second.name and halves == (0, 1) else None
    return _grid(e, first, second, kind) if second.opcode == "load" else None


def _loaded(e: Emitter, value: Value) -> tuple[Instruction, str, int] | None:
    """The load that a value comes from, its type, and for a matrix load which element of the lane."""
    kind, half = "float", 0
    i = _definition(e, value)
    if i is not None and i.opcode == "fpext" and str(i.operands[0].type) == "half":
        kind, i = "half", _definition(e, i.operands[0])
    if i is not None and i.opcode == "load" and not i.ordering and str(i.type) == kind:
        return i, kind, 0
    if i is None or i.opcode != "bitcast":
        return None
    i = _definition(e, i.operands[0])
    if kind == "half" and i is not None and i.opcode == "trunc" and str(i.type) == "i16":
        i = _definition(e, i.operands[0])
        if i is not None and i.opcode == "lshr" and i.operands[1] == Int(i.type, 16):  # type: ignore[arg-type]
            half, i = 1, _definition(e, i.operands[0])
    elif kind == "float" and i is not None and i.opcode == "extractvalue":
        half, i = i.indices[0], _definition(e, i.operands[0])
    else:
        return None
    access = matrix_access(i.called) if i is not None else None
    if i is None or access is None or access.store or access.size != (4 if kind == "float" else 2):
        return None
    return i, kind, half


def _definition(e: Emitter, value: Value) -> Instruction | None:
    return e.function.definitions.get(value.name) if isinstance(value, Local) else None


def only_multiplied(e: Emitter, found: Iterable[Products]) -> dict[str, frozenset[str]]:
    """Matrix loads that nobody needs in the lanes' registers, since products read them where they lie in memory;
    for each, what is made of it on the way to them."""
    ends: dict[str, set[tuple[str, int]]] = {}  # of a load: the products that read it, and as which operand
    for products in found:
        for i in (product for chain in products.chains for product in chain.products):
            for n in (0, 1):
                load = _whole(e, i.operands[2 * n : 2 * n + 2])
                if load is not None and load in products.fresh:
                    ends.setdefault(load, set()).add((i.name, n))
    ways = {load: _way(e, load, reads) for load, reads in ends.items()}
    return {load: way for load, way in ways.items() if way is not None}


def _whole(e: Emitter, pair: Pair) -> str | None:
    """The matrix load that gave both elements."""
    found = [_loaded(e, value) for value in pair]
    names = {f[0].name for f in found if f is not None and f[0].opcode == "call"}
    halves = [f[2] for f in found if f is not None]
    return names.pop() if len(names) == 1 and halves == [0, 1] else None


def _way(e: Emitter, load: str, ends: set[tuple[str, int]]) -> frozenset[str] | None:
    """Everything that is made of a load up to the products; None where something else is."""
    way: set[str] = set()
    work = [load]
    while work:
        name = work.pop()
        for user in e.function.users.get(name, ()):
            if user.called == MATRIX_PRODUCT:
                places = [
                    n // 2 for n, o in enumerate(user.operands) if isinstance(o, Local) and o.name == name
                ]
                if any((user.name, n) not in ends for n in places):
                    return None
            elif user.opcode not in _ON_THE_WAY:
                return None
            elif user.name not in way:
                way.add(user.name)
                work.append(user.name)
    return frozenset(way)


_ON_THE_WAY = ("bitcast", "trunc", "lshr", "fpext", "extractvalue")


def _called(e: Emitter, i: Instruction, kind: str) -> Source | None:
    """A matrix load: a pointer, a stride, and whether rows and columns change places."""
    size = 4 if kind == "float" else 2
    e.proved = True  # it was checked where it was loaded
    place = resolve(e, i.operands[0], size)
    if not loads_rows(e, i, place):
        return None
    assert place.offset.base is not None and isinstance(i.operands[2], Int)
    stride = i.operands[1]
    step = _bytes(e, stride, size)
    pointer = address(e, place.ptr, place.offset.base)
    return Source(kind, pointer, size, step) if i.operands[2].value else Source(kind, pointer, step, size)


def _bytes(e: Emitter, stride: Value, size: int) -> int | str:
    if isinstance(stride, Int):
        return stride.signed * size
    return e.put(f"mul i64 {e.scalar(stride)}, {size}")


def _grid(e: Emitter, first: Instruction, second: Instruction, kind: str) -> Source | None:
    """Two loads by all lanes, at constant distances from one address."""
    if e.out.robust and not (is_proved(first) and is_proved(second)):
        return None
    layout = e.out.layout
    base, low = constant_base(e.function, first.operands[0], layout)
    other, high = constant_base(e.function, second.operands[0], layout)
    root, shape = e.roots.root(base), e.shape(base)
    if base != other or shape is None or root is None or root.kind in ("private", "unknown", "constant"):
        return None
    if any(c for c, _ in shape.terms):
        return None
    pattern = dict(shape.terms).get("", (0,) * e.width)
    at = {cell: pattern[lane] + (low, high)[n] for cell, (lane, n) in HOLDER.items()}
    row, column = at[1, 0] - at[0, 0], at[0, 1] - at[0, 0]
    size = 4 if kind == "float" else 2
    if any(offset != at[0, 0] + r * row + c * column for (r, c), offset in at.items()):
        return None
    if size not in (row, column):
        return None
    e.proved = True
    place = resolve(e, base, size)
    assert place.offset.base is not None
    start = address(e, place.ptr, place.offset.base)
    return Source(kind, address(e, start, str(at[0, 0])), row, column)


def rows_of(e: Emitter, pair: Pair) -> str:
    """A matrix in the lanes' registers, row after row, as one vector of 64."""
    return in_rows(e, *(e.vector(value) for value in pair))


def in_rows(e: Text, x: str, y: str) -> str:
    cells = [HOLDER[r, c] for r in range(SIDE) for c in range(SIDE)]
    picks = ", ".join(f"i32 {lane + n * e.width}" for lane, n in cells)
    return e.put(f"shufflevector {e.vt('float')} {x}, {e.vt('float')} {y}, <64 x i32> <{picks}>")
