"""Which threadgroup variables have to be cleared before a threadgroup starts.

They start as zeros. Nobody can tell where every read comes behind a store that fills the whole variable, as in
`tile[t] = x[i]; barrier; ... tile[u] ...`. That is looked for where one gang is the whole threadgroup: then the
store of all lanes is one vector store, and what stands behind it runs behind it.
"""

from __future__ import annotations

from metalloid.analysis import lane_shape as S
from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.shape_transfer import address_shape
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.ir import Instruction
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import PointerType
from metalloid.ir.values import Expression, Global, Local, Value

Point = tuple[str, int]  # block, number of the instruction in it


def filled_first(
    flow: Flow,
    roots: UnderlyingObjects,
    uniformity: Uniformity,
    lanes: LaneLayout,
    layout: DataLayout,
    sizes: dict[str, int],
) -> frozenset[str]:
    """The variables that need no clearing."""
    if not (lanes.single_gang and lanes.no_tail and lanes.width > 1):
        return frozenset()
    fills: dict[str, list[Point]] = {}
    reads: dict[str, list[Point]] = {}
    for block in flow.function.blocks:
        for n, i in enumerate(block.instructions):
            for value in _pointers(i):
                root = roots.root(value)
                if root is None or root.kind == "unknown":
                    return frozenset()
                if root.kind != "variable" or i.opcode == "getelementptr":
                    continue
                if i.opcode == "store" and value == i.operands[1] and value != i.operands[0]:
                    if _fills(uniformity, lanes, i, sizes[root.name]) and _by_all(uniformity, block.name):
                        fills.setdefault(root.name, []).append((block.name, n))
                    continue
                reads.setdefault(root.name, []).append((block.name, n))
    return frozenset(
        name
        for name, stores in fills.items()
        if any(all(_before(flow, store, read) for read in reads.get(name, ())) for store in stores)
    )


def _pointers(i: Instruction) -> list[Value]:
    return [
        o
        for o in i.operands
        if isinstance(o, Local | Global | Expression)
        and isinstance(o.type, PointerType)
        and o.type.space == 3
    ]


def _fills(uniformity: Uniformity, lanes: LaneLayout, i: Instruction, size: int) -> bool:
    each = memory_type(i.operands[0].type)[1]
    shape = _from_start(uniformity, i.operands[1])
    if shape is None or shape.constant != 0 or shape.pattern is None or each * lanes.width != size:
        return False
    return sorted(shape.pattern) == list(range(0, size, each))


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
