"""Long sums of a block, as several side by side:  a0 + b0 + a1 + b1 + ...  becomes  (a0 + b0) + (a1 + b1) ...

An unrolled loop leaves one sum of many numbers, each made like the others. Where the author lets sums be reordered
and a lane runs alone, numbers that are made alike fill registers, in the order in which they are made. As with loops
(`partial_sums.py`), LLVM would choose an order that depends on what else stands there; this one depends on the sum.
The greatest and the least of many (`folds.py`) are sums here, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import FLOAT, HALF
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass, replace
from metalloid.transforms.folds import Step, again, step_of
from metalloid.transforms.memory_order import form
from metalloid.transforms.partial_sums import total_of

LEAST = 8  # numbers made alike
_MAKES = ("fadd", "call", "select")


@dataclass(frozen=True)
class Sum:
    """A long sum of a block: its last addition, the names of the instructions before it, numbers that are made alike,
    in the order in which they are made, and the rest."""

    last: Step
    inner: frozenset[str]
    groups: tuple[tuple[Value, ...], ...]
    rest: tuple[Value, ...]

    @property
    def root(self) -> Instruction:
        return self.last.made

    def count(self, most: int) -> int:
        """As how many sums it is written, at most so many."""
        return min(most, 1 << (max(map(len, self.groups)).bit_length() - 1))


def split_trees(function: Function, most: int, chosen: Container[str] | None = None) -> Function:
    """The function with each long sum as at most so many; `chosen`: only those, by their last additions."""
    blocks = []
    for block, sums in long_sums(function):
        wanted = [s for s in sums if chosen is None or s.root.name in chosen]
        made = {s.root.name: _side_by_side(s, most) for s in wanted}
        gone = {name for s in wanted for name in s.inner}
        code = [new for i in block.instructions if i.name not in gone for new in made.get(i.name, [i])]
        blocks.append(replace(block, instructions=tuple(code)) if made else block)
    return function.with_blocks(tuple(blocks))


@dataclass(frozen=True)
class Chain:
    """Additions that are only there for the last of them; what they add up; and the names of those before the last."""

    last: Step
    addends: tuple[Value, ...]
    inner: frozenset[str]


def chains(function: Function) -> Iterator[tuple[Block, list[Chain]]]:
    """All sums of each block whose order is not the author's."""
    uses = Counter(name for i in function.instructions() for name in i.uses)
    for block in function.blocks:
        sums = {i.name: step for i in block.instructions if (step := _step(function, i)) is not None}
        inner = {
            o.name
            for step in sums.values()
            for o in step.numbers
            if isinstance(o, Local) and o.name in sums and _belongs(sums[o.name], step, uses)
        }
        found = []
        for name in sums:
            if name not in inner:
                addends, nodes = _addends(sums, inner, sums[name])
                found.append(Chain(sums[name], tuple(addends), frozenset(nodes)))
        yield block, found


def long_sums(function: Function) -> Iterator[tuple[Block, list[Sum]]]:
    """The long sums of each block."""
    for block, found in chains(function):
        sums = (_sum(function, block, chain) for chain in found)
        yield block, [made for made in sums if made is not None]


def _step(function: Function, i: Instruction) -> Step | None:
    return step_of(function, i) if i.opcode in _MAKES and i.type in (FLOAT, HALF) else None


def _belongs(inner: Step, outer: Step, uses: Counter[str]) -> bool:
    """Whether a sum is only there for another of its kind."""
    return inner.kind == outer.kind and uses[inner.made.name] == len(outer.parts)


def _sum(function: Function, block: Block, chain: Chain) -> Sum | None:
    """A sum, if there is enough in it that is made alike."""
    if len(chain.addends) < LEAST:
        return None
    alike: dict[object, list[Value]] = {}
    places = {i.name: n for n, i in enumerate(block.instructions)}
    for value in sorted(chain.addends, key=lambda v: places.get(v.name, -1) if isinstance(v, Local) else -1):
        alike.setdefault(form(function, block, value), []).append(value)
    groups = tuple(tuple(g) for g in alike.values() if len(g) >= LEAST)
    rest = tuple(v for g in alike.values() if len(g) < LEAST for v in g)
    return Sum(chain.last, chain.inner, groups, rest) if groups else None


def _addends(sums: dict[str, Step], inner: set[str], root: Step) -> tuple[list[Value], set[str]]:
    """What a sum adds up, and the instructions in it."""
    found: list[Value] = []
    nodes = {i.name for i in root.parts[:-1]}
    work = list(root.numbers)
    while work:
        value = work.pop()
        if isinstance(value, Local) and value.name in inner:
            nodes |= {i.name for i in sums[value.name].parts}
            work += sums[value.name].numbers
        else:
            found.append(value)
    return found, nodes


def _side_by_side(found: Sum, most: int) -> list[Instruction]:
    """The sum as many, and their total; what is made unlike the rest is added to it."""
    root, code = found.root, list[Instruction]()

    def add(a: Value, b: Value) -> Value:
        code.extend(again(found.last, a, b, f"{root.name}.s{len(code)}"))
        return code[-1].value

    count = found.count(most)
    slots: list[Value | None] = [None] * count
    for group in found.groups:
        for n, value in enumerate(group):
            before = slots[n % count]
            slots[n % count] = value if before is None else add(before, value)
    parts = tuple(slot for slot in slots if slot is not None)
    code.append(total_of(found.last.kind, root.type, parts, f"{root.name}.total", root))
    result: Value = code[-1].value
    for value in found.rest:
        result = add(value, result)
    return [*code[:-1], replace(code[-1], name=root.name)]
