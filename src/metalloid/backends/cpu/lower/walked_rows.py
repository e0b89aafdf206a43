"""Loops in which each lane walks along a row of its own, four rounds at once.

A load of each round is as many loads as there are lanes. Four neighbours of each lane are as many loads again, once for
all four, and are turned round in registers (`access/load_groups.py`); what is stored, too. The rounds stay in their
order, so this changes no result.
"""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import is_proved
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.loop_stride import Strides
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.packs import MEMORY
from metalloid.backends.cpu.lower.lane_or_loop import is_far, writes_row
from metalloid.ir import Function, Instruction, Module
from metalloid.ir.intrinsics import CHANGES, ENTRY, effect
from metalloid.ir.layout import DataLayout, data_layout
from metalloid.ir.loops import Loop, loops
from metalloid.targets import TargetInfo
from metalloid.transforms.partial_sums import around
from metalloid.transforms.unroll import unrolled

ROUNDS = 4
LONG = 64  # instructions of a round: in longer ones a load makes no difference
LANES = 32  # at most: the columns of more do not fit the registers, nor their rows the first cache


def walked(module: Module, lanes: LaneLayout, target: TargetInfo, apart: bool) -> tuple[str, ...]:
    """The headers of such loops. `apart`: no memory is bound twice, so nobody reads what a round before has written."""
    function, layout = module.function[ENTRY], data_layout(module.datalayout)
    if not any(b.phis for b in function.blocks):
        return ()
    found = [loop for loop in loops(function).loops.values() if _may_walk(function, loop, layout)]
    if not found:
        return ()
    known = Uniformity(Flow(function), UnderlyingObjects(function), lanes, layout)
    return tuple(loop.header for loop in found if _walks(known, loop, target, apart))


def by_fours(module: Module, headers: tuple[str, ...]) -> tuple[Module, dict[str, tuple[str, ...]]]:
    """The module, and the new loops in the place of each."""
    function, layout = module.function[ENTRY], data_layout(module.datalayout)
    new: dict[str, tuple[str, ...]] = {}
    for header in headers:
        function, new[header] = unrolled(function, header, ROUNDS, layout)
    return module.with_function(function), new


def _may_walk(function: Function, loop: Loop, layout: DataLayout) -> bool:
    """Whether a loop counts up by one, and loads neighbours."""
    row = around(function, loop)
    if row is None or row.step != 1 or len(function.block[loop.header].body) > LONG:
        return False
    return bool(_neighbours(function, loop, layout))


def _neighbours(function: Function, loop: Loop, layout: DataLayout) -> list[Instruction]:
    strides = Strides(function, loop, layout)
    loads = [i for i in function.block[loop.header].body if i.opcode == "load" and is_proved(i)]
    sizes = {i.name: layout.store_size(i.type) for i in loads}
    return [i for i in loads if strides.of(i.operands[0]) in ({(): sizes[i.name]}, {(): -sizes[i.name]})]


def _walks(known: Uniformity, loop: Loop, target: TargetInfo, apart: bool) -> bool:
    """Whether all lanes go round together, and some of what they load lies far apart."""
    if loop.header in known.divergence.loops:
        return False
    function, layout = known.flow.function, known.layout
    body = list(function.block[loop.header].instructions)
    writes = any(i.opcode == "store" for i in body)
    if any(i.opcode != "store" and effect(i) & CHANGES for i in body):
        return False
    if writes and not (apart and writes_row(function, loop, body, Strides(function, loop, layout), known)):
        return False
    return any(is_far(known, i, target) and _is_buffer(known, i) for i in _neighbours(function, loop, layout))


def _is_buffer(known: Uniformity, load: Instruction) -> bool:
    root = known.roots.root(load.operands[0])
    return root is not None and root.kind in MEMORY
