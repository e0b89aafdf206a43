"""Where lanes of a warp have to come together again before they do something with each other.

A GPU lets lanes that parted run apart for as long as it likes. Scalar IR says that lanes at the same call, in the same
iteration, take part together; so those who were together at the head of a mask wait for each other there.
"""

from __future__ import annotations

from metalloid.analysis.barrier_arrival import lane_mask_heads
from metalloid.backends.base import SIMD_WIDTH
from metalloid.backends.cuda.variant import Variant
from metalloid.ir import Function, Instruction
from metalloid.ir.cfg import graph
from metalloid.ir.dominance import dominator_tree
from metalloid.ir.intrinsics import BARRIER, family

AMONG = ("collective", "simd barrier", "matrix product")  # what lanes do together
ALL = ""  # in place of a head: all lanes of the SIMD-group


class Meetings:
    """Who comes to each block of a kernel together."""

    def __init__(self, function: Function, variant: Variant, parted: bool) -> None:
        self._full = not variant.flat and variant.threads % SIMD_WIDTH == 0
        self._root, self._parted = function.entry.name, parted
        self._heads = lane_mask_heads(function, variant.size)
        dominators = dominator_tree(graph(function)) if self._heads else None
        wanted: dict[str, str] = {}
        for block in function.blocks:
            head = self._heads.get(block.name)
            if dominators is None or head is None or not any(self.meets(i) for i in block.instructions):
                continue
            if head == self._root:
                wanted[block.name] = ALL
            elif head != block.name and dominators.dominates(head, block.name):
                wanted[block.name] = head
        self.wanted = wanted  # whose lanes gather before what lanes do together in a block
        self.heads = frozenset(wanted.values()) - {ALL}  # blocks whose lanes are remembered

    def whole(self, block: str) -> bool:
        """Whether each SIMD-group has 32 lanes and all of them come to a block, or none."""
        return self._full and (not self._heads or self._heads.get(block) == self._root)

    def meets(self, i: Instruction) -> bool:
        if i.opcode != "call":
            return False
        return family(i.called) in AMONG or (self._parted and i.called == BARRIER)
