"""Which sums of a thread are added up lane after lane, though threads run side by side.

A thread that has a block of weights of its own, or a short row, adds up sixteen products that lie side by side in
memory, while its neighbours' lie further away. By lanes, every load is one for each lane, or is turned round in
registers. A lane by itself loads its sixteen neighbours at once (`access/in_turn.py`). `lane_or_loop.py` is about
kernels whose threads run one after the other from start to end; these have operations among lanes, or other work that
lanes share. The order of such a sum is another one, so it is chosen from a kernel's text alone, as there.
"""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.packs import Packs
from metalloid.backends.cpu.lower.free_shape import footprint
from metalloid.backends.cpu.lower.lane_or_loop import LANES, row_of_threads
from metalloid.ir import Instruction, Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.ir.name_privates import name_privates
from metalloid.targets import TargetInfo
from metalloid.transforms.common_gep_base import share
from metalloid.transforms.sum_trees import LEAST, Sum, long_sums

# Instructions, of one lane: an element that is loaded for itself; one of a register that is turned round; what a lane
# costs that has its turn, with the total of a register.
FOUND = 1.5
TURNED = 0.5
TURN = 12


def parts(target: TargetInfo) -> int:
    """Numbers of a lane that are added up side by side."""
    return max(LEAST, target.lanes32)


def sums_in_turn(module: Module, target: TargetInfo) -> frozenset[str]:
    """The names of the last additions of such sums."""
    module, _ = name_privates(module)
    function = share(module.function[ENTRY])
    found = [(block, s) for block, sums in long_sums(function) for s in sums]
    if not found:
        return frozenset()
    layout = data_layout(module.datalayout)
    calls = [i for i in function.instructions() if i.opcode == "call"]
    lanes = LaneLayout(LANES, row_of_threads(calls))
    known = Uniformity(Flow(function), UnderlyingObjects(function), lanes, layout)
    return frozenset(
        s.root.name
        for block, s in found
        if _pays(s, Packs(function, block, layout, known.shape), known, target)
    )


def _pays(found: Sum, packs: Packs, known: Uniformity, target: TargetInfo) -> bool:
    """Whether a lane's turn costs less than its share of loads of all lanes."""
    count = found.count(parts(target))
    for group in found.groups:
        for n in range(0, len(group), count):
            if not packs.collect(group[n : n + count]):
                return False
    loads = packs.loads()
    by_lanes = sum(_by_lanes(known, pack, packs, target) for pack in loads)
    return by_lanes > len(loads) + TURN


def _by_lanes(known: Uniformity, loads: list[Instruction], packs: Packs, target: TargetInfo) -> float:
    size = packs.layout.store_size(loads[0].type)
    shape = known.shape(loads[0].operands[0])
    if shape is None:
        return FOUND * len(loads)
    needed, _ = footprint(shape, size, target, LANES)
    return TURNED * len(loads) if needed >= LANES else len(loads) / target.lanes32
