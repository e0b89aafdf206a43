"""A launch that begins while the one before it ends: where it waits, and what it may read before.

The GPU starts it as soon as the last threadgroup of the other runs. Memory that nobody in the recording writes, as
weights are, is read at once; before anything else is touched, and before a thread ends, all of the other is done.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.cuda.variant import Variant
from metalloid.ir import Function, Instruction
from metalloid.ir.dominance import dominators
from metalloid.ir.intrinsics import Effect, effect, family
from metalloid.ir.loops import loops
from metalloid.ir.types import PointerType

Place = tuple[str, int]  # a block, and the instruction in it


def waits(function: Function, roots: UnderlyingObjects, variant: Variant) -> frozenset[Place]:
    """Instructions that a wait comes before: once on every way, as late as it can be, and in no loop."""
    if variant.early is None:
        return frozenset()
    found = list(_touching(function, roots, variant))
    tree, forest = dominators(function), loops(function)
    ends = [(b.name, len(b.instructions) - 1) for b in function.blocks if b.terminator.opcode == "ret"]
    if not found:
        return frozenset(ends)
    home = found[0][0]
    for block, _ in found:
        home = tree.nearest(home, block)
    while forest.depth(home) or forest.irreducible:
        if home == tree.root:
            break
        home = tree.immediate[home]
    last = len(function.block[home].instructions) - 1
    first = min((n for block, n in found if block == home), default=last)
    return frozenset([(home, first), *((b, n) for b, n in ends if not tree.dominates(home, b))])


def _touching(function: Function, roots: UnderlyingObjects, variant: Variant) -> Iterator[Place]:
    for block in function.blocks:
        for n, i in enumerate(block.instructions):
            if _touches(i, roots, variant):
                yield block.name, n


def _touches(i: Instruction, roots: UnderlyingObjects, variant: Variant) -> bool:
    """Whether an instruction may reach memory that the launch before may still write, or read."""
    what = effect(i)
    if i.opcode == "call" and family(i.called) in ("barrier", "simd barrier", "position", "memory"):
        return False
    if not what & (Effect.READS | Effect.WRITES | Effect.TELLS):
        return False
    pointers = [roots.root(o) for o in i.operands if isinstance(o.type, PointerType)]
    quiet = {*variant.inlined, *(variant.early or ())}
    return not pointers or not all(
        root is not None and (root.index in quiet if root.kind == "buffer" else root.space != 1)
        for root in pointers
    )
