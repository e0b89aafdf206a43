"""What a branch that lanes take differently does to the blocks after it.

joins        blocks where lanes that parted meet again: their phis differ from lane to lane
loops        loops that some lanes leave while others stay
mask head       for each block, the first of the blocks that run under the same mask:
             where one of them runs, all lanes that run any of them run it together
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush

from metalloid.ir import Function
from metalloid.ir.cfg import EXIT, KEPT, Graph, graph, reversed_graph
from metalloid.ir.dominance import DominatorTree, dominator_tree
from metalloid.ir.loops import Loop, LoopForest, find_loops


class Flow:
    """The graph of a function and everything one asks about it."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.graph: Graph = graph(function)
        self.dominators: DominatorTree = dominator_tree(self.graph)
        self.forest: LoopForest = find_loops(self.graph, self.dominators)
        self.post: DominatorTree = dominator_tree(reversed_graph(self.graph))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Blocks, each after those that lead to it, the blocks of a loop side by side."""
        return _order(self.graph)

    @cached_property
    def place(self) -> dict[str, int]:
        """Of each block in that order."""
        return {name: n for n, name in enumerate(self.order)}

    def post_dominates(self, above: str, below: str) -> bool:
        return self.post.dominates(above, below)

    def goes_round(self, origin: str, starts: Iterable[str], stop: str) -> bool:
        """Whether some who go from `origin` to the starts get to `stop` only in another iteration of a loop around."""
        headers = {h for h in self.forest.nest(origin) if stop in self.forest.loops[h].blocks}
        return self.arrives(headers, starts, stop)

    def arrives(self, headers: set[str], starts: Iterable[str], without: str) -> bool:
        """Whether a way leads from one of the starts to one of the headers that does not pass `without`."""
        seen = {without}
        work = [s for s in starts if s not in seen] if headers else []
        while work:
            block = work.pop()
            if block in headers:
                return True
            if block not in seen:
                seen.add(block)
                work += self.graph.successors[block]
        return False


@lru_cache(maxsize=KEPT)
def _order(graph: Graph) -> tuple[str, ...]:
    forest = find_loops(graph, dominator_tree(graph))
    return tuple(_ordered(graph, forest, graph.root, frozenset(graph.reverse_postorder), None))


def _ordered(
    graph: Graph, forest: LoopForest, start: str, inside: frozenset[str], around: Loop | None
) -> Iterable[str]:
    """The blocks of a loop (or of all) from `start`, inner loops taken as one."""
    depth = around.depth if around else 0

    def unit(block: str) -> str:
        """The header of the loop directly inside `around` that has the block, or the block."""
        loop = forest.innermost.get(block)
        while loop and loop.depth > depth + 1:
            loop = forest.loops[loop.parent]
        return loop.header if loop and loop.depth == depth + 1 else block

    targets: dict[str, list[str]] = {}
    for block in (b for b in graph.reverse_postorder if b in inside):
        for target in graph.successors[block]:
            if target in inside and target != start and unit(target) != unit(block):
                targets.setdefault(unit(block), []).append(unit(target))
    seen, finished = {start}, []
    stack = [(start, iter(targets.get(start, ())))]
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(targets.get(target, ()))))
                break
        else:
            finished.append(node)
            stack.pop()
    for node in reversed(finished):
        loop = forest.loops.get(node)
        if loop and loop is not around:
            yield from _ordered(graph, forest, node, loop.blocks, loop)
        else:
            yield node


class Divergence:
    """The consequences of a set of divergent branches."""

    def __init__(self, flow: Flow, branches: frozenset[str]) -> None:
        self.flow, self.branches = flow, branches
        self.joins: set[str] = set()
        self.loops: set[str] = set()
        for block in branches:
            self._spread(block, self.flow.graph.successors[block])
        work = list(self.loops)
        while work:  # a loop that lanes leave by different doors is a branch too
            header = work.pop()
            known = set(self.loops)
            loop = flow.forest.loops[header]
            self._spread_from_loop(loop)
            work += self.loops - known

    def _spread(self, block: str, successors: Iterable[str]) -> None:
        """Label each way out of a branch; blocks that two labels reach are joins."""
        stop = self._meeting(block, self.flow.post.immediate[block], successors)
        labels: dict[str, str] = {}
        for target in successors:
            self._reach(block, block, target, target, labels)
        self._propagate(block, stop, labels)

    def _spread_from_loop(self, loop: Loop) -> None:
        labels: dict[str, str] = {}
        stop = self.flow.post.immediate[loop.header]
        while stop != EXIT and stop in loop.blocks:
            stop = self.flow.post.immediate[stop]
        stop = self._meeting(loop.header, stop, loop.exit_blocks)
        for inside, target in loop.exits:
            self._reach(loop.header, inside, target, target, labels)
            self.joins.add(target)  # lanes arrive in different iterations
        self._propagate(loop.header, stop, labels)

    def _meeting(self, origin: str, stop: str, starts: Iterable[str]) -> str:
        """`stop`, if all who part at `origin` get there in the same iteration of the loops around; else the exit."""
        return EXIT if self.flow.goes_round(origin, starts, stop) else stop

    def _reach(self, origin: str, source: str, target: str, label: str, labels: dict[str, str]) -> None:
        loop = self.flow.forest.loops.get(target)
        if loop and source in loop.blocks:
            if origin in loop.blocks:
                self.loops.add(target)  # some go round again, others do not
            return
        old = labels.get(target)
        if old is None:
            labels[target] = label
        elif old != label:
            labels[target] = target
            self.joins.add(target)

    def _propagate(self, origin: str, stop: str, labels: dict[str, str]) -> None:
        """In the order of the blocks; of thousands that a switch may have, only those with a label are looked at."""
        place = self.flow.place
        work = [place[block] for block in labels]
        heapify(work)
        while work:
            at = heappop(work)
            block = self.flow.order[at]
            if block == stop:
                continue
            for target in self.flow.graph.successors[block]:
                known = target in labels
                self._reach(origin, block, target, labels[block], labels)
                if not known and target in labels and place[target] > at:
                    heappush(work, place[target])

    @cached_property
    def mask_head(self) -> dict[str, str]:
        found: dict[str, str] = {self.flow.graph.root: self.flow.graph.root}
        for block in self.flow.order[1:]:
            above = self._above(block)
            same = block not in self.loops and self._together(above, block)
            found[block] = found[above] if same else block
        return found

    def _above(self, block: str) -> str:
        """The nearest dominator that is not in a divergent loop the block is outside of."""
        above = self.flow.dominators.immediate[block]
        while True:
            headers = [h for h in self.flow.forest.nest(above) if h in self.loops]
            left = [h for h in headers if block not in self.flow.forest.loops[h].blocks]
            if not left:
                return above
            above = self.flow.dominators.immediate[left[0]]

    def _together(self, above: str, block: str) -> bool:
        """Whether all lanes at `above` get to `block`, or none: lanes that part on the way meet on the way."""
        region, work = {above}, [block]
        while work:
            for source in self.flow.graph.predecessors[work.pop()]:
                if source not in region and not self.flow.dominators.dominates(block, source):
                    region.add(source)
                    work.append(source)
        immediate = self.flow.post.immediate
        parted = region & self.branches
        if not all(immediate[b] in region or immediate[b] == block for b in parted):
            return False
        return not parted or not self._next_round(parted, block)

    def _next_round(self, parted: set[str], block: str) -> bool:
        """Whether some of the lanes that part may get to `block` only in a later iteration of a loop around it."""
        headers = {h for h in self.flow.forest.nest(block) if h in self.loops}
        starts = {t for b in parted for t in self.flow.graph.successors[b]}
        return self.flow.arrives(headers, starts, block)
