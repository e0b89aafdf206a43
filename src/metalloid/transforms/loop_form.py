"""Loops as the vectoriser wants them: one block before, one way back, ways out to blocks of their own, and values that
leave through phis there (loop-closed SSA).

The method is that of LLVM's LoopSimplify and LCSSA, on the model: a trip through LLVM's text took longer.
"""

from __future__ import annotations

from collections.abc import Collection

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.loops import Loop, LoopForest, find_loops, loops
from metalloid.ir.ssa import Rewriter, Use
from metalloid.ir.types import VOID
from metalloid.ir.values import Local, Value
from metalloid.records import replace

MOST_PARTED = 8  # ways back of a loop that may be two loops with one header


def loop_form(function: Function) -> Function:
    """The function with its loops in that form; the function itself where it has none."""
    if not loops(function).loops:
        return function
    return close_loops(simplify_loops(function))


def simplify_loops(function: Function) -> Function:
    """One block before each loop, one way back, and exits that only the loop leads to."""
    edges = _Edges(function)
    forest = loops(function)
    bodies = {header: set(loop.blocks) for header, loop in forest.loops.items()}
    for header in sorted(bodies, key=lambda h: -forest.loops[h].depth):
        around = [bodies[h] for h in forest.nest(header)[:-1]]
        body = bodies[header]
        sources = [s for s in edges.sources(header) if s not in body]
        if len(sources) != 1 or edges.targets(sources[0]) != (header,):
            made = edges.lead(sources, header, f"{header}.preheader", ".ph")
            _join(made, around)
        for target in _exits(edges, body):
            inside = [s for s in edges.sources(target) if s in body]
            if len(inside) < len(edges.sources(target)):
                made = edges.lead(inside, target, f"{target}.loopexit", ".ph")
                _join(made, [b for b in around if target in b])
        latches = [s for s in edges.sources(header) if s in body]
        if len(latches) > 1:
            if outer := _outer_edges(edges, header, body, latches):
                edges.lead(outer, header, f"{header}.outer", ".ph")
                return simplify_loops(edges.function())
            made = edges.lead(latches, header, f"{header}.backedge", ".be")
            _join(made, [*around, body])
    return edges.function()


def _join(block: str, bodies: list[set[str]]) -> None:
    for body in bodies:
        body.add(block)


def _exits(edges: _Edges, body: set[str]) -> list[str]:
    inside = [name for name in edges.order if name in body]
    return list(dict.fromkeys(t for name in inside for t in edges.targets(name) if t not in body))


def _outer_edges(edges: _Edges, header: str, body: set[str], latches: list[str]) -> list[str]:
    """Two loops with one header, where a phi stays as it is on some ways back: the edges of the outer one.

    Not where lanes do something together inside: they would meet elsewhere.
    """
    code = (i for name in body for i in edges.blocks[name].instructions)
    if len(latches) >= MOST_PARTED or any(
        i.opcode == "call" and not i.called.startswith("llvm.") for i in code
    ):
        return []
    for phi in edges.blocks[header].phis:
        same = {label for value, label in phi.cases if label in body and value == phi.value}
        if same:
            return [s for s in edges.sources(header) if s not in same]
    return []


