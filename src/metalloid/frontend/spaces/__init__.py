"""Take generic pointers out of a module: what follows knows device, threadgroup and private memory apart.

LLVM resolves most of them. What is left is of one space after all (volatile accesses, casts to a number and back),
or of one of several, which only the running kernel knows: those become a tag and one pointer for each space, and
every access through them is written once for each. docs/design/frontend.md tells how.
"""

from __future__ import annotations

from metalloid.frontend.spaces.clean import chosen, without_unused
from metalloid.frontend.spaces.generic import mentions
from metalloid.frontend.spaces.lower import Lowering
from metalloid.frontend.spaces.makers import MAKERS, can_lower
from metalloid.frontend.spaces.sets import Spaces
from metalloid.frontend.spaces.split import Splitter
from metalloid.frontend.spaces.tables import tables_of_numbers
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.module import Instruction, Module
from metalloid.ir.types import VOID


def is_generic(instruction: Instruction) -> bool:
    """Whether it makes or takes a pointer whose space its type does not tell."""
    return mentions(instruction.type) or any(mentions(o) for o in instruction.operands)


def mixed(module: Module) -> Instruction | None:
    """The first instruction whose pointer may be of several spaces."""
    function = module.function[ENTRY]
    if not any(is_generic(i) for i in function.instructions()):
        return None
    spaces = Spaces(module, function)
    return next((i for i in function.instructions() if len(spaces.of.get(i.name, ())) > 1), None)


def resolve_spaces(module: Module) -> Module:
    """The module without generic pointers."""
    function, numbered = module.function[ENTRY], tables_of_numbers(module)
    if not any(is_generic(i) for i in function.instructions()) or not can_lower(function):
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
