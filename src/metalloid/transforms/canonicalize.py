"""Bring a kernel into the shape that the vectoriser reads.

One way out, two-way branches only, loops with one entry edge and one way back, values that leave a
loop through a phi, every value named. Copies of whole structs become copies of words (`expand_copies.py`).
"""

from __future__ import annotations

from metalloid.errors import DeviceError, NotVectorised
from metalloid.ir import Block, Function, Instruction, Module, read_once
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.ir.reducible import reducible
from metalloid.ir.types import VOID
from metalloid.ir.unreachable import drop_unreachable
from metalloid.ir.verify import misplaced
from metalloid.transforms.expand_copies import expand_copies
from metalloid.transforms.if_convert import if_convert
from metalloid.transforms.loop_form import loop_form
from metalloid.transforms.lower_switch import lower_switches
from metalloid.transforms.merge_equal import merge_equal
from metalloid.transforms.scalarize_aggregates import scalarize_aggregates
from metalloid.transforms.split_choices import split_choices
from metalloid.transforms.unsink_phi_mul import bring_out

_IGNORED = (
    "llvm.assume",
    "llvm.lifetime",
    "llvm.dbg",
    "llvm.experimental.noalias",
    "llvm.donothing",
    "llvm.sideeffect",
)


def canonical(text: str) -> Module:
    """The module of a scalar kernel, in canonical form. What cannot be read goes the slow way: a mistake of ours."""
    try:
        module = read_once(text)
    except DeviceError as error:
        raise NotVectorised(f"[engine] the kernel cannot be read: {error}") from None
    return canonical_form(module)


def canonical_form(module: Module) -> Module:
    """The same of a kernel that is read already."""
    if ENTRY not in module.function:
        raise DeviceError(f"[engine] the module has no function '{ENTRY}'")
    # First of all, as the oracle does: what counts as an iteration must not depend on any clean-up.
    function = reducible(module.function[ENTRY])
    function = split_choices(if_convert(checked(drop_unreachable(lower_switches(function)))))
    function = loop_form(_one_exit(function))
    function = scalarize_aggregates(expand_copies(_drop_hints(function)), data_layout(module.datalayout))
    return module.with_function(merge_equal(bring_out(_one_exit(function))))


def checked(function: Function) -> Function:
    """The function. One that reads a value where it is not made is a mistake of ours: the kernel goes the slow way."""
    if name := misplaced(function):
        raise NotVectorised(f"[engine] a pass left %{name} where it does not dominate its uses")
    return function


def _drop_hints(function: Function) -> Function:
    return function.with_blocks(
        tuple(
            b.with_code(tuple([i for i in b.instructions if not i.called.startswith(_IGNORED)]))
            for b in function.blocks
        )
    )


def _one_exit(function: Function) -> Function:
    """One block that returns. `unreachable` goes there too: what the compiler ruled out must still end."""
    ends = [b for b in function.blocks if b.terminator.opcode in ("ret", "unreachable")]
    if len(ends) == 1 and ends[0].terminator.opcode == "ret":
        return function
    leave = Instruction("br", VOID, labels=("mt.end",))

    def repair(block: Block) -> Block:
        return Block(block.name, (*block.instructions[:-1], leave)) if block in ends else block

    tail = Block("mt.end", (Instruction("ret", VOID),))
    return function.with_blocks((*(repair(b) for b in function.blocks), tail))
