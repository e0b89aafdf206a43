"""Sums of the parts of vectors, part by part:  s += x[k] * y[k] + x[k + 1] * y[k + 1]  becomes  s0 += x[k] * y[k],
s1 += x[k + 1] * y[k + 1], and their total behind the loop.

Threads that run side by side have such vectors one behind the other in memory. Part by part they stay as they lie
there, and are added up once (`carried_vectors.py`); one by one, each has to be taken apart. Which sums these are is
said by their form, so all code of a kernel adds up in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.layout import DataLayout
from metalloid.ir.loops import LoopForest, loops
from metalloid.ir.values import Local, Value, const
from metalloid.records import dataclass, replace
from metalloid.transforms.folds import CHOOSES, again, starts_alike
from metalloid.transforms.memory_order import MOST, loads_of, runs
from metalloid.transforms.partial_sums import total_of
from metalloid.transforms.sum_trees import Chain, chains

IsRow = Callable[[Sequence[Instruction]], bool]


@dataclass(frozen=True)
class PartSum:
    """A sum of a block: its parts, as often as vectors are added; what else is added; and the loop's phi among it."""

    chain: Chain
    packs: tuple[tuple[Value, ...], ...]
    rest: tuple[Value, ...]
    carried: Instruction | None

    @property
    def count(self) -> int:
        return len(self.packs[0])


def with_sums_of_parts(function: Function, layout: DataLayout, is_row: IsRow) -> Function:
    """`is_row`: whether loads of one thread's neighbours lie beside those of other threads."""
    forest = loops(function)
    found = {
        s.chain.last.made.name: s
        for block, sums in chains(function)
        for chain in sums
        if (s := _part_sum(function, forest, block, chain, layout, is_row)) is not None
    }
    found = _without_meetings(function, found)
    if not found:
        return function
    return function.with_blocks(tuple(_written(function, block, found) for block in function.blocks))


def _part_sum(
    function: Function, forest: LoopForest, block: Block, chain: Chain, layout: DataLayout, is_row: IsRow
) -> PartSum | None:
    carried = _carried(function, forest, block, chain)
    if carried is None and chain.last.kind in CHOOSES:
        return None  # a comparison that chooses skips NaNs as long as what it begins with is none
    added = [v for v in chain.addends if carried is None or v != carried.value]
    packs = [p for p in _packs(function, block, added, layout) if _of_rows(block, p, is_row)]
    if not packs:
        return _of_phis(function, chain) if carried is None else None
    if any(_in_turn(function, block, p) for p in packs):
        return None
    count = len(packs[0])
    packs = [p for p in packs if len(p) == count]
    inside = {v for p in packs for v in p}
    rest = tuple(v for v in added if v not in inside)
    if carried is not None and rest:
        return None
    return PartSum(chain, tuple(packs), rest, carried)


def _packs(
    function: Function, block: Block, added: list[Value], layout: DataLayout
) -> Iterator[tuple[Value, ...]]:
    """Numbers that are made alike of neighbours, a power of two of them."""
    once = [value for value in added if added.count(value) == 1]
    for run in runs(function, block, once, layout):
        if 2 <= len(run) <= MOST and len(run) & (len(run) - 1) == 0:
            yield run


def _of_rows(block: Block, pack: tuple[Value, ...], is_row: IsRow) -> bool:
    here = {i.name: i for i in block.body if i.name}
    return any(is_row(loads) for loads in zip(*(loads_of(here, v) for v in pack), strict=True))


def _in_turn(function: Function, block: Block, pack: tuple[Value, ...]) -> bool:
    """Whether the parts are wanted one after the other as well, as in `dot(x, x)`, whose order is told: then vectors
    are taken apart in any case, and nothing is gained (a layer norm of rows of 100 took 1.17 times as long)."""
    names, work = set[str](), [v.name for v in pack if isinstance(v, Local)]
    while work:
        name = work.pop()
        if name not in names and function.home.get(name) == block.name:
            names.add(name)
            work += function.definitions[name].uses if function.definitions[name].opcode != "load" else ()
    users = (u for name in names for u in function.users.get(name, ()) if u.name not in names)
    return any(u.called.startswith("llvm.fma.") for u in users)


def _of_phis(function: Function, chain: Chain) -> PartSum | None:
    """The sum of all that one block gets: the parts of a vector that a loop before it carried."""
    made = [function.definitions.get(v.name) if isinstance(v, Local) else None for v in chain.addends]
    phis = [i for i in made if i is not None and i.opcode == "phi"]
    count, homes = len(phis), {function.home[i.name] for i in phis}
    if count < max(2, len(made)) or count & (count - 1) or len(homes) > 1 or count > MOST:
        return None
    order = [phi for phi in function.block[homes.pop()].phis if phi in phis]
    return PartSum(chain, (tuple(phi.value for phi in order),), (), None) if len(order) == count else None


