"""Keep loads of a tile where they are used.

All gangs of a threadgroup read the same rows of a tile, one gang after the other, and LLVM brings such loads
out of the loop over the gangs: sixty registers, all of which it has to spill and load again where they are used. So
such a load starts from an address that LLVM takes for another in each gang. Not where a load has to be turned
round or put together: that is worth doing once. Nor where there are few: they stay in registers, and what is made of
them is made once (the total of a row, which each SIMD-group adds up from the parts of all).
"""

from __future__ import annotations

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import Effect, effect
from metalloid.ir.types import PointerType
from metalloid.records import replace

FEW = 8  # registers that loads of all gangs may take


def in_place(e: Emitter, place: MemRef) -> MemRef:
    """The same place of threadgroup memory, for a load that stays in its gang."""
    if place.root.kind not in ("variable", "threadgroup") or e.out.lanes.single_gang or not _stays(e):
        return place
    moved = e.at_start(f"again:{place.ptr}", f"getelementptr i8, ptr {place.ptr}, i64 {_nothing(e)}")
    return replace(place, ptr=moved)


def _nothing(e: Emitter) -> str:
    """A zero that is read anew in each gang."""
    at = e.at_start("zero.at", f"getelementptr i8, ptr %launch, i64 {abi.ZERO}")
    short = e.at_start("zero", f"load volatile i32, ptr {at}")
    return e.at_start("zero.wide", f"sext i32 {short} to i64")


def _stays(e: Emitter) -> bool:
    """Whether loads of the region stay in it: it has many, and changes no threadgroup memory (LLVM could not tell a
    store and a load of one place)."""
    if e.tile_loads_stay is None:
        code = tuple(e.function.instructions())
        wide = sum(e.out.layout.size(i.type) for i in code if i.opcode == "load" and _in_tile(i))
        many = wide * e.width > FEW * e.out.target.vector_bytes
        e.tile_loads_stay = many and not any(effect(i) & Effect.WRITES and _in_tile(i) for i in code)
    return e.tile_loads_stay


def _in_tile(i: Instruction) -> bool:
    return any(isinstance(o.type, PointerType) and o.type.space == 3 for o in i.operands)
