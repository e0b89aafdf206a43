"""The shape of threadgroups, where it is ours to choose.

A kernel without barriers, threadgroup memory, operations among lanes and questions about its threadgroup runs the
same in any shape. Then the threads that run side by side are chosen by what they load: for gangs of 64 threads in
several shapes, count the registers and cache lines of all accesses, and take the least. Rows win where that is the
same, as in sums of images, since memory is read in order; a product takes a few rows at once, since what a row
and a column load is shared.
"""

from __future__ import annotations

import math

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout, Triple
from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Function, Instruction, Module
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import ENTRY, POSITIONS, Effect, effect, intrinsic, is_ours, short
from metalloid.ir.layout import DataLayout, data_layout
from metalloid.ir.name_privates import name_privates
from metalloid.ir.values import Value
from metalloid.targets import TargetInfo
from metalloid.transforms.one_row import DIVISIONS

GANG = 64  # threads that are looked at
ROW = (GANG, 1, 1)
BLOCK = 1.4  # what threads in several rows cost more, without loops: what they share lies in the first cache anyway
LINE = 2  # registers' loads that a cache line costs
ROUNDS = 8  # of a loop, as long as nobody knows
DEEPEST = 3
Accesses = list[tuple[Value, int]]  # where, and how many bytes
_ANYWHERE = frozenset(("thread_position_in_grid", "threads_per_grid", "grid_size", "grid_origin"))


def is_free(module: Module) -> bool:
    """Whether no thread can tell which threadgroup it is in."""
    if any(g.space == 3 for g in module.globals):
        return False
    function = module.function[ENTRY]
    used = {name for i in function.instructions() for name in i.uses}
    return all(_is_free(i, used) for i in function.instructions())


def _is_free(i: Instruction, used: set[str]) -> bool:
    if i.opcode == "call" and is_ours(i.called):
        found, name = intrinsic(i.called), short(i.called)
        if found is None or found.among or name == "threadgroup" or found.effect & Effect.TELLS:
            return False
        return name in _ANYWHERE or name not in POSITIONS
    if effect(i) & Effect.ORDERS:
        # Who waits for another thread must not share a gang with it that the launch did not give them.
        return i.opcode == "atomicrmw" and i.name not in used
    return True


def may_run_twice(module: Module) -> bool:
    """Whether a thread may run a second time, or two at once in its place, where no memory is bound twice: nothing that
    threads write is read by any, so it is the same both times."""
    function = module.function[ENTRY]
    roots = UnderlyingObjects(function)
    read, written = set[str](), set[str]()
    for i in function.instructions():
        if i.opcode in ("load", "store"):
            if (root := roots.root(i.operands[-1])) is None or root.kind != "buffer":
                return False
            (read if i.opcode == "load" else written).add(str(root))
        elif effect(i) & (Effect.WRITES | Effect.ORDERS | Effect.TELLS):
            return False
    return not read & written


def divides(module: Module) -> bool:
    """Whether a thread may find its row by a division."""
    return any(i.opcode in DIVISIONS for i in module.function[ENTRY].instructions())


def gang_shape(module: Module, grid: Triple, target: TargetInfo) -> Triple:
    """The threads of 64 that run side by side, along each axis."""
    module, _ = name_privates(module)
    function = module.function[ENTRY]
    flow, roots, layout = Flow(function), UnderlyingObjects(function), data_layout(module.datalayout)
    best: tuple[float, int] | None = None
    chosen = (GANG, 1, 1)
    for shape in _candidates(grid, target):
        known = Uniformity(flow, roots, LaneLayout(GANG, shape), layout)
        more = BLOCK if shape != ROW and not flow.forest.loops else 1
        cost = more * _cost(flow, known, layout, target) * _idle(grid, shape, target), -shape[0]
        if best is None or cost < best:
            best, chosen = cost, shape
    return chosen