def _carried(function: Function, forest: LoopForest, block: Block, chain: Chain) -> Instruction | None:
    """The phi of a loop that the sum is the next value of; nobody in the loop wants either."""
    root = chain.last.made
    for value in chain.addends:
        phi = function.definitions.get(value.name) if isinstance(value, Local) else None
        if phi is None or phi.opcode != "phi" or (root.value, block.name) not in phi.cases:
            continue
        home = function.home[phi.name]
        loop = forest.loops.get(home)
        if loop is None or loop.latches != (block.name,):
            continue
        links = {*chain.inner, root.name, *(i.name for i in chain.last.parts)}
        inside = [u for n in (phi.name, root.name) for u in function.users.get(n, ()) if u.name not in links]
        if all(u is phi or (u.opcode == "phi" and function.home[u.name] not in loop.blocks) for u in inside):
            return phi
    return None


def _without_meetings(function: Function, found: dict[str, PartSum]) -> dict[str, PartSum]:
    """Without carried sums of which several come to one phi."""
    of = {n: name for name, s in found.items() if s.carried is not None for n in (name, s.carried.name)}
    meetings = [
        {of[v.name] for v, _ in phi.cases if isinstance(v, Local) and v.name in of}
        for block in function.blocks
        for phi in block.phis
        if phi.name not in of
    ]
    meet = {name for names in meetings if len(names) > 1 for name in names}
    return {name: s for name, s in found.items() if name not in meet}


def _written(function: Function, block: Block, found: dict[str, PartSum]) -> Block:
    gone = {
        name for s in found.values() for name in (*s.chain.inner, *(i.name for i in s.chain.last.parts[:-1]))
    }
    carried = {s.carried.name: s for s in found.values() if s.carried is not None}
    brought = {**{name: s for name, s in found.items() if s.carried is not None}, **carried}
    code: list[Instruction] = []
    totals: list[Instruction] = []
    for i in block.instructions:
        if i.opcode == "phi" and (i.name in carried or (s := _brought(i, brought)) is not None):
            s = carried.get(i.name) or _brought(i, brought)
            assert s is not None
            parts = [_part(i, s, n, brought) for n in range(s.count)]
            code += parts
            if i.name not in carried:
                totals.append(_total(s, tuple(p.value for p in parts), i.name, i))
            continue
        if i.opcode != "phi" and totals:
            code += totals
            totals = []
        if i.name in found:
            code += _sum(found[i.name])
        elif i.name not in gone:
            code.append(i)
    return replace(block, instructions=tuple(code))


def _brought(phi: Instruction, brought: dict[str, PartSum]) -> PartSum | None:
    """The sum that some edge brings to a phi behind its loop."""
    return next((brought[v.name] for v, _ in phi.cases if isinstance(v, Local) and v.name in brought), None)


def _part(phi: Instruction, of: PartSum, n: int, brought: dict[str, PartSum]) -> Instruction:
    """A phi of one part. What is no such sum starts the first part; the others start with nothing."""
    operands: list[Value] = []
    for value in phi.operands:
        if isinstance(value, Local) and brought.get(value.name) is of:
            operands.append(Local(f"{value.name}.{n}", value.type))
        elif n == 0 or starts_alike(of.chain.last.kind):
            operands.append(value)
        else:
            operands.append(const(phi.type, -0.0))
    return replace(phi, name=f"{phi.name}.{n}", operands=tuple(operands))


def _sum(of: PartSum) -> list[Instruction]:
    """The sums of the parts; and where they are not carried, their total, and the rest."""
    last, code = of.chain.last, list[Instruction]()
    root = last.made

    def add(a: Value, b: Value, name: str) -> Value:
        code.extend(again(last, a, b, name))
        return code[-1].value

    made: Value
    sums: list[Value] = []
    for n in range(of.count):
        values = [pack[n] for pack in of.packs]
        made = values.pop(0) if of.carried is None else Local(f"{of.carried.name}.{n}", root.type)
        for k, value in enumerate(values):
            made = add(made, value, f"{root.name}.{n}" + f".{k}" * (k < len(values) - 1))
        sums.append(made)
    if of.carried is not None:
        return code
    code.append(_total(of, tuple(sums), f"{root.name}.total", root))
    result: Value = code[-1].value
    for k, value in enumerate(of.rest):
        result = add(value, result, f"{root.name}.rest{k}")
    return [*code[:-1], replace(code[-1], name=root.name)]


def _total(of: PartSum, parts: tuple[Value, ...], name: str, like: Instruction) -> Instruction:
    return total_of(of.chain.last.kind, like.type, parts, name, like)