class _Edges:
    """Blocks whose edges are led elsewhere."""

    def __init__(self, function: Function) -> None:
        self.before = function
        self.blocks = dict(function.block)
        self.order = [b.name for b in function.blocks]
        self.names = {i.name for i in function.instructions() if i.name}
        self._sources: dict[str, list[str]] = {name: [] for name in self.order}
        for block in function.blocks:
            for target in block.successors:
                self._sources[target].append(block.name)

    def sources(self, block: str) -> list[str]:
        return self._sources[block]

    def targets(self, block: str) -> tuple[str, ...]:
        return self.blocks[block].successors

    def lead(self, sources: Collection[str], target: str, via: str, suffix: str) -> str:
        """Lead the edges from some blocks to another through a new one, which joins what they bring."""
        via = _fresh(via, self.blocks)
        for source in sources:
            code = self.blocks[source].instructions
            self.blocks[source] = Block(source, (*code[:-1], code[-1].relabel({target: via})))
        made: list[Instruction] = []
        kept: list[Instruction] = []
        block = self.blocks[target]
        for phi in block.phis:
            led = [(v, s) for v, s in phi.cases if s in sources]
            value: Value = led[0][0]
            if any(v != value for v, _ in led):
                name = _fresh(f"{phi.name}{suffix}", self.names)
                self.names.add(name)
                made.append(_phi(phi, led, name))
                value = made[-1].value
            kept.append(_phi(phi, [*(c for c in phi.cases if c[1] not in sources), (value, via)], phi.name))
        debug = block.body[0].debug_only
        self.blocks[target] = Block(target, (*kept, *block.body))
        self.blocks[via] = Block(via, (*made, Instruction("br", VOID, labels=(target,), metadata=debug)))
        self.order.insert(self.order.index(target), via)
        self._sources[via] = list(sources)
        self._sources[target] = [*(s for s in self._sources[target] if s not in sources), via]
        return via

    def function(self) -> Function:
        return self.before.with_blocks(tuple(self.blocks[name] for name in self.order))


def _phi(like: Instruction, cases: list[tuple[Value, str]], name: str) -> Instruction:
    values, labels = tuple(v for v, _ in cases), tuple(s for _, s in cases)
    return replace(like, name=name, operands=values, labels=labels)


def _fresh(name: str, taken: Collection[str]) -> str:
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}{count}"
    return found


# ---- loop-closed SSA ------------------------------------------------------------------------------------------------


def close_loops(function: Function) -> Function:
    """Values that are used behind a loop go through phis at its exits."""
    forest = loops(function)
    if not forest.loops:
        return function
    home = {name: block for name, block in function.home.items() if block in forest.innermost}
    rewriter = Rewriter(function, home)
    forest = find_loops(rewriter.tree.graph, rewriter.tree)
    place = {block: n for n, block in enumerate(rewriter.tree.graph.reverse_postorder)}
    for name, block in sorted(home.items(), key=lambda item: -place[item[1]]):  # phis stand in LLVM's order
        _close(rewriter, forest, function.definitions[name].value, block)
    return rewriter.function()


def _close(rewriter: Rewriter, forest: LoopForest, value: Local, home: str) -> None:
    """Lead the uses of a value that lie outside its loop through phis, and those through the loops around it."""
    loop = forest.innermost.get(home)
    if loop is None:
        return
    outside = [u for u in rewriter.uses[value.name] if u.block not in loop.blocks]
    if not outside:
        return
    rewriter.uses[value.name] = [u for u in rewriter.uses[value.name] if u.block in loop.blocks]
    made = _at_exits(rewriter, loop, value, home, outside)
    joins = rewriter.join(f"{value.name}.lcssa", value.type, made, outside)
    for block, phi in made.items():
        _close(rewriter, forest, phi, block)
    for block, phi in joins.items():
        _close(rewriter, forest, phi, block)


def _at_exits(rewriter: Rewriter, loop: Loop, value: Local, home: str, uses: list[Use]) -> dict[str, Local]:
    """A phi at each exit that the value gets to and somebody reads it behind."""
    tree = rewriter.tree
    behind = {u.block for u in uses}
    work = list(behind)
    while work:
        for source in tree.graph.predecessors[work.pop()]:
            if source not in behind and source not in loop.blocks:
                behind.add(source)
                work.append(source)
    found: dict[str, Local] = {}
    for block in loop.exit_blocks:
        if block in behind and tree.dominates(home, block):
            cases = [(value, source) for source in tree.graph.predecessors[block]]
            found[block] = rewriter.add_phi(block, f"{value.name}.lcssa", value.type, cases)
    return found
