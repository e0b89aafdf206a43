"""Short programs of stores that threads may agree on, for comparing the two engines of the checker.

A skeleton is compiled once: a row of statements, each a store, a read, an update or a barrier of one kind. Who takes
part, where and with which value stands in a table that the kernel reads, so one skeleton is many programs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

PLACES = 3  # elements that everybody meets at, of each memory
FIELDS = 6  # of a row: who, its number, where, value, kind of value, spare
_DO = {
    "store device": "if (takes(table, {n}, t, g, lane)) o[table[{n}].at] = value(table, {n}, t, g);",
    "store local": "if (takes(table, {n}, t, g, lane)) s[table[{n}].at] = value(table, {n}, t, g);",
    "read device": "if (takes(table, {n}, t, g, lane)) sum += o[table[{n}].at];",
    "read local": "if (takes(table, {n}, t, g, lane)) sum += s[table[{n}].at];",
    "store spread": "if (takes(table, {n}, t, g, lane)) o[(table[{n}].at + t) % 3] = value(table, {n}, t, g);",
    "barrier device": "threadgroup_barrier(mem_flags::mem_device);",
    "barrier local": "threadgroup_barrier(mem_flags::mem_threadgroup);",
    "barrier both": "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
    "barrier lanes": "simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
}
_OFTEN = (
    *("store device", "store local") * 3,
    *("read device", "read local") * 2,
    "store spread",
    "barrier device",
    "barrier local",
    "barrier both",
    "barrier lanes",
)
_TEXT = """struct Row { uint who, number, at, value, kind, spare; };
inline bool takes(constant Row* table, uint n, uint t, uint g, uint lane) {
    uint number = table[n].number;
    switch (table[n].who) {
    case 0: return true;
    case 1: return t == number;
    case 2: return g == number % 3;
    case 3: return t == number && g == number % 3;
    case 4: return lane == number % 32;
    case 5: return t < number;
    default: return (t ^ number) & 1;
    }
}
inline uint value(constant Row* table, uint n, uint t, uint g) {
    switch (table[n].kind) {
    case 0: return table[n].value;
    case 1: return t & 1;
    case 2: return g;
    default: return t >> 5;
    }
}
kernel void k(device uint* o, device uint* seen, constant Row* table, THREAD,
              uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup uint s[3];
    uint sum = 0;
    BODY
    seen[i] = sum;
}"""
Pick = Callable[[int, int], int]  # a number from low to high


def skeleton(pick: Pick) -> tuple[str, int]:
    """A kernel, and how many statements it has."""
    count = pick(3, 7)
    chosen = [_OFTEN[pick(0, len(_OFTEN) - 1)] for _ in range(count)]
    body = "\n    ".join(_DO[name].format(n=n) for n, name in enumerate(chosen))
    return _TEXT.replace("BODY", body), count


def table(pick: Pick, count: int) -> np.ndarray:
    """Who does what: a row for each statement."""
    rows = [
        (pick(0, 6), pick(0, 69), pick(0, PLACES - 1), pick(1, 2), max(0, pick(-4, 3)), 0)
        for _ in range(count)
    ]
    return np.array(rows, np.uint32).reshape(-1)
