"""Threadgroup arrays that live in registers.

Where one gang is the threadgroup, and every access to an array is at places that are known for each lane, nobody can
tell whether the array is in memory. In registers a load is a shuffle, and a store is one: a scan or a tree that reads
at one stride what it stored at another waits for nothing, while a vector that is loaded across elements which were
just stored waits until they are in the cache.

`access/held.py` writes the accesses.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_offsets import lane_offsets
from metalloid.analysis.lane_sets import running
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.output import HeldArray
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import BARRIER, GANG_BARRIER, family
from metalloid.ir.types import FloatType, IntType, PointerType, Type
from metalloid.ir.values import Expression, Global, Local, Value

MOST = 8192  # bytes of one array that are used
MOST_MOVES = 3000  # from register to register; LLVM takes a second for as many
LEAST = 2  # bytes of an element: few processors move single bytes between registers


Lanes = tuple[frozenset[int], bool]  # those that may run, and whether all of them do
Accesses = list[tuple[Instruction, Value, Lanes]]  # with the pointer


def held_arrays(
    u: Uniformity, roots: UnderlyingObjects, sizes: Mapping[str, int], register: int
) -> dict[str, HeldArray]:
    """The variables that live in registers of so many bytes, by their names."""
    return _held(u, _accesses(u, roots), sizes, register)


def all_held(u: Uniformity, roots: UnderlyingObjects, sizes: Mapping[str, int], register: int) -> bool:
    """Whether there are variables, and none of those that are used stays in memory."""
    accesses = _accesses(u, roots)
    return accesses != {} and set(accesses) == set(_held(u, accesses, sizes, register))


def _held(
    u: Uniformity, accesses: Mapping[str, Accesses], sizes: Mapping[str, int], register: int
) -> dict[str, HeldArray]:
    found: dict[str, HeldArray] = {}
    moves = moved = 0
    for name, own in accesses.items():
        array = _array(u, own)
        if array is not None and (cost := _cost(u, own, array, sizes[name], register)) is not None:
            found[name] = array
            moves, moved = moves + cost[0], moved + cost[1]
    barriers = sum(i.called in (BARRIER, GANG_BARRIER) for i in u.flow.function.instructions())
    # Behind one barrier the next threadgroup need not wait: single elements go through memory as fast.
    worth = barriers > 1 or 3 * moves <= 2 * moved
    return found if worth and moves <= MOST_MOVES else {}


def _is_of_matrices(i: Instruction) -> bool:
    """Products of matrices read their operands from memory, also those that lanes put together."""
    return i.opcode == "call" and (family(i.called) or "").startswith("matrix")


def _accesses(u: Uniformity, roots: UnderlyingObjects) -> dict[str, Accesses]:
    """All that is done with each variable; nothing where none can live in registers."""
    found: dict[str, Accesses] = {}
    if not _one_gang(u.lanes) or any(_is_of_matrices(i) for i in u.flow.function.instructions()):
        return found
    for block in u.flow.function.blocks:
        lanes = running(u, block.name, threads(u.lanes))
        for i in block.instructions:
            for pointer in _pointers(i):
                root = roots.root(pointer)
                if root is None or root.kind == "unknown":
                    return {}  # it may go to any variable
                if root.kind == "variable" and i.opcode != "getelementptr":
                    found.setdefault(root.name, []).append((i, pointer, lanes))
    return found


def threads(lanes: LaneLayout) -> frozenset[int]:
    """The lanes of the one gang that are threads."""
    return frozenset(range(min(lanes.count, lanes.width)))


def _one_gang(lanes: LaneLayout) -> bool:
    """Whether one gang is all that runs the code, and which of its lanes are threads is known."""
    return lanes.width > 1 and lanes.single_gang and lanes.static_size and not lanes.rows


def _pointers(i: Instruction) -> list[Value]:
    return [
        o
        for o in i.operands
        if isinstance(o, Local | Global | Expression)
        and isinstance(o.type, PointerType)
        and o.type.space == 3
    ]


def _array(u: Uniformity, accesses: Accesses) -> HeldArray | None:
    """An array of the smallest elements that are accessed; None where something else is done with it."""
    if not all(_plain(i, pointer) for i, pointer, _ in accesses):
        return None
    array = min((HeldArray(*memory_type(accessed(i))) for i, _, _ in accesses), key=lambda a: a.size)
    return array if array.size >= LEAST else None


def _cost(
    u: Uniformity, accesses: Accesses, array: HeldArray, total: int, register: int
) -> tuple[int, int] | None:
    """How often something goes from one register to another, and how many elements do, in all accesses; None where
    places are not known."""
    used: set[int] = set()
    moves = moved = 0
    length = register // array.size
    for access in accesses:
        places = _places(u, *access, array.size, total)
        if places is None:
            return None
        used.update(places)
        moved += len(places)
        moves += len({(n // length, at // length) for n, at in enumerate(places)})
    return (moves, moved) if len(used) * array.size <= MOST else None


def _plain(i: Instruction, pointer: Value) -> bool:
    """Whether an instruction loads or stores numbers, and no more."""
    if i.opcode not in ("load", "store") or i.operands[-1] != pointer or i.ordering or "volatile" in i.flags:
        return False
    return isinstance(accessed(i), FloatType | IntType)


def accessed(i: Instruction) -> Type:
    """What a load or a store moves."""
    return i.type if i.opcode == "load" else i.operands[0].type


def _places(
    u: Uniformity, i: Instruction, pointer: Value, lanes: Lanes, unit: int, total: int
) -> list[int] | None:
    """The elements that an access goes to; None where they are not known, or some are none of the array's."""
    offsets, size = lane_offsets(u, pointer), memory_type(accessed(i))[1]
    if offsets is None or size % unit:
        return None
    starts = [offsets[n] for n in sorted(lanes[0])]
    if any(at < 0 or at + size > total or at % unit for at in starts):
        return None
    places = [(at + n) // unit for at in starts for n in range(0, size, unit)]
    # Under a mask that is not known, lanes write back what they do not store: no two to one place.
    if i.opcode == "store" and not lanes[1] and len(set(places)) < len(places) and u.varies(pointer):
        return None
    return places
