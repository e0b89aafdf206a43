"""Which lanes of a warp do something together, as a mask that each block can name.

A GPU lets lanes that parted run apart for as long as it likes, and what is active at an instruction says little. Scalar
IR says that lanes at the same call, in the same iteration, take part together. So a block has the mask of the first
block that the same lanes came to (its head); a head behind a branch has those lanes of the mask before it that went
there, found by a vote, which makes them wait for each other. The head of a loop that lanes leave one by one has those
who enter it, and then those of its own who go round again. Only other heads that several ways lead to have to take the
lanes that are there.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalloid.analysis.barrier_arrival import lane_mask_heads
from metalloid.backends.base import SIMD_WIDTH
from metalloid.backends.cuda.variant import Variant
from metalloid.ir import Function, Instruction
from metalloid.ir.cfg import graph
from metalloid.ir.dominance import dominator_tree
from metalloid.ir.intrinsics import BARRIER, family

AMONG = ("collective", "simd barrier", "matrix product")  # what lanes do together


@dataclass(frozen=True)
class Vote:
    """How the mask of a head is found: lanes of the mask of `before` whose branch goes there."""

    before: str  # the block that ends with the branch
    taken: bool  # whether the condition leads to the head, or its opposite


@dataclass(frozen=True)
class Rounds:
    """How the mask of a loop's head is found: lanes that come from `before`, and those of the head at the `latch`."""

    before: str
    latch: str


class Meetings:
    """The masks of a kernel's blocks."""

    def __init__(self, function: Function, variant: Variant, parted: bool) -> None:
        self.full = not variant.flat and variant.threads % SIMD_WIDTH == 0
        self._parted, self._function = parted, function
        self._root = function.entry.name
        self._heads = lane_mask_heads(function, variant.size)
        self._flow = graph(function)
        self._dominators = dominator_tree(self._flow) if self._heads else None
        self.votes: dict[str, Vote | None] = {}  # heads that need a mask; None: the lanes that are there
        self.rounds: dict[str, Rounds] = {}
        for block in function.blocks:
            if any(self.meets(i) for i in block.instructions):
                self._want(block.name)

    def head(self, block: str) -> str | None:
        """The head whose mask a block has; "" where it is that of all lanes, None where nobody knows."""
        if not self._heads:
            return ""
        head = self._heads.get(block)
        if head is None or self._dominators is None or not self._dominators.dominates(head, block):
            return None
        return "" if head == self._root else head

    def _want(self, block: str) -> None:
        head = self.head(block)
        if not head or head in self.votes:
            return
        self.votes[head] = vote = self._vote(head)
        if vote is not None:
            self._want(vote.before)
        elif (rounds := self._rounds(head)) is not None:
            self.rounds[head] = rounds
            self._want(rounds.before)

    def _vote(self, head: str) -> Vote | None:
        before = set(self._flow.predecessors[head])
        if len(before) != 1:
            return None
        (source,) = before
        labels = self._function.block[source].terminator.labels
        if len(labels) != 2 or labels[0] == labels[1] or self.head(source) is None:
            return None
        return Vote(source, labels[0] == head)

    def _rounds(self, head: str) -> Rounds | None:
        """For loops that all lanes of a round leave, or go round again, at one place."""
        inside = [b for b in self._flow.predecessors[head] if self.head(b) == head]
        outside = [b for b in self._flow.predecessors[head] if self.head(b) != head]
        if len(inside) != 1 or len(outside) != 1 or self.head(outside[0]) is None:
            return None
        ends = (self._function.block[b].terminator.labels for b in (*inside, *outside))
        return Rounds(outside[0], inside[0]) if all(0 < len(set(e)) == len(e) < 3 for e in ends) else None

    def into(self, block: str) -> list[tuple[str, bool | None]]:
        """Heads of loops that lanes may go to from the end of a block, and the condition for it; None: all of them."""
        labels = self._function.block[block].terminator.labels
        return [
            (head, labels[0] == head if len(labels) == 2 else None)
            for head, rounds in self.rounds.items()
            if block in (rounds.before, rounds.latch)
        ]

    def after(self, block: str) -> list[str]:
        """Heads whose masks are found by a vote at the end of a block."""
        return [head for head, vote in self.votes.items() if vote is not None and vote.before == block]

    def meets(self, i: Instruction) -> bool:
        if i.opcode != "call":
            return False
        return family(i.called) in AMONG or (self._parted and i.called == BARRIER)
