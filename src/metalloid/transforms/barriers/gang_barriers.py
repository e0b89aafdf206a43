"""Barriers that only the first gang would notice.

In a tree of several gangs most levels are the first one's alone: `if (t < 64) part[t] += part[t + 64];`. A gang's lanes
go through code side by side, so where all that is read and written before a barrier and behind it is one gang's, that
gang has nobody to wait for, and nobody waits for it. Such a barrier becomes one of the gang: code before it and behind
it is one region.

All that is looked at is who may touch memory, so a race stays what it was: the gang does what it did, in its order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_sets import running
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import BARRIER, GANG_BARRIER, Effect, effect
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import PointerType
from metalloid.ir.values import Global
from metalloid.records import replace

OWN = (4, 5)  # spaces of memory that nobody changes, or that is each thread's own
Piece = tuple[str, int]  # of a block: how many of its barriers stand before


def gang_barriers(
    function: Function, lanes: LaneLayout, layout: DataLayout
) -> tuple[Function, frozenset[str]]:
    """The function with such barriers marked, and the blocks that only the first gang runs; as it was, and none, where
    there are no such barriers, or no others."""
    several = lanes.static_size and not (lanes.rows or lanes.slides) and lanes.width < lanes.count
    if not several or sum(i.called == BARRIER for i in function.instructions()) < 2:
        return function, frozenset()
    flow = Flow(function)
    always = {b.name for b in function.blocks if flow.post_dominates(b.name, flow.graph.root)}
    stretch = _stretches(function)
    perhaps = _needless(function, stretch, {b.name for b in function.blocks} - always)
    if not perhaps:
        return function, frozenset()
    around = {stretch[name, n + side] for name, n in perhaps for side in (0, 1)}
    asked = {
        block.name
        for block in function.blocks
        for piece, i in _pieces(block)
        if stretch[piece] in around and block.name not in always and _touches(i)
    }
    lone = _of_first_gang(flow, lanes, layout, asked)
    needless = _needless(function, stretch, lone)
    if not needless or len(needless) == sum(i.called == BARRIER for i in function.instructions()):
        return function, frozenset()
    return _marked(function, needless), lone


def _of_first_gang(
    flow: Flow, lanes: LaneLayout, layout: DataLayout, asked: Collection[str]
) -> frozenset[str]:
    """Those of some blocks that no thread behind the first gang's can run."""
    whole = LaneLayout(lanes.count, lanes.size)
    known = Uniformity(flow, UnderlyingObjects(flow.function), whole, layout)
    every = frozenset(range(lanes.count))
    found = ((name, running(known, name, every)[0]) for name in asked)
    return frozenset(name for name, threads in found if not threads or max(threads) < lanes.width)


def _needless(function: Function, stretch: Mapping[Piece, Piece], lone: Collection[str]) -> set[Piece]:
    """The barriers around which nobody touches memory but in blocks that one gang runs; by the piece before each."""
    shared = {
        stretch[piece]
        for block in function.blocks
        if block.name not in lone
        for piece, i in _pieces(block)
        if _touches(i)
    }
    return {
        (name, n)
        for name, n in stretch
        if (name, n + 1) in stretch and not shared & {stretch[name, n], stretch[name, n + 1]}
    }


def _stretches(function: Function) -> dict[Piece, Piece]:
    """For each piece of code one of those that ways without a barrier lead to from there, or from which they come: the
    same one for all of a stretch."""
    last = {b.name: sum(i.called == BARRIER for i in b.instructions) for b in function.blocks}
    over = {(name, n): (name, n) for name in last for n in range(last[name] + 1)}

    def top(piece: Piece) -> Piece:
        while over[piece] != piece:
            over[piece] = over[over[piece]]
            piece = over[piece]
        return piece

    for block in function.blocks:
        for target in block.successors:
            over[top((target, 0))] = top((block.name, last[block.name]))
    return {piece: top(piece) for piece in over}


def _pieces(block: Block) -> Iterator[tuple[Piece, Instruction]]:
    """The instructions of a block, each with its piece; a barrier is the end of one."""
    n = 0
    for i in block.instructions:
        yield (block.name, n), i
        n += i.called == BARRIER


def _touches(i: Instruction) -> bool:
    """Whether somebody else could notice an instruction, or what it notices."""
    if i.called == BARRIER or effect(i) is Effect.NONE:
        return False
    pointer = i.operands[-1].type if i.opcode in ("load", "store") else None
    return not isinstance(pointer, PointerType) or pointer.space not in OWN


def _marked(function: Function, needless: Collection[Piece]) -> Function:
    callee = Global(GANG_BARRIER, PointerType())
    blocks = []
    for block in function.blocks:
        code = tuple(
            replace(i, callee=callee) if i.called == BARRIER and piece in needless else i
            for piece, i in _pieces(block)
        )
        blocks.append(replace(block, instructions=code))
    return function.with_blocks(tuple(blocks))
