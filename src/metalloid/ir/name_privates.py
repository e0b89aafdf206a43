"""Private arrays become intrinsics: the same variable in every region that a kernel is divided into."""

from __future__ import annotations

from metalloid.errors import NotVectorised
from metalloid.ir.intrinsics import ENTRY, PRIVATE
from metalloid.ir.layout import data_layout
from metalloid.ir.module import Instruction, Module
from metalloid.ir.types import I32, PointerType
from metalloid.ir.values import Global, Int
from metalloid.records import dataclass


@dataclass(frozen=True)
class Private:
    size: int
    align: int


def name_privates(module: Module) -> tuple[Module, list[Private]]:
    """Private arrays become intrinsics, so that they are the same variable in every segment."""
    layout = data_layout(module.datalayout)
    found: list[Private] = []

    def change(i: Instruction) -> Instruction:
        if i.opcode != "alloca":
            return i
        count = i.operands[0] if i.operands else Int(I32, 1)
        if not isinstance(count, Int) or i.element is None:
            raise NotVectorised(
                "[engine] a private array of a length that is only known at run time is not supported"
            )
        found.append(Private(layout.size(i.element) * count.value, max(i.align, 1)))
        callee = Global(PRIVATE, PointerType())
        return Instruction(
            "call", i.type, (Int(I32, len(found) - 1),), i.name, callee=callee, metadata=i.debug_only
        )

    function = module.function[ENTRY].map_instructions(change)
    return module.with_function(function).declare(PRIVATE, PointerType(5), (I32,)), found
