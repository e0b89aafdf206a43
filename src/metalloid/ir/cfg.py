"""The control-flow graph of a function, by the names of its blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from metalloid.ir.module import Function
from metalloid.records import dataclass

Edges = Mapping[str, tuple[str, ...]]
KEPT = 8  # graphs: those of a kernel on its way through the passes


@dataclass(frozen=True, eq=False)
class Graph:
    """A rooted directed graph; `successors` has an entry for every node. It is equal to itself alone."""

    root: str
    successors: Edges

    @cached_property
    def predecessors(self) -> Edges:
        found: dict[str, list[str]] = {name: [] for name in self.successors}
        for source, targets in self.successors.items():
            for target in targets:
                found[target].append(source)
        return {name: tuple(sources) for name, sources in found.items()}

    @cached_property
    def postorder(self) -> tuple[str, ...]:
        """Reachable nodes, each after everything that follows it (loops aside)."""
        order: list[str] = []
        seen = {self.root}
        stack = [(self.root, iter(self.successors[self.root]))]
        while stack:
            node, rest = stack[-1]
            for target in rest:
                if target not in seen:
                    seen.add(target)
                    stack.append((target, iter(self.successors[target])))
                    break
            else:
                order.append(node)
                stack.pop()
        return tuple(order)

    @cached_property
    def reverse_postorder(self) -> tuple[str, ...]:
        """Reachable nodes, each before everything that follows it (loops aside)."""
        return self.postorder[::-1]

    @cached_property
    def exits(self) -> tuple[str, ...]:
        """Reachable nodes with nowhere to go."""
        return tuple(n for n in self.reverse_postorder if not self.successors[n])

    def reachable_from(self, start: str) -> frozenset[str]:
        """Nodes that some path of at least one step leads to."""
        seen: set[str] = set()
        work = list(self.successors[start])
        while work:
            node = work.pop()
            if node not in seen:
                seen.add(node)
                work.extend(self.successors[node])
        return frozenset(seen)


def graph(function: Function) -> Graph:
    """The graph of a function's blocks. A pass that leaves branches alone leaves the same graph, and what is known of
    it (`dominator_tree`, `find_loops`): a gemm of MLX asks 72 times for a dominator tree, and 22 are made."""
    return _graph(tuple([(b.name, b.successors) for b in function.blocks]))


@lru_cache(maxsize=KEPT)
def _graph(edges: tuple[tuple[str, tuple[str, ...]], ...]) -> Graph:
    return Graph(edges[0][0], dict(edges))


EXIT = "<exit>"


@lru_cache(maxsize=KEPT)
def reversed_graph(forward: Graph) -> Graph:
    """The same graph with edges turned round, from one node after all exits.

    Blocks that cannot reach an exit (an endless loop) are joined to it by way
    of the last block of the loop, so that every reachable block has a post-dominator.
    """
    edges: dict[str, list[str]] = {n: [] for n in forward.reverse_postorder}
    for node in forward.reverse_postorder:
        for target in forward.successors[node]:
            edges[target].append(node)
    roots = list(forward.exits)
    seen = closure(edges, roots)
    for node in forward.postorder:
        if node not in seen:
            roots.append(node)
            seen |= closure(edges, [node])
    return Graph(EXIT, {EXIT: tuple(roots), **{n: tuple(t) for n, t in edges.items()}})


def closure(edges: Mapping[str, Sequence[str]], roots: Sequence[str]) -> set[str]:
    seen = set(roots)
    work = list(roots)
    while work:
        for target in edges[work.pop()]:
            if target not in seen:
                seen.add(target)
                work.append(target)
    return seen
