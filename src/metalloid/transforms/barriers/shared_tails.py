"""Code that several regions would hold, as a region of its own.

A region runs on to the next barriers, so what follows a place where ways from two barriers meet is in both: the head
of a loop with barriers is reached from before the loop and from its last barrier, and the whole first part of the body
stands there twice. Where that is much (half of a flash attention), the regions end at the shared tail, and a gang
goes on at once with the region that starts there: nobody waits, as one would at a barrier. Everyone has to get there
for that: branches on the way that lead past it must be the same for all lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from metalloid import deadline
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import is_matrix
from metalloid.ir.types import VOID
from metalloid.ir.values import Value
from metalloid.records import replace

MUCH = 10_000  # lines of vector code, about; less is better left in one piece for LLVM
_LINES, _LINES_OF_MATRICES = 3, 100  # of vector code for an instruction
MOST = 4
HOPELESS = 4_000_000  # blocks to walk over for all places: seconds, and a few tails would not help
Varies = Callable[[Value], bool]


def shared_tails(
    function: Function, starts: Sequence[str], stops: Mapping[str, int], varies: Varies
) -> list[str]:
    """Blocks to start regions at. Each takes away as much repeated code as one can."""
    weights = {b.name: sum(map(_lines, b.instructions)) for b in function.blocks}
    found: list[str] = []

    def weight(blocks: Iterable[str]) -> int:
        return sum(weights[name] for name in blocks)

    while len(found) < MOST:
        regions = {start: _reached(function, start, stops, found) for start in (*starts, *found)}
        if sum(map(weight, regions.values())) - weight(weights) < MUCH:
            break
        joins = [name for name in _joins(function) if name not in regions]
        if len(joins) * sum(map(len, regions.values())) > HOPELESS:
            break

        def saved(name: str, regions: Mapping[str, set[str]] = regions) -> int:
            """Lines that are gone when regions stop at a block, less those of the region that starts there."""
            deadline.look()
            holders = [start for start, region in regions.items() if name in region]
            behind = weight(_reached(function, name, stops, [*found, name]))
            if (len(holders) - 1) * behind < MUCH:
                return 0
            left = (weight(_reached(function, start, stops, [*found, name])) for start in holders)
            return sum(weight(regions[start]) for start in holders) - sum(left) - behind

        gains = {name: saved(name) for name in joins}
        better = sorted((n for n in gains if gains[n] >= MUCH), key=lambda n: -gains[n])
        best = next((n for n in better if _all_arrive(function, starts, stops, found, n, varies)), None)
        if best is None:
            break
        found.append(best)
    return found


def _lines(i: Instruction) -> int:
    return _LINES_OF_MATRICES if is_matrix(i.called) else _LINES


def _joins(function: Function) -> list[str]:
    """Blocks that several lead to."""
    sources = Counter(target for block in function.blocks for target in dict.fromkeys(block.successors))
    return [b.name for b in function.blocks if sources[b.name] > 1]


def _reached(function: Function, start: str, stops: Mapping[str, int], met: Sequence[str]) -> set[str]:
    """The blocks of the region from `start`. Its own start it may come back to."""
    seen, work = {start}, [start]
    while work:
        name = work.pop()
        for target in function.block[name].successors if name not in stops else ():
            if target not in seen and target not in met:
                seen.add(target)
                work.append(target)
    return seen


def _all_arrive(
    function: Function,
    starts: Sequence[str],
    stops: Mapping[str, int],
    found: Sequence[str],
    at: str,
    varies: Varies,
) -> bool:
    """Whether the lanes of a gang get to a block together, in every region that leads there."""
    sources: dict[str, list[str]] = {}
    for block in function.blocks:
        for target in block.successors if block.name not in stops else ():
            sources.setdefault(target, []).append(block.name)
    for start in (*starts, *found):
        region = _reached(function, start, stops, [*found, at])
        leading: set[str] = set()
        work = [at]
        while work:
            for source in sources.get(work.pop(), ()):
                if source in region and source not in leading:
                    leading.add(source)
                    work.append(source)
        for name in leading:
            end = function.block[name].terminator
            if any(t not in leading and t != at for t in end.labels) and any(map(varies, end.operands)):
                return False
    return True


def before(name: str) -> str:
    return f"{name}.met"


def with_shared_tails(function: Function, names: Sequence[str]) -> Function:
    """The function with a block before each of these, which gets its phis: a place to stop at."""
    blocks: list[Block] = []
    for block in function.blocks:
        moved = {name: before(name) for name in names}
        code = tuple(i if i.opcode == "phi" else i.relabel(moved) for i in block.body)
        if block.name not in names:
            blocks.append(replace(block, instructions=(*block.phis, *code)))
            continue
        there = Instruction("br", VOID, labels=(block.name,))
        blocks.append(Block(before(block.name), (*block.phis, there)))
        blocks.append(Block(block.name, code))
    return function.with_blocks(tuple(blocks))
