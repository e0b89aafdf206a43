"""Give every loop one way in.

A `switch` into the middle of a loop makes a cycle that can be entered at several blocks. What follows asks for the
iteration that a thread is in, and wants one block to count at. So all ways into such a cycle, and all ways back to its
entries, go through one new block that knows which entry was meant; ways forward stay as they are, so that threads that
entered at different places meet in the same iteration.

A value made inside the cycle still stands before its uses: an entry could be reached from outside without it already.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.ir.cfg import Graph, graph
from metalloid.ir.loops import loops
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.types import I32, VOID
from metalloid.ir.unreachable import drop_unreachable
from metalloid.ir.values import Int, Named, Value
from metalloid.records import dataclass, replace


def reducible(function: Function) -> Function:
    """The same function, all of whose loops are natural; the function itself where they are."""
    if not loops(function).irreducible:
        return function
    function = drop_unreachable(function)
    count = 0
    while found := _several_entries(graph(function)):
        function = _joined(function, *found, f"mt.enter{count}")
        count += 1
    return function


def _several_entries(cfg: Graph) -> tuple[frozenset[str], tuple[str, ...]] | None:
    """An outermost cycle with more than one entry, and those; None where there is none."""
    work = [frozenset(cfg.reverse_postorder)]
    while work:
        for cycle in _cycles(cfg, work.pop()):
            entries = tuple(
                b
                for b in cfg.reverse_postorder
                if b in cycle and any(p not in cycle for p in cfg.predecessors[b])
            )
            if len(entries) > 1:
                return cycle, entries
            work.append(cycle - set(entries))
    return None


def _cycles(cfg: Graph, inside: frozenset[str]) -> list[frozenset[str]]:
    """The strongly connected parts of these blocks that hold a cycle."""
    finished: list[str] = []
    seen: set[str] = set()
    for root in (b for b in cfg.reverse_postorder if b in inside):
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(cfg.successors[root]))]
        while stack:
            node, rest = stack[-1]
            target = next((t for t in rest if t in inside and t not in seen), None)
            if target is None:
                finished.append(node)
                stack.pop()
            else:
                seen.add(target)
                stack.append((target, iter(cfg.successors[target])))
    found: list[frozenset[str]] = []
    placed: set[str] = set()
    for root in reversed(finished):
        if root in placed:
            continue
        part, work = {root}, [root]
        while work:
            for source in cfg.predecessors[work.pop()]:
                if source in inside and source not in placed and source not in part:
                    part.add(source)
                    work.append(source)
        placed |= part
        if len(part) > 1 or root in cfg.successors[root]:
            found.append(frozenset(part))
    return found


def _joined(function: Function, cycle: frozenset[str], entries: tuple[str, ...], name: str) -> Function:
    """Lead the edges into the cycle, and those back to its entries, through a block called `name`.

    Those from inside meet before it: a loop with several ways back would be taken for several loops.
    """
    cfg = graph(function)
    place = {block: n for n, block in enumerate(cfg.reverse_postorder)}
    edges = [(source, entry) for entry in entries for source in cfg.predecessors[entry]]
    outside = [e for e in edges if e[0] not in cycle]
    inside = [e for e in edges if e[0] in cycle and place[e[1]] <= place[e[0]]]
    way = {edge: f"{name}.{n}" for n, edge in enumerate(outside + inside)}
    back = f"{name}.back"
    which = Instruction("phi", I32, name=f"{name}.which")
    joins = [_Join(which, {e: Int(I32, entries.index(e[1])) for e in way})]
    kept: dict[str, tuple[Instruction, ...]] = {}
    for entry in entries:
        made: list[Instruction] = []
        for phi in function.block[entry].phis:
            # One case per edge: a switch may come here by several of its own.
            forward = [(value, source) for value, source in phi.cases if (source, entry) not in way]
            taken = replace(phi, name=f"{phi.name}.in") if forward else phi
            led = {(source, entry): value for value, source in phi.cases if (source, entry) in way}
            joins.append(_Join(taken, led))
            if forward:
                values, sources = zip(*forward, strict=True)
                made.append(replace(phi, operands=(*values, taken.value), labels=(*sources, name)))
        kept[entry] = tuple(made)
    again = tuple(j.phi(inside, way, ".back") for j in joins)
    first = tuple(j.phi(outside, way, "", (back, b.value)) for j, b in zip(joins, again, strict=True))
    cases = tuple(Int(I32, n) for n in range(len(entries) - 1))
    choice = Instruction("switch", VOID, (which.value, *cases), labels=(entries[-1], *entries[:-1]))
    blocks: list[Block] = []
    for block in function.blocks:
        ways = {entry: way[block.name, entry] for entry in block.successors if (block.name, entry) in way}
        code = (*kept.get(block.name, block.phis), *block.body)
        blocks.append(Block(block.name, (*code[:-1], code[-1].relabel(ways))))
        target = back if block.name in cycle else name
        blocks += [Block(label, (_go(target),)) for label in ways.values()]
    blocks += [Block(back, (*again, _go(name))), Block(name, (*first, choice))]
    return function.with_blocks(tuple(blocks))


@dataclass(frozen=True)
class _Join:
    """A phi of an entry, and what the edges that are led elsewhere bring it."""

    like: Instruction
    values: Mapping[tuple[str, str], Value]

    def phi(
        self,
        edges: list[tuple[str, str]],
        way: Mapping[tuple[str, str], str],
        suffix: str,
        more: tuple[str, Value] | None = None,
    ) -> Instruction:
        none = Named(self.like.type, "poison")  # whoever goes to another entry does not read it
        cases = [(way[e], self.values.get(e, none)) for e in edges] + ([more] if more else [])
        return replace(
            self.like,
            name=self.like.name + suffix,
            operands=tuple(v for _, v in cases),
            labels=tuple(label for label, _ in cases),
        )


def _go(target: str) -> Instruction:
    return Instruction("br", VOID, labels=(target,))
