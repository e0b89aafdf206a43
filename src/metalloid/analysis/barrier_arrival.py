"""How the threads of a threadgroup come to its barriers.

A barrier counts SIMD-groups that still run, as GPUs do. So there are three ways:

    together   all threads come to each barrier, in the same iteration of the loops around it
    returned   all that have not gone where no barrier follows; those run on to their end, and hold nobody up
    parted     some threads pass by a barrier that others wait at, and may come to the next one

What a thread does is its own where it follows from its position, an atomic operation, or a private array; values that
are loaded from one address are the same for all (a race could make them differ: such threads stop at M204).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from metalloid.analysis.divergence import Divergence, Flow
from metalloid.analysis.lane_layout import SIMD, Triple
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.cfg import closure, graph
from metalloid.ir.intrinsics import BARRIER, VARYING_POSITIONS, among_lanes, intrinsic, short
from metalloid.ir.types import VOID, PointerType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import replace

Arrival = Literal["together", "returned", "parted"]


def arrival(function: Function, size: Triple) -> Arrival:
    """The way of a kernel's threads to its barriers, in threadgroups of at most this size."""
    leading = _leading_to_barriers(function)
    branches = divergent_branches(function, size) if leading else frozenset()
    parting = {b for b in branches if _inside(function.block[b], leading)}
    if not parting:
        return "together"
    pruned = _pruned(function, leading)
    both = frozenset(b for b in parting if len(_inside(function.block[b], leading)) > 1)
    mask_head = Divergence(Flow(pruned), both).mask_head
    root = pruned.entry.name
    if any(mask_head[b.name] != root for b in pruned.blocks if _barriers(b)):
        return "parted"
    left = parting - both
    if not left:
        return "together"
    return "parted" if _meet_behind(function, left, leading) else "returned"


def _meet_behind(function: Function, left: set[str], leading: set[str]) -> bool:
    """Whether threads that pass by a barrier come to a SIMD-group operation that those who wait come to as well:
    lanes of one SIMD-group do it together, so the first must not run ahead."""
    edges = graph(function).successors
    gone = closure(edges, [t for b in left for t in edges[b] if t not in leading])
    behind = closure(edges, [t for b in function.blocks if _barriers(b) for t in edges[b.name]])
    return any(among_lanes(i) and i.name for name in gone & behind for i in function.block[name].instructions)


def lane_mask_heads(function: Function, size: Triple) -> Mapping[str, str]:
    """For each block the first that the same lanes of a SIMD-group come to together; empty where lanes never part.

    Blocks whose head is the entry have all lanes of the SIMD-group, or none.
    """
    branches = lanes_part(function, size)
    return Divergence(Flow(function), branches).mask_head if branches else {}


def lanes_part(function: Function, size: Triple) -> frozenset[str]:
    """Blocks at whose end lanes of a SIMD-group may part."""
    return divergent_branches(function, size, _own_lane)


def divergent_branches(
    function: Function, size: Triple, own_value: Callable[[Instruction, Triple], bool] | None = None
) -> frozenset[str]:
    """Blocks at whose end threads of a threadgroup may part; those of a SIMD-group, with another `own_value`."""
    own_value = own_value or _own
    flow, users, home = Flow(function), function.users, function.home
    own: set[str] = set()
    branches: set[str] = set()
    work = [i for i in function.instructions() if own_value(i, size)]
    while True:
        while work:
            i = work.pop()
            if not i.name or i.name in own:
                continue
            own.add(i.name)
            work += (user for user in users.get(i.name, ()) if user.name not in own)
        found = {b.name for b in function.blocks if _parts(b, own)}
        if found == branches:
            return frozenset(branches)
        branches = found
        joins = Divergence(flow, frozenset(branches)).joins
        work = [i for i in function.instructions() if i.opcode == "phi" and home[i.name] in joins]


def _own(i: Instruction, size: Triple) -> bool:
    """Whether an instruction gives threads different values whatever it is given."""
    if i.opcode in ("atomicrmw", "cmpxchg"):
        return True
    if i.opcode == "load":
        return bool(i.ordering) or _space(i.operands[-1]) == 5
    if i.opcode != "call":
        return False
    name = short(i.called)
    if name in VARYING_POSITIONS:
        axis = i.operands[0].value if i.operands and isinstance(i.operands[0], Int) else 0
        if name.startswith("thread_position"):
            return size[axis] > 1
        many = size[0] * size[1] * size[2]
        return many > (SIMD if name == "simdgroup_index_in_threadgroup" else 1)
    return among_lanes(i)


def _own_lane(i: Instruction, size: Triple) -> bool:
    """Whether an instruction gives the lanes of a SIMD-group different values whatever it is given."""
    found = intrinsic(i.called) if i.opcode == "call" else None
    if found is not None and found.same == "simdgroup":
        return False
    return _own(i, size)


def _space(value: Value) -> int:
    return value.type.space if isinstance(value.type, PointerType) else 0


def _parts(block: Block, own: set[str]) -> bool:
    end = block.terminator
    return len(set(end.labels)) > 1 and any(isinstance(o, Local) and o.name in own for o in end.operands)


def _barriers(block: Block) -> bool:
    return any(i.called == BARRIER for i in block.instructions)


def _leading_to_barriers(function: Function) -> set[str]:
    """Blocks that hold a barrier or lead to one."""
    flow = graph(function)
    found = {b.name for b in function.blocks if _barriers(b)}
    work = list(found)
    while work:
        for source in flow.predecessors[work.pop()]:
            if source not in found:
                found.add(source)
                work.append(source)
    return found


def _inside(block: Block, leading: set[str]) -> set[str]:
    return {t for t in block.successors if t in leading}


def _pruned(function: Function, leading: set[str]) -> Function:
    """The function without the code from which no barrier is reached."""
    blocks = []
    for block in function.blocks:
        if block.name not in leading:
            continue
        inside = [t for t in dict.fromkeys(block.successors) if t in leading]
        end = block.terminator
        if not inside:
            end = Instruction("ret", VOID)
        elif len(inside) == 1:
            end = Instruction("br", VOID, labels=(inside[0],))
        blocks.append(replace(block, instructions=(*block.instructions[:-1], end)))
    return function.with_blocks(tuple(blocks))
