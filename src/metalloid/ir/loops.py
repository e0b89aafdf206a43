"""Natural loops and how they nest.

A loop is a header and every block that can return to it without leaving
what the header dominates. Loops that share a header are one loop. A cycle with
two ways in is no natural loop: it is reported as irreducible.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache

from metalloid.ir.cfg import KEPT, Graph, graph
from metalloid.ir.dominance import DominatorTree, dominator_tree
from metalloid.ir.module import Function
from metalloid.records import dataclass


@dataclass(frozen=True)
class Loop:
    header: str
    blocks: frozenset[str]  # the header and inner loops included
    latches: tuple[str, ...]  # blocks that jump back to the header
    exits: tuple[tuple[str, str], ...]  # (block inside, block outside)
    parent: str = ""  # header of the loop around it
    depth: int = 1  # 1 for an outermost loop

    @property
    def exit_blocks(self) -> tuple[str, ...]:
        """The blocks outside that the loop can go to, each once."""
        return tuple(dict.fromkeys(outside for _, outside in self.exits))


@dataclass(frozen=True)
class LoopForest:
    """All loops of a function, outer before inner."""

    loops: Mapping[str, Loop]  # by header
    irreducible: tuple[tuple[str, str], ...] = ()  # edges that go back without dominance

    @cached_property
    def innermost(self) -> Mapping[str, Loop]:
        """The smallest loop around each block that is in one."""
        found: dict[str, Loop] = {}
        for loop in self.loops.values():
            for name in loop.blocks:
                found[name] = loop
        return found

    def depth(self, block: str) -> int:
        loop = self.innermost.get(block)
        return loop.depth if loop else 0

    def nest(self, block: str) -> tuple[str, ...]:
        """Headers of the loops around a block, outermost first."""
        found: list[str] = []
        loop = self.innermost.get(block)
        while loop:
            found.append(loop.header)
            loop = self.loops.get(loop.parent)
        return tuple(reversed(found))


def loops(function: Function) -> LoopForest:
    """The loops of a function."""
    cfg = graph(function)
    return find_loops(cfg, dominator_tree(cfg))


@lru_cache(maxsize=KEPT)
def find_loops(cfg: Graph, tree: DominatorTree) -> LoopForest:
    latches: dict[str, list[str]] = {}
    irreducible = []
    order = {name: n for n, name in enumerate(cfg.reverse_postorder)}
    for source in cfg.reverse_postorder:
        for target in cfg.successors[source]:
            if tree.dominates(target, source):
                latches.setdefault(target, []).append(source)
            elif order[target] <= order[source]:
                irreducible.append((source, target))
    bodies = {header: _body(cfg, header, sources) for header, sources in latches.items()}
    found: dict[str, Loop] = {}
    for header in sorted(bodies, key=lambda h: -len(bodies[h])):  # an outer loop is larger
        around = [loop for loop in found.values() if header in loop.blocks]
        parent = min(around, key=lambda loop: len(loop.blocks), default=None)
        body = bodies[header]
        inside = [n for n in cfg.reverse_postorder if n in body]
        found[header] = Loop(
            header,
            body,
            tuple(latches[header]),
            tuple((n, t) for n in inside for t in cfg.successors[n] if t not in body),
            parent.header if parent else "",
            parent.depth + 1 if parent else 1,
        )
    return LoopForest(found, tuple(irreducible))


def _body(cfg: Graph, header: str, latches: list[str]) -> frozenset[str]:
    body = {header}
    work = list(latches)
    while work:
        node = work.pop()
        if node not in body:
            body.add(node)
            work.extend(cfg.predecessors[node])
    return frozenset(body)
