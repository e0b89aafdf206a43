"""Where a thread is in a run of the program, as a key that can be compared.

The key lists, for each loop around the block, the loop's place and the iteration; then the
block's place and the instruction's. Places are positions in reverse post-order.

LLVM may give two nested loops one header:

    H -> B -> H        inner loop
    H -> O -> H        rest of the outer loop, which O leaves

That looks like one loop with a `continue` in B. It is taken for two where a block after H
cannot be avoided on the way out (O post-dominates H), yet B goes back to H without passing it:
then lanes that reach O wait there for those that still go round through B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalloid.ir.cfg import EXIT, Graph, graph
from metalloid.ir.dominance import DominatorTree, dominator_tree, post_dominators
from metalloid.ir.loops import Loop, find_loops
from metalloid.ir.module import Function

Key = tuple[int, ...]


@dataclass(frozen=True)
class Level:
    """One loop: of those that share a header, the one that these latches repeat."""

    header: str
    blocks: frozenset[str]
    latches: frozenset[str]


@dataclass(frozen=True)
class Nesting:
    """The loops of a function, ready for counting iterations."""

    order: Mapping[str, int]  # place of each block
    around: Mapping[str, tuple[Level, ...]]  # loops around each block, outermost first
    headed: Mapping[str, tuple[Level, ...]]  # loops by header, outermost first


@dataclass
class Progress:
    """The iterations one thread is in."""

    nesting: Nesting
    iterations: dict[Level, int] = field(default_factory=dict)

    def enter(self, block: str, previous: str) -> None:
        """Count: a latch begins the next iteration of its loop and starts inner ones anew."""
        levels = self.nesting.headed.get(block, ())
        repeats = next((n for n, level in enumerate(levels) if previous in level.latches), -1)
        for number, level in enumerate(levels):
            if number == repeats:
                self.iterations[level] += 1
            elif number > repeats:
                self.iterations[level] = 0

    def key(self, block: str, instruction: int) -> Key:
        order, parts = self.nesting.order, []
        for level in self.nesting.around[block]:
            parts += [order[level.header], self.iterations[level]]
        return (*parts, order[block], instruction)


def nesting(function: Function) -> Nesting:
    cfg = graph(function)
    after = post_dominators(function)
    forest = find_loops(cfg, dominator_tree(cfg))
    headed = {header: _levels(cfg, loop, after) for header, loop in forest.loops.items()}
    every = [level for levels in headed.values() for level in levels]
    every.sort(key=lambda level: -len(level.blocks))
    around = {name: tuple(v for v in every if name in v.blocks) for name in cfg.successors}
    return Nesting({name: n for n, name in enumerate(cfg.reverse_postorder)}, around, headed)


def _levels(cfg: Graph, loop: Loop, after: DominatorTree) -> tuple[Level, ...]:
    """The loops that share this header, outermost first."""
    bodies = {latch: _body(cfg, loop.header, latch) for latch in loop.latches}
    trunk = _trunk(loop, after)
    passed = {latch: sum(block in body for block in trunk) for latch, body in bodies.items()}
    levels = []
    for depth in sorted(set(passed.values()), reverse=True):
        blocks = frozenset().union(*(bodies[latch] for latch, n in passed.items() if n <= depth))
        levels.append(Level(loop.header, blocks, frozenset(la for la, n in passed.items() if n == depth)))
    return tuple(levels)


def _body(cfg: Graph, header: str, latch: str) -> frozenset[str]:
    """The blocks that can reach the latch without passing the header, and the header."""
    body, work = {header}, [latch]
    while work:
        node = work.pop()
        if node not in body:
            body.add(node)
            work.extend(cfg.predecessors[node])
    return frozenset(body)


def _trunk(loop: Loop, after: DominatorTree) -> list[str]:
    """The blocks of the loop that every way out passes after the header."""
    found, block = [], after.immediate[loop.header]
    while block != EXIT and block in loop.blocks:
        found.append(block)
        block = after.immediate[block]
    return found
