"""The attributes that parameters of kernels can have, and those of them that are the thread's place."""

from __future__ import annotations

_ATTRIBUTES_TEXT = """
buffer threadgroup function_constant texture sampler stage_in payload patch id raster_order_group color
imageblock_data thread_position_in_grid thread_position_in_threadgroup threadgroup_position_in_grid
threads_per_grid threads_per_threadgroup dispatch_threads_per_threadgroup threadgroups_per_grid grid_origin
grid_size thread_index_in_threadgroup thread_index_in_simdgroup simdgroup_index_in_threadgroup
simdgroups_per_threadgroup threads_per_simdgroup dispatch_simdgroups_per_threadgroup thread_execution_width
thread_index_in_quadgroup quadgroup_index_in_threadgroup quadgroups_per_threadgroup
dispatch_quadgroups_per_threadgroup dispatch_threadgroups_per_grid
"""
PARAMETER_ATTRIBUTES = frozenset(_ATTRIBUTES_TEXT.split())

# Builtin attribute -> the name of its descriptor in entry.h.
BUILTINS = {
    name: name
    for name in """thread_position_in_grid thread_position_in_threadgroup threadgroup_position_in_grid
        threads_per_grid threads_per_threadgroup dispatch_threads_per_threadgroup
        threadgroups_per_grid grid_origin grid_size thread_index_in_threadgroup
        thread_index_in_simdgroup simdgroup_index_in_threadgroup simdgroups_per_threadgroup
        dispatch_simdgroups_per_threadgroup threads_per_simdgroup thread_index_in_quadgroup
        quadgroup_index_in_threadgroup quadgroups_per_threadgroup
        dispatch_quadgroups_per_threadgroup""".split()
} | {
    "thread_execution_width": "threads_per_simdgroup",
    "dispatch_threadgroups_per_grid": "threadgroups_per_grid",
}
