"""Which vectors of threads lie one behind the other, so that their parts are added up as they lie there
(`transforms/sums_of_parts.py`). The order of such a sum is another one, so it is chosen from a kernel's text alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.access.packs import side_by_side
from metalloid.backends.cpu.lower.access.plan import is_row, spots
from metalloid.backends.cpu.lower.emitter import lowered
from metalloid.backends.cpu.lower.lane_or_loop import LANES, row_of_threads
from metalloid.ir import Instruction, Module
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.ir.name_privates import name_privates
from metalloid.transforms.common_gep_base import share
from metalloid.transforms.sums_of_parts import with_sums_of_parts


def add_up_parts(module: Module) -> Module:
    """The module with such sums part by part."""
    function = share(module.function[ENTRY])
    rows = _Rows(module.with_function(function))
    made = with_sums_of_parts(function, data_layout(module.datalayout), rows.are)
    return module if made is function else module.with_function(made)


class _Rows:
    """Asked for a kernel's loads, which few have to be."""

    def __init__(self, module: Module) -> None:
        self.module, self.layout = module, data_layout(module.datalayout)

    def are(self, loads: Sequence[Instruction]) -> bool:
        """Whether loads of one thread's neighbours are followed by those of the next thread. Whether an index wraps on
        the way, only a proof knows, and nobody asks."""
        function, kind = self.known.flow.function, memory_type(loads[0].type)[0]
        if kind != lowered(loads[0].type) or not side_by_side(function, [*loads], self.layout):
            return False
        base, _ = constant_base(function, loads[0].operands[0], self.layout)
        root, shape = self.known.roots.root(base), self.known.shape(base)
        if root is None or root.kind != "buffer" or shape is None or not shape.terms:
            return False
        size = self.layout.store_size(loads[0].type) * len(loads)
        return is_row(spots(shape.terms, LANES), size)

    @cached_property
    def known(self) -> Uniformity:
        function = name_privates(self.module)[0].function[ENTRY]
        calls = [i for i in function.instructions() if i.opcode == "call"]
        lanes = LaneLayout(LANES, row_of_threads(calls))
        return Uniformity(Flow(function), UnderlyingObjects(function), lanes, self.layout)
