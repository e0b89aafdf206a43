"""Which bytes of threadgroup variables have to be cleared before a threadgroup starts.

They start as zeros. Nobody can tell of those that nobody reads, as most of `part[1024]` in a threadgroup of 32 threads;
nor where every read comes behind a store that fills its bytes, as in `tile[t] = x[i]; barrier; ... tile[u] ...`. Such
stores are looked for where one gang is the whole threadgroup: then the store of all lanes is one vector store, and what
stands behind it runs behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.analysis import lane_shape as S
from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.shape_transfer import address_shape
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.ir import Instruction
from metalloid.ir.gep import steps
from metalloid.ir.types import IntType, PointerType
from metalloid.ir.values import Expression, Global, Int, Local, Value

Point = tuple[str, int]  # block, number of the instruction in it


def to_clear(
    parts: Sequence[tuple[Flow, UnderlyingObjects, Uniformity]], lanes: LaneLayout, sizes: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """The first byte to clear of each variable, and the one behind the last; variables that need none are left out."""
    read: dict[str, int] = {}  # bytes from the start that somebody may read
    for flow, roots, uniformity in parts:
        for block in flow.function.blocks:
            for i in block.instructions:
                for value in _pointers(i):
                    root = roots.root(value)
                    if root is None or root.kind == "unknown":
                        return {name: (0, size) for name, size in sizes.items()}
                    if root.kind == "variable" and not _only_points(i, value):
                        reach = _reach(uniformity, i, value, sizes[root.name])
                        read[root.name] = max(read.get(root.name, 0), reach)
    filled: dict[str, int] = {}
    if len(parts) == 1 and lanes.single_gang and lanes.no_tail and lanes.width > 1:
        filled = _filled_first(*parts[0], lanes, sizes)
    found = {name: (filled.get(name, 0), end) for name, end in read.items()}
    return {name: (start, end) for name, (start, end) in found.items() if start < end}


def _only_points(i: Instruction, value: Value) -> bool:
    """Whether an instruction does not look at the memory that an operand points to."""
    return i.opcode == "getelementptr" or (i.opcode == "store" and value == i.operands[1] != i.operands[0])


def _reach(uniformity: Uniformity, i: Instruction, pointer: Value, size: int) -> int:
    """How far from the start of its variable an instruction may read."""
    if i.opcode not in ("load", "atomicrmw", "cmpxchg"):
        return size
    each = memory_type(i.operands[-1].type if i.opcode != "load" else i.type)[1]
    shape, highest = _from_start(uniformity, pointer), _highest(uniformity, pointer)
    if shape is not None and shape.constant is not None and (shape.uniform or shape.pattern is not None):
        places = [shape.constant + x for x in shape.pattern or (0,)]
        highest = max(places) if min(places) >= 0 else None
    return size if highest is None else min(size, highest + each)


def _highest(uniformity: Uniformity, pointer: Value) -> int | None:
    """No lane's pointer is further than this from the start of its variable, and none is before it."""
    i = uniformity.flow.function.definitions[pointer.name] if isinstance(pointer, Local) else pointer
    if isinstance(i, Global):
        return 0
    if not isinstance(i, Instruction | Expression) or i.opcode != "getelementptr" or i.element is None:
        return None
    total = _highest(uniformity, i.operands[0])
    for index, stride in steps(uniformity.layout, i.element, i.operands[1:]):
        if total is None:
            return None
        if index is None or isinstance(index, Int):
            moved = stride * (1 if index is None else index.signed)
            total = total + moved if moved >= 0 else None
            continue
        shape = uniformity.shape(index)
        bits = index.type.bits if isinstance(index.type, IntType) else 1
        total = total + shape.umax * stride if shape is not None and shape.umax < 1 << bits - 1 else None
    return total


def _filled_first(
    flow: Flow,
    roots: UnderlyingObjects,
    uniformity: Uniformity,
    lanes: LaneLayout,
    sizes: Mapping[str, int],
) -> dict[str, int]:
    """Bytes from the start of each variable that are filled before anybody reads."""
    fills: dict[str, list[tuple[int, Point]]] = {}
    reads: dict[str, list[Point]] = {}
    for block in flow.function.blocks:
        for n, i in enumerate(block.instructions):
            for value in _pointers(i):
                root = roots.root(value)
                if root is None or root.kind != "variable" or i.opcode == "getelementptr":
                    continue
                if not _only_points(i, value):
                    reads.setdefault(root.name, []).append((block.name, n))
                elif _by_all(uniformity, block.name) and (
                    found := _fills(uniformity, lanes, i, sizes[root.name])
                ):
                    fills.setdefault(root.name, []).append((found, (block.name, n)))
    found_first = {
        name: [
            size for size, store in stores if all(_before(flow, store, read) for read in reads.get(name, ()))
        ]
        for name, stores in fills.items()
    }
    return {name: max(found) for name, found in found_first.items() if found}


def _pointers(i: Instruction) -> list[Value]:
    return [
        o
        for o in i.operands
        if isinstance(o, Local | Global | Expression)
        and isinstance(o.type, PointerType)
        and o.type.space == 3
    ]


def _fills(uniformity: Uniformity, lanes: LaneLayout, i: Instruction, size: int) -> int:
    """How many bytes a store of all lanes fills, from the start of a variable."""
    each = memory_type(i.operands[0].type)[1]
    shape, end = _from_start(uniformity, i.operands[1]), each * lanes.width
    if shape is None or shape.constant != 0 or shape.pattern is None or end > size:
        return 0
    return end if sorted(shape.pattern) == list(range(0, end, each)) else 0


def _from_start(uniformity: Uniformity, pointer: Value) -> LaneShape | None:
    """How a pointer's distance from the start of its variable differs from lane to lane."""
    if isinstance(pointer, Global):
        return S.constant(0, 64)
    if not isinstance(pointer, Local):
        return None
    i = uniformity.flow.function.definitions[pointer.name]
    if i.opcode != "getelementptr":
        return None
    indices = [uniformity.shape(o) for o in i.operands[1:]]
    return address_shape(uniformity.context, i, [_from_start(uniformity, i.operands[0]), *indices])


def _by_all(uniformity: Uniformity, block: str) -> bool:
    """Whether all lanes get to a block together."""
    return uniformity.divergence.mask_head[block] == uniformity.flow.graph.root


def _before(flow: Flow, store: Point, read: Point) -> bool:
    if store[0] == read[0]:
        return store[1] < read[1]
    return flow.dominators.dominates(store[0], read[0])
