"""Values of one thread that are made alike of neighbours in memory: the products of two vectors' parts, in the order in
which memory has the parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.layout import DataLayout
from metalloid.ir.values import Local, Value

MOST = 16  # parts of one vector
DEEP = 8  # values in values that are compared


def runs(
    function: Function, block: Block, values: Iterable[Value], layout: DataLayout
) -> Iterator[tuple[Value, ...]]:
    """Values that are made alike, as runs: their loads are one element further from value to value. What is made
    of no loads of the block is in no run."""
    here = {i.name: i for i in block.body if i.name}
    alike: dict[object, list[tuple[int, Value]]] = {}
    for value in values:
        loads = loads_of(here, value)
        if not loads:
            continue
        places = [constant_base(function, i.operands[0], layout) for i in loads]
        elements = [offset // layout.store_size(i.type) for i, (_, offset) in zip(loads, places, strict=True)]
        apart = [(str(base), n - elements[0]) for (base, _), n in zip(places, elements, strict=True)]
        alike.setdefault((form(function, block, value), *apart), []).append((elements[0], value))
    for members in alike.values():
        yield from _without_gaps(sorted(members, key=lambda m: m[0]))


def _without_gaps(members: list[tuple[int, Value]]) -> Iterator[tuple[Value, ...]]:
    run: list[Value] = []
    before = members[0][0]
    for element, value in members:
        if run and element != before + 1:
            yield tuple(run)
            run = []
        run.append(value)
        before = element
    yield tuple(run)


def loads_of(here: dict[str, Instruction], value: Value) -> list[Instruction]:
    """The loads that a value is made of in a block, in the order of operands."""
    found: list[Instruction] = []
    seen: set[str] = set()

    def look(value: Value) -> None:
        if not isinstance(value, Local) or value.name in seen or value.name not in here:
            return
        seen.add(value.name)
        made = here[value.name]
        if made.opcode == "load":
            found.append(made)
            return
        for operand in made.operands:
            look(operand)

    look(value)
    return found


def form(function: Function, block: Block, value: Value, deep: int = 0) -> object:
    """How a value is made in its block: numbers that are made alike have equal forms."""
    if not isinstance(value, Local):
        return str(value.type)
    i = function.definitions.get(value.name)
    if i is None or function.home[value.name] != block.name or deep == DEEP or i.opcode in ("phi", "load"):
        return str(value.type), i.opcode if i is not None else ""
    return str(i.type), i.opcode, i.called, *(form(function, block, o, deep + 1) for o in i.operands)
