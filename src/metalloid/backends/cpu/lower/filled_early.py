"""What all threads of a threadgroup have filled before any of them runs a region: each its own place, by its index.

All gangs run one region before any runs the next. So a store that every thread makes on every way through a region is
done, in all its places, wherever that region comes before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.byte_ranges import Range
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
        together = uniformity.divergence.mask_head[block.name] == flow.graph.root
        for i in block.instructions if together and flow.post_dominates(block.name, flow.graph.root) else ():
            root = roots.root(i.operands[1]) if i.opcode == "store" else None
            if root is None or root.kind != "variable":
                continue
            each = memory_type(i.operands[0].type)[1]
            start = _own(uniformity, i.operands[1], each, lanes)
            if start is not None and start >= 0 and start + each * lanes.count <= sizes[root.name]:
                found.setdefault(root.name, []).append((start, start + each * lanes.count))
    return found


def _own(uniformity: Uniformity, pointer: Value, each: int, lanes: LaneLayout) -> int | None:
    """Where the elements begin of which a pointer is to that of the thread's own index."""
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
    if stride != each or index is None or any(not isinstance(x, Int) for x, _ in before):
        return None
    start += sum(x.signed * by for x, by in before if isinstance(x, Int))
    while isinstance(index, Local) and definitions[index.name].opcode in ("zext", "freeze"):
        index = definitions[index.name].operands[0]
    return start if _is_index(uniformity, index, lanes) else None


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
