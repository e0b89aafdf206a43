"""Which bytes of threadgroup variables have to be cleared before a threadgroup starts.

They start as zeros. Nobody can tell of those that nobody reads, as most of `part[1024]` in a threadgroup of 32 threads;
nor where a read comes behind stores that fill its bytes, as in `tile[t] = x[i]; barrier; ... tile[u] ...`. Where one
gang is the whole threadgroup, the store of all lanes is one vector store, and what stands behind it runs behind it.
Elsewhere the stores of all threads to their own places count that stand before a barrier (`filled_early`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_offsets import lane_offsets
from metalloid.analysis.lane_sets import LaneSet, every, lanes_of
from metalloid.analysis.tested import between
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.byte_ranges import Range, less, union
from metalloid.backends.cpu.lower.filled_early import Part, filled_before
from metalloid.ir import Instruction
from metalloid.ir.gep import steps
from metalloid.ir.types import IntType, PointerType
from metalloid.ir.values import Expression, Global, Int, Local, Value

NEAR = 64  # bytes between two ranges that are cleared as one
MOST = 8  # ranges of a variable


class _Fills:
    """What stores fill of one variable, and where they stand: by block, with the number of the instruction."""

    def __init__(self) -> None:
        self._stores: dict[str, list[tuple[int, Range]]] = {}
        self._above: dict[str, list[Range]] = {}  # by block: what is filled where it begins

    def add(self, block: str, number: int, ranges: Sequence[Range]) -> None:
        self._stores.setdefault(block, []).extend((number, r) for r in ranges)

    def before(self, flow: Flow, block: str, number: int) -> list[Range]:
        """All that is filled whenever an instruction runs."""
        if block not in self._above:
            others = [b for b in self._stores if b != block and flow.dominators.dominates(b, block)]
            self._above[block] = union(r for b in others for _, r in self._stores[b])
        return [*self._above[block], *(r for n, r in self._stores.get(block, ()) if n < number)]


def to_clear(
    parts: Sequence[Part], lanes: LaneLayout, sizes: Mapping[str, int], first: int = 1
) -> dict[str, list[Range]]:
    """The bytes to clear of each variable; variables that need none are left out. The first part is what stands before
    any barrier, and those up to `first` begin behind one."""
    single = len(parts) == 1 and lanes.single_gang and lanes.no_tail and lanes.width > 1
    early = filled_before(parts, lanes, sizes, first) if len(parts) > 1 and lanes.static_size else []
    found: dict[str, list[Range]] = {}
    for number, part in enumerate(parts):
        flow, roots, uniformity = part
        fills = _fills_of(part, lanes, sizes) if single else {}
        for block in flow.function.blocks:
            for n, i in enumerate(block.instructions):
                for value in _pointers(i):
                    root = roots.root(value)
                    if root is None or root.kind == "unknown":
                        return {name: [(0, size)] for name, size in sizes.items()}
                    if root.kind != "variable" or _only_points(i, value):
                        continue
                    ranges = _read(uniformity, block.name, i, value, sizes[root.name], single)
                    done = fills[root.name].before(flow, block.name, n) if root.name in fills else []
                    done += early[number].get(root.name, ()) if early else []
                    found.setdefault(root.name, []).extend(less(ranges, union(done)))
    return {name: _few(ranges) for name, ranges in found.items() if ranges}


def _few(ranges: list[Range]) -> list[Range]:
    made = union(ranges, NEAR)
    return made if len(made) <= MOST else [(made[0][0], made[-1][1])]


def _only_points(i: Instruction, value: Value) -> bool:
    """Whether an instruction does not look at the memory that an operand points to."""
    return i.opcode == "getelementptr" or (i.opcode == "store" and value == i.operands[1] != i.operands[0])


def _read(
    uniformity: Uniformity, block: str, i: Instruction, pointer: Value, size: int, single: bool
) -> list[Range]:
    """The bytes of its variable that an instruction may read."""
    if i.opcode not in ("load", "atomicrmw", "cmpxchg"):
        return [(0, size)]
    each = memory_type(i.operands[-1].type if i.opcode != "load" else i.type)[1]
    places = _places(uniformity, pointer, _running(uniformity, block) if single else None)
    if places is not None and min(places) >= 0:
        return union((x, min(size, x + each)) for x in places)
    span = _span(uniformity, pointer, block)
    known = span is not None and span[0] >= 0
    return [(span[0], min(size, span[1] + each)) if known and span is not None else (0, size)]


def _running(uniformity: Uniformity, block: str) -> LaneSet:
    width = uniformity.lanes.width
    return lanes_of(uniformity, width, block, uniformity.divergence.mask_head, every(width))


def _places(uniformity: Uniformity, pointer: Value, running: LaneSet | None) -> list[int] | None:
    """How far from the start of its variable each lane is that runs; None where that is not known."""
    found = lane_offsets(uniformity, pointer)
    bounds = running.bounds if running is not None else None
    return found[slice(*bounds)] if found is not None and bounds else found


def _span(uniformity: Uniformity, pointer: Value, block: str) -> Range | None:
    """No lane's pointer is before the first, counted from the start of its variable, and none behind the second."""
    i = uniformity.flow.function.definitions[pointer.name] if isinstance(pointer, Local) else pointer
    if isinstance(i, Global):
        return 0, 0
    if not isinstance(i, Instruction | Expression) or i.opcode != "getelementptr" or i.element is None:
        return None
    found = _span(uniformity, i.operands[0], block)
    for index, stride in steps(uniformity.layout, i.element, i.operands[1:]):
        if found is None:
            return None
        low, high = found
        if index is None or isinstance(index, Int):
            moved = stride * (1 if index is None else index.signed)
            found = low + moved, high + moved
            continue
        lowest, highest = between(uniformity, index, block)
        bits = index.type.bits if isinstance(index.type, IntType) else 1
        found = (low + lowest * stride, high + highest * stride) if highest < 1 << bits - 1 else None
    return found


def _pointers(i: Instruction) -> list[Value]:
    return [
        o
        for o in i.operands
        if isinstance(o, Local | Global | Expression)
        and isinstance(o.type, PointerType)
        and o.type.space == 3
    ]


def _fills_of(part: Part, lanes: LaneLayout, sizes: Mapping[str, int]) -> dict[str, _Fills]:
    """What stores of a gang that is the whole threadgroup fill, of each variable."""
    flow, roots, uniformity = part
    found: dict[str, _Fills] = {}
    for block in flow.function.blocks:
        running = _running(uniformity, block.name)
        if not running.known:
            continue
        for n, i in enumerate(block.instructions):
            root = roots.root(i.operands[1]) if i.opcode == "store" else None
            if root is None or root.kind != "variable":
                continue
            each = memory_type(i.operands[0].type)[1]
            places = _places(uniformity, i.operands[1], running)
            if places is not None and min(places) >= 0 and max(places) + each <= sizes[root.name]:
                filled = union((x, x + each) for x in places)
                found.setdefault(root.name, _Fills()).add(block.name, n, filled)
    return found