def _idle(grid: Triple, shape: Triple, target: TargetInfo) -> float:
    """How many threads run for each that there is: a grid of 12 in pieces of 8 has a third more. Rows end in a register
    with idle lanes."""
    steps = shape if shape != ROW else (target.lanes32, 1, 1)
    return math.prod(-(-g // s) * s / g for g, s in zip(grid, steps, strict=True))


def _candidates(grid: Triple, target: TargetInfo) -> list[Triple]:
    """All of 64 threads that fit the grid, and rows that fill a register."""
    most = [1 << (min(g, GANG).bit_length() - 1) for g in grid]
    powers = [1 << n for n in range(GANG.bit_length())]
    found = [(x, y, GANG // (x * y)) for x in powers for y in powers if GANG % (x * y) == 0]
    fit = [s for s in found if all(a <= m for a, m in zip(s, most, strict=True))]
    return fit if ROW in fit or (fit and grid[0] < target.lanes32) else [*fit, ROW]


def _cost(flow: Flow, known: Uniformity, layout: DataLayout, target: TargetInfo) -> float:
    total = 0.0
    for block in flow.function.blocks:
        if block.name not in flow.graph.predecessors and block.name != flow.graph.root:
            continue
        weight = ROUNDS ** min(flow.forest.depth(block.name), DEEPEST)
        accesses = [found for i in block.instructions if (found := access_of(i, layout)) is not None]
        for vector in vectors(flow.function, accesses, layout):
            total += weight * _vector_cost(known, vector, target)
    return total


def _vector_cost(known: Uniformity, vector: Accesses, target: TargetInfo) -> float:
    """Of accesses that lie end to end: where those of all lanes do, they are loaded as rows, and turned round."""
    registers, lines = footprint(known.shape(vector[0][0]), sum(size for _, size in vector), target, GANG)
    if len(vector) > 1 and registers < GANG:
        return registers + LINE * lines + (len(vector) - 1) * GANG / target.lanes32
    parts = [footprint(known.shape(pointer), size, target, GANG) for pointer, size in vector]
    return sum(registers + LINE * lines for registers, lines in parts)


def access_of(i: Instruction, layout: DataLayout) -> tuple[Value, int] | None:
    """Where an access goes, and how many bytes it is."""
    if i.opcode == "load":
        return i.operands[0], layout.size(i.type)
    if i.opcode == "store":
        return i.operands[1], layout.size(i.operands[0].type)
    return None


def vectors(function: Function, accesses: Accesses, layout: DataLayout) -> list[Accesses]:
    """The accesses, those together that lie end to end: the parts of a char4."""
    found: list[Accesses] = []
    ends: dict[tuple[Value, int], Accesses] = {}
    places = [(*constant_base(function, pointer, layout), pointer, size) for pointer, size in accesses]
    for base, offset, pointer, size in sorted(places, key=lambda p: (str(p[0]), p[1])):
        vector = ends.pop((base, offset), None)
        if vector is None:
            vector = []
            found.append(vector)
        vector.append((pointer, size))
        ends[base, offset + size] = vector
    return found


def footprint(shape: LaneShape | None, size: int, target: TargetInfo, width: int) -> tuple[int, int]:
    """Loads that an access of so many lanes takes, and cache lines that it touches."""
    if shape is None:
        return width + width // 4, width
    if not shape.terms:
        return 1, 1
    away = [p for c, p in shape.terms if c]
    near = next((p for c, p in shape.terms if not c), (0,) * width)
    lanes = [(tuple(p[n] for p in away), near[n]) for n in range(width)]
    step = max(1, target.vector_bytes // size)
    loads: set[object] = set()
    for start in range(0, width, step):
        part = lanes[start : start + step]
        first, at = part[0]
        if part == [(first, at + size * n) for n in range(len(part))]:
            loads.add((first, at, "row"))
        else:
            loads.update(part)
    return len(loads), len({(far, at // target.line) for far, at in lanes})
