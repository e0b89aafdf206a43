"""Who dominates whom.

A block dominates another when every path from the entry to the other goes
through it. Post-dominance is the same on the reversed graph, from `cfg.EXIT`.
The method is the iterative one of Cooper, Harvey and Kennedy: intersect the
dominators of the predecessors, in reverse post-order, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache

from metalloid.ir.cfg import KEPT, Graph, graph, reversed_graph
from metalloid.ir.module import Function
from metalloid.records import dataclass


@dataclass(frozen=True, eq=False)
class DominatorTree:
    """Immediate dominators; the root is its own."""

    graph: Graph
    immediate: Mapping[str, str]

    @property
    def root(self) -> str:
        return self.graph.root

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {n: [] for n in self.graph.reverse_postorder}
        for node in self.graph.reverse_postorder:
            if node != self.root:
                found[self.immediate[node]].append(node)
        return {n: tuple(c) for n, c in found.items()}

    @cached_property
    def _interval(self) -> Mapping[str, tuple[int, int]]:
        """When a walk of the tree enters and leaves each node."""
        entered: dict[str, int] = {}
        interval: dict[str, tuple[int, int]] = {}
        stack, clock = [(self.root, False)], 0
        while stack:
            node, leaving = stack.pop()
            if leaving:
                interval[node] = (entered[node], clock)
            else:
                entered[node] = clock
                stack.append((node, True))
                stack.extend((child, False) for child in self.children[node])
            clock += 1
        return interval

    def dominates(self, above: str, below: str) -> bool:
        """True also of a block and itself; False where either is unreachable."""
        if above not in self._interval or below not in self._interval:
            return False
        (start, end), (first, last) = self._interval[above], self._interval[below]
        return start <= first and last <= end

    def nearest(self, left: str, right: str) -> str:
        """The lowest block that dominates both."""
        while not self.dominates(left, right):
            left = self.immediate[left]
        return left

    @cached_property
    def frontier(self) -> Mapping[str, frozenset[str]]:
        """For each block, where its dominance ends: blocks it does not strictly dominate,
        but one of whose predecessors it dominates."""
        found: dict[str, set[str]] = {n: set() for n in self.immediate}
        for node in self.immediate:
            sources = [p for p in self.graph.predecessors[node] if p in self.immediate]
            stop = self.immediate[node] if node != self.root else None
            if len(sources) < 2 and node != self.root:
                continue
            for runner in sources:
                while runner != stop:
                    found[runner].add(node)
                    if runner == self.root:
                        break
                    runner = self.immediate[runner]
        return {n: frozenset(f) for n, f in found.items()}


@lru_cache(maxsize=2 * KEPT)  # of graphs, and of them turned round
def dominator_tree(graph: Graph) -> DominatorTree:
    order = {name: n for n, name in enumerate(graph.reverse_postorder)}
    immediate = {graph.root: graph.root}
    changed = True
    while changed:
        changed = False
        for node in graph.reverse_postorder[1:]:
            known = [p for p in graph.predecessors[node] if p in immediate]
            best = known[0]
            for other in known[1:]:
                best = _intersect(best, other, immediate, order)
            if immediate.get(node) != best:
                immediate[node] = best
                changed = True
    return DominatorTree(graph, immediate)


def _intersect(left: str, right: str, immediate: Mapping[str, str], order: Mapping[str, int]) -> str:
    while left != right:
        while order[left] > order[right]:
            left = immediate[left]
        while order[right] > order[left]:
            right = immediate[right]
    return left


def dominators(function: Function) -> DominatorTree:
    return dominator_tree(graph(function))


def post_dominators(function: Function) -> DominatorTree:
    return dominator_tree(reversed_graph(graph(function)))
