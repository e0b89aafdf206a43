"""Which sums of a thread are added up lane after lane, though threads run side by side.

A thread that has a block of weights of its own, or a row, adds up products that lie side by side in memory, while its
neighbours' lie further away. By lanes, every load is one for each lane, or is turned round in registers. A lane by
itself loads sixteen neighbours at once (`access/in_turn.py`). `lane_or_loop.py` is about kernels whose threads run one
after the other from start to end; these have operations among lanes, or other work that lanes share, or rows so short
that most of the time goes elsewhere. The order of such a sum is another one, so it is chosen from a kernel's text
alone, as there, and is the same for threads that run alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import is_proved
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.loop_stride import Strides
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.in_turn import FOUND, TURN, TURNED
from metalloid.backends.cpu.lower.access.packs import MEMORY, Packs
from metalloid.backends.cpu.lower.lane_or_loop import (
    LANES,
    dense,
    is_far,
    row_of_threads,
    sums_of,
    walks,
    writes_row,
)
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import DataLayout, data_layout
from metalloid.ir.loops import loops
from metalloid.ir.name_privates import name_privates
from metalloid.ir.values import Value
from metalloid.records import dataclass, field, replace
from metalloid.targets import TargetInfo
from metalloid.transforms.common_gep_base import share
from metalloid.transforms.partial_sums import Row, is_total, rows
from metalloid.transforms.split_sums import split, splits
from metalloid.transforms.sum_trees import LEAST, Sum, long_sums, split_trees

TURNS = 32  # lanes, at most, that take turns in a loop: more gain nothing, and share the cache


def parts(target: TargetInfo) -> int:
    """Numbers of a lane that are added up side by side."""
    return max(LEAST, target.lanes32)


@dataclass(frozen=True)
class InTurn:
    """Sums in a block, by their last additions; loops along a row, and how many rounds they run at once; loops that
    write one; whether these are all innermost loops, and lanes leave them together."""

    sums: frozenset[str] = frozenset()
    rows: Mapping[Row, tuple[int, ...]] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    all_loops: bool = False

    def may_be_short(self, alone: Iterable[Row]) -> bool:
        """Whether threads that could run alone, with the sums of these rows split, may take turns instead, where the
        proof of a launch says that rows are short. A thread alone asks each row how long it is
        (`transforms/short_rows.py`), so that all code adds up alike."""
        return self.all_loops and {row.header for row in self.rows} == {row.header for row in alone}

    def if_short(self, alone: Iterable[Row], short: frozenset[str], apart: bool) -> InTurn | None:
        """What is left of it in such a launch: then the ends of rows, and what stands around them, run side by side.
        `apart`: no memory is bound twice, or what is written might be read in the next round."""
        rows = {row.header for row in self.rows}
        if not self.may_be_short(alone) or not rows | self.written <= short:
            return None
        if self.written and not apart:
            return None
        return replace(self, rows={row: counts[-1:] for row, counts in self.rows.items()})


NONE = InTurn()


def sums_in_turn(module: Module, target: TargetInfo) -> InTurn:
    function, layout = module.function[ENTRY], data_layout(module.datalayout)
    sums = [(block.name, s) for block, found in long_sums(function) for s in found]
    forest = loops(function) if any(b.phis for b in function.blocks) else None
    along = (
        {row: dense(function, forest.loops[row.header], row, layout) for row in rows(function)}
        if forest
        else {}
    )
    if not (sums or any(along.values())):
        return NONE
    module, _ = name_privates(module)
    function = share(module.function[ENTRY])
    packed = [
        (s, made) for name, s in sums if (made := _packs(function, name, s, layout, target)) is not None
    ]
    if not (packed or any(along.values())):
        return NONE
    calls = [i for i in function.instructions() if i.opcode == "call"]
    flow, lanes = Flow(function), LaneLayout(LANES, row_of_threads(calls))
    known = Uniformity(flow, UnderlyingObjects(function), lanes, layout)
    found = {
        row: sums_of(flow, row, layout, target)
        for row, loads in along.items()
        if loads and walks([function.definitions[i.name] for i in loads], known, target)
    }
    parents = {loop.parent for loop in flow.forest.loops.values()}
    written = frozenset(header for header in flow.forest.loops.keys() - parents if _writes(known, header))
    together = ({row.header for row in found} | written) - known.divergence.loops
    return InTurn(
        frozenset(s.root.name for s, packs in packed if _pays(packs, known, target)),
        found,
        written,
        bool(found) and flow.forest.loops.keys() - parents <= together,
    )


def _writes(known: Uniformity, header: str) -> bool:
    function, loop = known.flow.function, known.flow.forest.loops[header]
    body = list(function.block[header].instructions)
    return writes_row(function, loop, body, Strides(function, loop, known.layout), known)


def _packs(
    function: Function, block: str, found: Sum, layout: DataLayout, target: TargetInfo
) -> Packs | None:
    """What a sum is made of, where that is alike and may be enough."""
    packs, count = Packs(function, function.block[block], layout, lambda _: None), found.count(parts(target))
    chunks = (group[n : n + count] for group in found.groups for n in range(0, len(group), count))
    if not all(packs.collect(chunk) for chunk in chunks):
        return None
    loads = packs.loads()
    return packs if FOUND * sum(map(len, loads)) > len(loads) + TURN else None


def in_turn(module: Module, found: InTurn, target: TargetInfo, guard: bool) -> Module:
    """The module with such sums as totals of a lane's neighbours. Where loads of a loop are not known to lie side by
    side, or to be inside their memory, their rounds stay a loop, for the same total."""
    function, layout = (
        split_trees(module.function[ENTRY], parts(target), found.sums),
        data_layout(module.datalayout),
    )
    for row, counts in found.rows.items():
        made = split(function, row, counts, "in turn", layout=layout)
        known = share(made)
        totals = [
            b for b in known.blocks if b.name in splits(row, counts) and any(map(is_total, b.instructions))
        ]
        if not all(_side_by_side(known, block, layout, guard) for block in totals):
            made = split(function, row, counts, "in memory")
        function = made
    return module.with_function(function)


def _side_by_side(function: Function, block: Block, layout: DataLayout, guard: bool) -> bool:
    packs = Packs(function, block, layout, lambda _: None)
    alike = all(packs.collect(i.operands) for i in block.instructions if is_total(i))
    return alike and not (guard and any(not is_proved(i) for pack in packs.loads() for i in pack))


def _pays(packs: Packs, known: Uniformity, target: TargetInfo) -> bool:
    """Whether a lane's turn costs less than its share of loads of all lanes."""
    if any(shape is not None and not shape.uniform for shape in map(known.shape, _operations(packs))):
        return False
    loads = packs.loads()
    roots = [known.roots.root(pack[0].operands[0]) for pack in loads]
    if not all(root is not None and root.kind in MEMORY for root in roots):
        return False
    return sum(_by_lanes(known, pack, target) for pack in loads) > len(loads) + TURN


def _operations(packs: Packs) -> Iterator[Value]:
    for pack in packs.found:
        for name in pack:
            if packs.made[name].opcode != "load":
                yield packs.made[name].value


def _by_lanes(known: Uniformity, loads: list[Instruction], target: TargetInfo) -> float:
    if known.shape(loads[0].operands[0]) is None:
        return FOUND * len(loads)
    return TURNED * len(loads) if is_far(known, loads[0], target) else len(loads) / target.lanes32
