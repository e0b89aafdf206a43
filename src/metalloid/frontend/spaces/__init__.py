"""Take generic pointers out of a module: what follows knows device, threadgroup and private memory apart.

LLVM resolves most of them. What is left is of one space after all (volatile accesses, casts to a number and back),
or of one of several, which only the running kernel knows: those become a tag and one pointer for each space, and
every access through them is written once for each. docs/design/frontend.md tells how.
"""

from __future__ import annotations

from metalloid.frontend.spaces.generic import mentions
from metalloid.frontend.spaces.tables import tables_of_numbers
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.module import Instruction, Module


def is_generic(instruction: Instruction) -> bool:
    """Whether it makes or takes a pointer whose space its type does not tell."""
    return mentions(instruction.type) or any(map(mentions, instruction.operands))


def mixed(module: Module) -> Instruction | None:
    """The first instruction whose pointer may be of several spaces."""
    function = module.function[ENTRY]
    if not any(is_generic(i) for i in function.instructions()):
        return None
    from metalloid.frontend.spaces.sets import Spaces

    spaces = Spaces(module, function)
    return next((i for i in function.instructions() if len(spaces.of.get(i.name, ())) > 1), None)


def resolve_spaces(module: Module) -> Module:
    """The module without generic pointers."""
    function, numbered = module.function[ENTRY], tables_of_numbers(module)
    if not any(is_generic(i) for i in function.instructions()):
        return numbered
    from metalloid.frontend.spaces.casts import without_casts

    if (plain := without_casts(function)) is not None:
        return numbered.with_function(plain)
    from metalloid.frontend.spaces.resolve import resolved  # ten files that few kernels need

    return resolved(module, numbered)
