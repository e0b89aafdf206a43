"""Where a thread is: the position builtins, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metalloid.backends.base import QUAD_WIDTH, SIMD_WIDTH, Triple


def _along(size: Triple, width: int) -> int:
    x, y, z = size
    return -(-(x * y * z) // width)


POSITIONS: dict[str, Callable[[Any, int], int]] = {  # of a thread and an axis
    "thread_position_in_grid": lambda t, axis: t.position[axis],
    "thread_position_in_threadgroup": lambda t, axis: t.local_position[axis],
    "threadgroup_position_in_grid": lambda t, axis: t.group.position[axis],
    "threads_per_grid": lambda t, axis: t.group.launch.grid[axis],
    "threads_per_threadgroup": lambda t, axis: t.group.size[axis],
    "dispatch_threads_per_threadgroup": lambda t, axis: t.group.launch.threadgroup[axis],
    "threadgroups_per_grid": lambda t, axis: t.group.launch.threadgroups[axis],
    "grid_origin": lambda t, axis: 0,
    "grid_size": lambda t, axis: t.group.launch.grid[axis],
    "thread_index_in_threadgroup": lambda t, axis: t.index,
    "thread_index_in_simdgroup": lambda t, axis: t.index % SIMD_WIDTH,
    "simdgroup_index_in_threadgroup": lambda t, axis: t.index // SIMD_WIDTH,
    "simdgroups_per_threadgroup": lambda t, axis: _along(t.group.size, SIMD_WIDTH),
    "dispatch_simdgroups_per_threadgroup": lambda t, axis: _along(t.group.launch.threadgroup, SIMD_WIDTH),
    "threads_per_simdgroup": lambda t, axis: SIMD_WIDTH,
    "thread_execution_width": lambda t, axis: SIMD_WIDTH,
    "thread_index_in_quadgroup": lambda t, axis: t.index % QUAD_WIDTH,
    "quadgroup_index_in_threadgroup": lambda t, axis: t.index // QUAD_WIDTH,
    "quadgroups_per_threadgroup": lambda t, axis: _along(t.group.size, QUAD_WIDTH),
    "dispatch_quadgroups_per_threadgroup": lambda t, axis: _along(t.group.launch.threadgroup, QUAD_WIDTH),
}
