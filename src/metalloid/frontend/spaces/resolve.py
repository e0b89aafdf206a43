"""A kernel without generic pointers, step by step."""

from __future__ import annotations

from metalloid.frontend.spaces.clean import chosen, without_unused
from metalloid.frontend.spaces.lower import Lowering
from metalloid.frontend.spaces.makers import MAKERS, can_lower
from metalloid.frontend.spaces.sets import Spaces
from metalloid.frontend.spaces.split import Splitter
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.module import Module
from metalloid.ir.types import VOID


def resolved(module: Module, numbered: Module) -> Module:
    """The module, whose tables hold numbers in `numbered`, with what each pointer may be of in its code."""
    function = module.function[ENTRY]
    if not can_lower(function):
        return numbered
    lowering = Lowering(function, Spaces(module, function), MAKERS)
    lowered = lowering.function()
    simple, parts = chosen(lowered, lowering.choices, lowering.parts, lowering.names)
    whole = without_unused(Splitter(simple, parts, lowering.names).function())
    made = numbered.with_function(whole)
    for i in whole.instructions():
        if i.called.startswith("llvm."):
            made = made.declare(i.called, i.type if i.name else VOID, tuple(o.type for o in i.operands))
    return made
