"""Kernels without loops whose threads each write a block of their own: 32 weights that are unpacked, a struct of
sixteen floats.

clang has unrolled their loops. Lanes would be a block apart, with a scatter for each number, or with blocks to be
turned round; while the numbers of one block are made alike and fill registers by themselves. LLVM finds them where
threads run one after the other (its SLP vectoriser). Shorter rows are better interleaved (`access/store_groups.py`).
"""

from __future__ import annotations

from metalloid.analysis.intervals import NO_WRAP
from metalloid.analysis.lane_shape import UNIFORM
from metalloid.backends.cpu.lower.access.packs import Packs
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import Effect, effect
from metalloid.ir.layout import DataLayout
from metalloid.ir.values import Value
from metalloid.records import replace
from metalloid.targets import TargetInfo
from metalloid.transforms.common_gep_base import share

_WIDENS = ("zext", "sext")
WORD, MOST_BYTES = 4, 8  # bytes that shorter numbers are computed in, and of the longest
MOST_WORK = 0.75  # of a block's work, at least, is for numbers that are made alike


def writes_blocks(function: Function, layout: DataLayout, target: TargetInfo) -> bool:
    """Whether all that a kernel stores are blocks of a register and more, made alike, as far as no index wraps: most
    launches are proved so."""
    least = target.vector_bytes // max(WORD, MOST_BYTES)
    if not any(sum(i.opcode == "store" for i in b.body) >= least for b in function.blocks):
        return False
    function, found = share(_whole(function)), False
    for block in function.blocks:
        stores = [i for i in block.body if i.opcode == "store"]
        if any(i.opcode != "store" and effect(i) & Effect.WRITES for i in block.body):
            return False
        if stores and not _is_block(function, block, stores, layout, target):
            return False
        found = found or bool(stores)
    return found


def _whole(function: Function) -> Function:
    return function.with_blocks(
        tuple(
            Block(
                b.name,
                tuple(
                    replace(i, metadata=(*i.metadata, (NO_WRAP, "!{}"))) if i.opcode in _WIDENS else i
                    for i in b.instructions
                ),
            )
            for b in function.blocks
        )
    )


def _is_block(
    function: Function, block: Block, stores: list[Instruction], layout: DataLayout, target: TargetInfo
) -> bool:
    packs = Packs(function, block, layout, lambda value: UNIFORM)
    for row in _rows(function, stores, layout):
        full = target.vector_bytes // max(WORD, layout.store_size(row[0].type))
        if len(row) % full or not all(
            packs.collect(tuple(row[n : n + full])) for n in range(0, len(row), full)
        ):
            return False
    alike = sum(len(names) for names in packs.found)
    return alike >= MOST_WORK * (alike + len(_behind(packs)))


def _behind(packs: Packs) -> set[str]:
    """What is computed once for all numbers of a block."""
    work, found = list(packs.shared), set()
    while work:
        name = work.pop()
        if name in packs.made and name not in found:
            found.add(name)
            work += packs.made[name].uses
    return found


def _rows(function: Function, stores: list[Instruction], layout: DataLayout) -> list[list[Value]]:
    """The values of stores side by side, by where they go."""
    places: dict[tuple[Value, str], list[tuple[int, Value]]] = {}
    for i in stores:
        value, pointer = i.operands
        base, offset = constant_base(function, pointer, layout)
        places.setdefault((base, str(value.type)), []).append((offset, value))
    rows: list[list[Value]] = []
    for members in places.values():
        size, last = layout.store_size(members[0][1].type), None
        for offset, value in sorted(members, key=lambda m: m[0]):
            if last is None or offset != last + size:
                rows.append([])
            rows[-1].append(value)
            last = offset
    return rows
