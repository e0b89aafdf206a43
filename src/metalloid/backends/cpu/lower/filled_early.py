"""What all threads of a threadgroup have filled before any of them runs a region: each its own place, by its index.

The first lane of each SIMD-group may do so for all: partial sums that another region adds up are at the number of
their SIMD-group. All gangs run one region before any runs the next. So a store that is made on every way through a
region is done, in all its places, wherever that region comes before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import SIMD, LaneLayout
from metalloid.analysis.lane_sets import taken
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.byte_ranges import Range, union
from metalloid.ir.gep import constant_base, constant_offset, steps
from metalloid.ir.intrinsics import STATE, short
from metalloid.ir.values import Expression, Global, Int, Local, Value

Part = tuple[Flow, UnderlyingObjects, Uniformity]
Filled = dict[str, list[Range]]


def filled_before(
    parts: Sequence[Part], lanes: LaneLayout, sizes: Mapping[str, int], first: int
) -> list[Filled]:
    """For each part; those from `first` on begin where others meet, not behind a barrier, and so may run before."""
    each = [_fills(part, lanes, sizes) for part in parts]
    every = set(range(len(parts)))
    follow = [_next(part) or every for part in parts]
    before = _always_before(follow)
    if len(parts) > first or any(0 in f and f != {0} for f in follow):
        # Threads that have returned store no more: only what stands before all barriers is done by everybody.
        before = [{0} if 0 < n < first else set() for n in range(len(parts))]
    found: list[Filled] = []
    for earlier in before:
        made: Filled = {}
        for n in earlier:
            for name, ranges in each[n].items():
                made.setdefault(name, []).extend(ranges)
        found.append(made)
    return found


def _always_before(follow: Sequence[set[int]]) -> list[set[int]]:
    """The regions on every way to a region, without itself; `follow`: those that may come next."""
    count = len(follow)
    found = [{0}, *(set(range(count)) for _ in range(1, count))]
    changed = True
    while changed:
        changed = False
        for n in range(1, count):
            sources = [found[m] for m in range(count) if n in follow[m]]
            new = {n} | (set.intersection(*sources) if sources else set())
            changed |= new != found[n]
            found[n] = new
    return [f - {n} for n, f in enumerate(found)]


def _next(part: Part) -> set[int] | None:
    """The regions that may follow one; None where that is not said."""
    function, found = part[0].function, set[int]()
    for i in function.instructions():
        if i.called == STATE:
            work, seen = [i.operands[0]], set[str]()
            while work:
                value = work.pop()
                made = function.definitions.get(value.name) if isinstance(value, Local) else None
                if isinstance(value, Int):
                    found.add(value.value)
                elif made is None or made.opcode not in ("phi", "select"):
                    return None
                elif made.name not in seen:
                    seen.add(made.name)
                    work += made.operands if made.opcode == "phi" else made.operands[1:]
    return found


def _fills(part: Part, lanes: LaneLayout, sizes: Mapping[str, int]) -> Filled:
    flow, roots, uniformity = part
    found: Filled = {}
    for block in flow.function.blocks:
        threads, groups = _by_all(part, block.name), _by_first_lanes(part, block.name, lanes)
        for i in block.instructions if threads or groups else ():
            root = roots.root(i.operands[1]) if i.opcode == "store" else None
            place = (
                _element(uniformity, i.operands[1]) if root is not None and root.kind == "variable" else None
            )
            if root is None or place is None:
                continue
            start, stride, index = place
            each, count = memory_type(i.operands[0].type)[1], 0
            if threads and stride == each and _is_index(uniformity, index, lanes):
                count = lanes.count
            elif stride >= each and _is_group(uniformity, index, lanes):
                count = -(-lanes.count // SIMD)
            if count and start >= 0 and start + stride * (count - 1) + each <= sizes[root.name]:
                at = [start + stride * n for n in range(count)]
                found.setdefault(root.name, []).extend(union((x, x + each) for x in at))
    return found


def _by_all(part: Part, block: str) -> bool:
    """Whether all threads run a block, on every way through the region."""
    flow, _, uniformity = part
    return uniformity.divergence.mask_head[block] == flow.graph.root and flow.post_dominates(
        block, flow.graph.root
    )


def _by_first_lanes(part: Part, block: str, lanes: LaneLayout) -> bool:
    """Whether the first lane of every SIMD-group does."""
    flow, _, uniformity = part
    sources = flow.graph.predecessors.get(block, ())
    if lanes.width != SIMD or len(sources) != 1 or not _by_all(part, sources[0]):
        return False
    some = taken(uniformity, SIMD, sources[0], block)
    return some.known and some.first == 0


def _element(uniformity: Uniformity, pointer: Value) -> tuple[int, int, Value] | None:
    """An element of an array that lies from a byte on, every so many bytes, and its index."""
    definitions = uniformity.flow.function.definitions
    pointer, start = constant_base(uniformity.flow.function, pointer, uniformity.layout)
    i = definitions[pointer.name] if isinstance(pointer, Local) else None
    if i is None or i.opcode != "getelementptr":
        return None
    base = i.operands[0]
    if isinstance(base, Expression) and base.opcode == "getelementptr":
        start += constant_offset(uniformity.layout, base) or 0
        base = base.operands[0]
    if not isinstance(base, Global):
        return None
    *before, (index, stride) = steps(uniformity.layout, i.element, i.operands[1:])
    if index is None or any(not isinstance(x, Int) for x, _ in before):
        return None
    start += sum(x.signed * by for x, by in before if isinstance(x, Int))
    while isinstance(index, Local) and definitions[index.name].opcode in ("zext", "freeze"):
        index = definitions[index.name].operands[0]
    return start, stride, index


def _is_group(uniformity: Uniformity, value: Value, lanes: LaneLayout) -> bool:
    """Whether a value is the number of the thread's SIMD-group."""
    i = uniformity.flow.function.definitions[value.name] if isinstance(value, Local) else None
    if i is None:
        return False
    if i.opcode == "lshr" and isinstance(i.operands[1], Int) and 1 << i.operands[1].value == SIMD:
        return _is_index(uniformity, i.operands[0], lanes)
    return short(i.called) == "simdgroup_index_in_threadgroup"


def _is_index(uniformity: Uniformity, value: Value, lanes: LaneLayout) -> bool:
    """Whether a value is the thread's index in its threadgroup."""
    call = uniformity.flow.function.definitions[value.name] if isinstance(value, Local) else None
    if call is None or call.opcode != "call":
        return False
    if short(call.called) == "thread_index_in_threadgroup":
        return True
    axis = call.operands[0].value if call.operands and isinstance(call.operands[0], Int) else 0
    line = lanes.count == lanes.size[0] and axis == 0
    return short(call.called) == "thread_position_in_threadgroup" and line
