"""Numbers that calls give: positions, minima, values of other lanes."""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.branch_facts import Context
from metalloid.analysis.intervals.strided import Span
from metalloid.analysis.intervals.values import Facts, Values, bits_of
from metalloid.analysis.lane_layout import QUAD, SIMD
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import FIRST, MEMORIES, MOVES, collective, short
from metalloid.ir.values import Int


def call(e: Values, i: Instruction, context: Context) -> Span | None:
    bits, name = bits_of(i.type), i.called
    if name.startswith("llvm."):
        extreme = EXTREMES.get(name.split(".")[1])
        if extreme is None:
            return S.top(bits)
        read, choose = extreme
        a, b = e.value(i.operands[0], context), e.value(i.operands[1], context)
        if a is None or b is None:
            return None
        a, b = read(a, bits), read(b, bits)
        if a.hi <= b.lo or b.hi <= a.lo:  # one of them is it, whatever they are
            return a if choose(a.lo + a.hi, b.lo + b.hi) == a.lo + a.hi else b
        return S.make(choose(a.lo, b.lo), choose(a.hi, b.hi))
    if name in MEMORIES:
        return S.number(0)
    axis = i.operands[0].value if i.operands and isinstance(i.operands[0], Int) else 0
    found = POSITIONS.get(short(name))
    if found is not None:
        lo, hi = found(e.launch, axis)
        return S.make(lo, hi)
    shared = collective(name)
    if shared is not None and (shared.what in MOVES or shared.what == FIRST):
        # Another lane's value of the same operand: it came through the same branches.
        # What this thread learnt of its own value later says nothing about the others'.
        return e.at(i.operands[0], e.function.home[i.name])
    return S.top(bits)


Read = Callable[[Span, int], Span]
EXTREMES: dict[str, tuple[Read, Callable[..., int]]] = {
    "umin": (S.unsigned, min),
    "umax": (S.unsigned, max),
    "smin": (S.signed, min),
    "smax": (S.signed, max),
}


def _threads(launch: Facts) -> int:
    x, y, z = (min(t, g) for t, g in zip(launch.threadgroup, launch.grid, strict=True))
    return x * y * z


def _threads_of(launch: Facts, axis: int) -> tuple[int, int]:
    first, last = launch.places(axis)
    size = launch.threadgroup[axis]
    return first * size, min((last + 1) * size, launch.grid[axis]) - 1


def _smallest(launch: Facts, axis: int) -> int:
    """Threads in the smallest threadgroup along an axis."""
    size, grid = launch.threadgroup[axis], launch.grid[axis]
    return grid % size or size


def _per(launch: Facts, unit: int, asked: bool) -> tuple[int, int]:
    x, y, z = launch.threadgroup
    most = -(-x * y * z // unit)
    if asked:
        return most, most
    a, b, c = (_smallest(launch, n) for n in range(3))
    return -(-a * b * c // unit), -(-_threads(launch) // unit)


POSITIONS: dict[str, Callable[[Facts, int], tuple[int, int]]] = {
    "thread_position_in_grid": lambda f, a: _threads_of(f, a),
    "thread_position_in_threadgroup": lambda f, a: (0, min(f.threadgroup[a], f.grid[a]) - 1),
    "threadgroup_position_in_grid": lambda f, a: f.places(a),
    "threads_per_grid": lambda f, a: (f.grid[a], f.grid[a]),
    "grid_size": lambda f, a: (f.grid[a], f.grid[a]),
    "grid_origin": lambda f, a: (0, 0),
    "threads_per_threadgroup": lambda f, a: (_smallest(f, a), min(f.threadgroup[a], f.grid[a])),
    "dispatch_threads_per_threadgroup": lambda f, a: (f.threadgroup[a], f.threadgroup[a]),
    "threadgroups_per_grid": lambda f, a: (f.groups[a], f.groups[a]),
    "thread_index_in_threadgroup": lambda f, a: (0, _threads(f) - 1),
    "thread_index_in_simdgroup": lambda f, a: (0, min(SIMD, _threads(f)) - 1),
    "simdgroup_index_in_threadgroup": lambda f, a: (0, (_threads(f) - 1) // SIMD),
    "thread_index_in_quadgroup": lambda f, a: (0, min(QUAD, _threads(f)) - 1),
    "quadgroup_index_in_threadgroup": lambda f, a: (0, (_threads(f) - 1) // QUAD),
    "threads_per_simdgroup": lambda f, a: (SIMD, SIMD),
    "thread_execution_width": lambda f, a: (SIMD, SIMD),
    "simdgroups_per_threadgroup": lambda f, a: _per(f, SIMD, False),
    "dispatch_simdgroups_per_threadgroup": lambda f, a: _per(f, SIMD, True),
    "quadgroups_per_threadgroup": lambda f, a: _per(f, QUAD, False),
    "dispatch_quadgroups_per_threadgroup": lambda f, a: _per(f, QUAD, True),
}
