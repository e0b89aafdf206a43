"""Sums of matrix products that live across barriers are kept as matrices, and added to in place.

In a loop with barriers the sums come out of their slots, get a few products added and go back: as the two elements
that each lane holds they would have to be picked apart and put together again every time. Adding in place is right
where nobody looks at the old sum again: only that chain of products reads the slot, and no way leads back to it
but past a new value for the slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metalloid.analysis.divergence import Flow
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.matrix.chains import Chain, find, origin, slot_number, slot_of
from metalloid.backends.cpu.lower.matrix.tiles import rows, vectors
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import STATE, is_reload, is_spill
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass

Slots = tuple[int, int]  # of the two elements of each lane


@dataclass(frozen=True)
class Segment:
    """A region, and what it does to slots."""

    flow: Flow
    reads: dict[int, list[Instruction]]  # by slot; those that somebody uses
    writes: dict[int, list[tuple[str, Value]]]  # by slot: block and value
    ends: list[tuple[str, Value]]  # where it tells how it goes on: block and state

    @property
    def function(self) -> Function:
        return self.flow.function


def strips(parts: Sequence[Uniformity], count: int) -> list[list[Slots]]:
    """Up to `count` matrices that are kept side by side, as tiles want them."""
    segments = [_segment(part.flow) for part in parts]
    found: list[list[Slots]] = []
    for number, part in enumerate(parts):
        flow = part.flow
        for block in flow.function.blocks:
            together = part.divergence.mask_head[block.name] == flow.order[0]
            if together and block.name not in flow.forest.innermost:
                for vector in _vectors(flow.function, block, count):
                    slots = [_slots(segments, number, block, chain) for chain in vector]
                    if None not in slots:
                        found.append([s for s in slots if s is not None])
    return found


def _vectors(function: Function, block: Block, count: int) -> Iterable[list[Chain]]:
    for products in find(function, block):
        for row in rows(products):
            yield from vectors(row, count)


def _segment(flow: Flow) -> Segment:
    reads: dict[int, list[Instruction]] = {}
    writes: dict[int, list[tuple[str, Value]]] = {}
    ends: list[tuple[str, Value]] = []
    for block in flow.function.blocks:
        for i in block.instructions:
            if is_reload(i.called) and i.name in flow.function.users:
                reads.setdefault(slot_number(i), []).append(i)
            elif is_spill(i.called):
                writes.setdefault(slot_number(i), []).append((block.name, i.operands[1]))
            elif i.called == STATE:
                ends.append((block.name, i.operands[0]))
    return Segment(flow, reads, writes, ends)


def _slots(segments: list[Segment], number: int, block: Block, chain: Chain) -> Slots | None:
    """The slots of a chain whose sum may stay where it is."""
    own = segments[number]
    numbers = [slot_of(own.function, value) for value in chain.start]
    last = chain.products[-1].name
    for element, slot in enumerate(numbers):
        if slot is None or numbers[0] == numbers[1]:
            return None
        readers = [i for s in segments for i in s.reads.get(slot, ())]
        if len(readers) != 1 or not _only_for(own.function, readers[0].name, chain.products[0]):
            return None
        written = own.writes.get(slot, [])
        if any(origin(own.function, value) != (last, element) for _, value in written):
            return None
        if _comes_back(segments, number, block.name, slot):
            return None
    first, second = numbers
    return (first, second) if first is not None and second is not None else None


def _only_for(function: Function, name: str, product: Instruction) -> bool:
    """Whether nobody but a product uses a value."""
    return all(
        user == product or (user.opcode == "bitcast" and _only_for(function, user.name, product))
        for user in function.users.get(name, ())
    )


def _comes_back(segments: list[Segment], number: int, block: str, slot: int) -> bool:
    """Whether the region can be entered again, from this block of it, with nothing written to the slot."""
    seen: set[int] = set()
    count = len(segments)
    work = list(_leaves(segments[number], block, slot, count))
    while work:
        state = work.pop()
        if state == number:
            return True
        if state and state not in seen:
            seen.add(state)
            work += _leaves(segments[state], segments[state].flow.order[0], slot, count)
    return False


def _leaves(segment: Segment, start: str, slot: int, count: int) -> set[int]:
    """The regions that follow where nothing is written to the slot on the way; 0 is the end."""
    writing = {block for block, _ in segment.writes.get(slot, ())}
    seen, work = set(), [start]
    while work:
        name = work.pop()
        if name not in seen and name not in writing:
            seen.add(name)
            work += segment.flow.graph.successors[name]
    found: set[int] = set()
    for block, state in segment.ends:
        if block in seen:
            told = _told(segment.function, state, block, seen)
            found |= set(range(count)) if told is None else told
    return found


def _told(function: Function, state: Value, block: str, seen: set[str]) -> set[int] | None:
    """What a region can tell where it came from these blocks; None where one cannot say."""
    if isinstance(state, Int):
        return {state.value}
    i = function.definitions[state.name] if isinstance(state, Local) else None
    if i is None or i.opcode != "phi" or function.home[i.name] != block:
        return None
    cases = [v for v, source in i.cases if source in seen]
    return {v.value for v in cases if isinstance(v, Int)} if all(isinstance(v, Int) for v in cases) else None
