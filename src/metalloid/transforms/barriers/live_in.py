"""Which blocks a region has, and which values it needs from before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from metalloid import deadline
from metalloid.ir import Block, Function
from metalloid.ir.values import Local
from metalloid.transforms.barriers.shared_tails import before


class Regions:
    """The regions of a function: from each start to blocks at whose end one stops, to go on with the region of
    that number."""

    def __init__(self, function: Function, starts: Sequence[str], stops: Mapping[str, int]) -> None:
        self.function, self.starts, self.stops = function, starts, stops

    def stops_at(self, block: str, start: str) -> bool:
        """Whether the region from `start` ends at a block: its own start it may come back to."""
        return block in self.stops and block != before(start)

    def successors(self, block: Block, start: str) -> tuple[str, ...]:
        return () if self.stops_at(block.name, start) else block.successors

    @cached_property
    def blocks(self) -> list[list[str]]:
        """Of each region, in the function's order."""
        return [self._blocks(start) for start in self.starts]

    def _blocks(self, start: str) -> list[str]:
        seen, work = {start}, [start]
        while work:
            for target in self.successors(self.function.block[work.pop()], start):
                if target not in seen:
                    seen.add(target)
                    work.append(target)
        return [b.name for b in self.function.blocks if b.name in seen]

    @cached_property
    def live(self) -> list[set[str]]:
        """What each region reads before it makes it."""
        return [self._live(n) for n in range(len(self.starts))]

    def _live(self, number: int) -> set[str]:
        start, names = self.starts[number], self.blocks[number]
        reads: dict[str, set[str]] = {}
        makes: dict[str, set[str]] = {}
        for name in names:
            reads[name], makes[name] = _read_and_made(self.function.block[name])
        live: dict[str, set[str]] = {name: set() for name in names}
        changed = True
        while changed:
            deadline.look()
            changed = False
            for name in reversed(names):
                out: set[str] = set()
                for target in self.successors(self.function.block[name], start):
                    out |= live[target]
                    for phi in self.function.block[target].phis:
                        out |= {v.name for v, source in phi.cases if source == name and isinstance(v, Local)}
                new = reads[name] | (out - makes[name])
                if new != live[name]:
                    live[name], changed = new, True
        return live[start]


def _read_and_made(block: Block) -> tuple[set[str], set[str]]:
    made: set[str] = set()
    read: set[str] = set()
    for i in block.instructions:
        if i.opcode != "phi":
            read |= {u for u in i.uses if u not in made}
        if i.name:
            made.add(i.name)
    return read, made
