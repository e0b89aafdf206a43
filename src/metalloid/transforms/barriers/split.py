"""Split a kernel at its barriers.

A region is the code from the start, or from a barrier, to the next barriers or the end. All gangs of a
threadgroup run one region before any runs the next; each says where it stopped, and they must agree. That holds
for barriers in loops and branches of any shape, and finds out where not all threads get to the same one.

Values that live across a barrier are kept in slots; addresses and the like are computed again instead. Where lanes
differ by multiples of a uniform value (a row's length, say), that value is kept as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from metalloid.errors import NotVectorised
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.intrinsics import BARRIER, STATE, reload_name, spill_name
from metalloid.ir.reducible import reducible
from metalloid.ir.types import I32, VOID, Type
from metalloid.ir.unreachable import drop_unreachable
from metalloid.records import dataclass, replace
from metalloid.transforms.barriers.iteration_counters import count_iterations
from metalloid.transforms.barriers.live_in import Regions
from metalloid.transforms.barriers.outline import Coefficients, Plan, Slot, Writer, kept_name
from metalloid.transforms.barriers.shared_tails import Varies, before, shared_tails, with_shared_tails
from metalloid.transforms.canonicalize import checked
from metalloid.transforms.drop_dead import drop_dead
from metalloid.transforms.loop_form import loop_form

MOST_INSTRUCTIONS = 100_000  # of all regions: 400,000 lines of vector code


@dataclass(frozen=True)
class Split:
    """The regions, the first from the entry; region n+1 starts behind barrier n, the last ones at shared tails."""

    functions: tuple[Function, ...]
    barriers: tuple[Instruction, ...]
    slots: tuple[Slot, ...]
    rounds: bool = False  # whether barriers tell the iteration too


def split(
    function: Function,
    coefficients: Coefficients = lambda value: frozenset(),
    varies: Varies = lambda value: True,
) -> Split:
    """All regions of a function. State 0 is the end; state n, the start of region n.

    `coefficients` names the uniform values that a value's differences between lanes are multiples of.
    """
    cut, barriers = _cut_blocks(function)
    starts = [cut.entry.name, *(after for after, _ in barriers)]
    stops = {before: n + 1 for n, (after, _) in enumerate(barriers) for before in [_before(cut, after)]}
    cut, rounds = count_iterations(cut, stops)
    met = shared_tails(cut, starts, stops, varies)
    cut = with_shared_tails(cut, met)
    for name in met:
        stops[before(name)] = len(starts)
        starts.append(name)
    plan = Plan(_bounded(Regions(cut, starts, stops)), rounds, coefficients)
    functions = tuple(Writer(plan, n).write() for n in range(len(starts)))
    return Split(functions, tuple(i for _, i in barriers), tuple(plan.slots.values()), bool(rounds))


def _bounded(regions: Regions) -> Regions:
    """Refused where the regions hold the same code so often that nobody would wait for it: hundreds of barriers under
    conditions in one loop, each of which may be the next."""
    sizes = {b.name: len(b.instructions) for b in regions.function.blocks}
    total = sum(sizes[name] for blocks in regions.blocks for name in blocks)
    if total > MOST_INSTRUCTIONS and total > 8 * sum(sizes.values()):
        raise NotVectorised(
            f"[engine] {len(regions.starts) - 1} barriers that may follow one another in any order become {total:,}"
            " instructions.\n  hint: put the barrier behind the `if`, where all ways meet"
        )
    return regions


def _cut_blocks(function: Function) -> tuple[Function, list[tuple[str, Instruction]]]:
    """Blocks end at barriers. Returns (name of the block behind, barrier) for each."""
    blocks: list[Block] = []
    last: dict[str, str] = {}
    barriers: list[tuple[str, Instruction]] = []
    for block in function.blocks:
        name, code = block.name, []
        for i in block.instructions:
            code.append(i)
            if i.called == BARRIER:
                after = f"{block.name}.after{len(barriers)}"
                blocks.append(Block(name, (*code[:-1], Instruction("br", VOID, labels=(after,)))))
                barriers.append((after, i))
                name, code = after, []
        blocks.append(Block(name, tuple(code)))
        last[block.name] = name
    moved = {old: new for old, new in last.items() if old != new}

    def repair(i: Instruction) -> Instruction:
        return i.relabel(moved) if i.opcode == "phi" else i

    return function.with_blocks(tuple(blocks)).map_instructions(repair), barriers


def _before(function: Function, after: str) -> str:
    return next(b.name for b in function.blocks if b.terminator.labels == (after,))


def as_module(module: Module, made: Split) -> Module:
    """A module of the regions, in canonical form."""
    functions: list[Function] = [f for f in module.functions if not f.blocks]
    functions += map(_tidied, made.functions)
    whole = replace(module, functions=tuple(functions))
    whole = whole.declare(STATE, VOID, (I32, I32) if made.rounds else (I32,))
    for type in _types(made.slots):
        whole = whole.declare(reload_name(type), type, (I32,))
        whole = whole.declare(spill_name(type), VOID, (I32, type))
    return whole


def _tidied(region: Function) -> Function:
    """In canonical form; a loop may have been entered at a barrier."""
    return checked(loop_form(drop_dead(drop_unreachable(reducible(region)))))


def _types(slots: Iterable[Slot]) -> set[Type]:
    return {s.value.type for s in slots}


__all__ = ["BARRIER", "STATE", "Slot", "Split", "as_module", "kept_name", "split"]
