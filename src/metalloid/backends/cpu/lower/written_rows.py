"""Which loops that write rows have their rests under a mask (`transforms/written_rests.py`)."""

from __future__ import annotations

from collections.abc import Container

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import is_proved
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.loop_stride import Strides
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.emitter import lowered
from metalloid.backends.cpu.lower.lane_or_loop import writes_row
from metalloid.ir import Instruction, Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.ir.loops import Loop
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Local, Value
from metalloid.targets import TargetInfo
from metalloid.transforms.written_rests import moving, with_masked_rest, written

WORD = 4  # bytes: of narrower numbers a register has more than most rows are long


def with_masked_rests(module: Module, short: Container[str], target: TargetInfo) -> Module:
    """The module, where no memory is bound twice: of loops that end soon, since their rounds are counted first."""
    function = module.function[ENTRY]
    if not any(i.opcode == "store" for i in function.instructions()):
        return module
    layout, flow = data_layout(module.datalayout), Flow(function)
    known = Uniformity(flow, UnderlyingObjects(function), LaneLayout(1, (1, 1, 1)), layout)
    for loop in flow.forest.loops.values():
        if loop.header not in short or not _is_row(flow, loop, known):
            continue
        accesses = [
            _access(i) for i in flow.function.block[loop.header].body if i.opcode in ("load", "store")
        ]
        largest = max(memory_type(value.type)[1] for _, value in accesses)
        if (found := written(function, loop.header)) is not None:
            function = with_masked_rest(function, found, target.vector_bytes // max(WORD, largest))
    return module.with_function(function)


def _access(i: Instruction) -> tuple[Value, Value]:
    """Where an access goes, and what it moves."""
    return (i.operands[1], i.operands[0]) if i.opcode == "store" else (i.operands[0], i.value)


def _is_row(flow: Flow, loop: Loop, known: Uniformity) -> bool:
    """Whether rounds write neighbours from neighbours, all of them known to be inside a buffer."""
    body = list(flow.function.block[loop.header].instructions)
    strides = Strides(flow.function, loop, known.layout, exact=True)
    if not writes_row(flow.function, loop, body, strides, known):
        return False
    counted = moving(flow.function.block[loop.header])
    for i in (i for i in body if i.opcode in ("load", "store")):
        pointer, value = _access(i)
        forwards = strides.of(pointer) == {(): known.layout.store_size(value.type)}
        if isinstance(pointer, Local) and pointer.name in counted and not forwards:
            return False  # backwards; or made of the counter in each round, and the same
        root, kind = known.roots.root(pointer), value.type
        if not is_proved(i) or i.ordering or i.flags or root is None or root.kind != "buffer":
            return False
        if not isinstance(kind, FloatType | IntType) or memory_type(kind)[0] != lowered(kind):
            return False
    return True
