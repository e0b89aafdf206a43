"""Bring a kernel into the shape that the vectoriser reads.

One way out, two-way branches only, loops with one entry edge and one way back, values that leave a
loop through a phi, every value named. Copies of whole structs become copies of words (`expand_copies.py`).
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from metalloid.errors import DeviceError, NotVectorised
from metalloid.ir import Block, Function, Instruction, Module, read, write
from metalloid.ir.cfg import graph
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.ir.reducible import reducible
from metalloid.ir.types import VOID
from metalloid.ir.unreachable import drop_unreachable
from metalloid.ir.verify import misplaced, survive_broken
from metalloid.transforms.expand_copies import expand_copies
from metalloid.transforms.loop_form import loop_form
from metalloid.transforms.scalarize_aggregates import scalarize_aggregates
from metalloid.transforms.unsink_phi_mul import bring_out

_IGNORED = (
    "llvm.assume",
    "llvm.lifetime",
    "llvm.dbg",
    "llvm.experimental.noalias",
    "llvm.donothing",
    "llvm.sideeffect",
)

FEW = 5  # instructions of a side of a branch that LLVM may make part of what is before it, the jump included
_CHEAP = frozenset(
    "add sub mul shl lshr ashr and or xor trunc zext sext getelementptr icmp fcmp select freeze fneg fadd fsub "
    "fmul".split()
)


def canonical(text: str) -> Module:
    """The module of a scalar kernel, in canonical form. What cannot be read goes the slow way: a mistake of ours."""
    try:
        module = read(text)
    except DeviceError as error:
        raise NotVectorised(f"[engine] the kernel cannot be read: {error}") from None
    return canonical_form(module)


def canonical_form(module: Module) -> Module:
    """The same of a kernel that is read already."""
    if ENTRY not in module.function:
        raise DeviceError(f"[engine] the module has no function '{ENTRY}'")
    given = module.function[ENTRY]
    # First of all, as the oracle does: what counts as an iteration must not depend on any clean-up.
    function = reducible(given)
    if _can_be_simplified(function):
        module = _simplified(module.with_function(function), function is given)
        function = module.function[ENTRY]
    function = loop_form(checked(_one_exit(drop_unreachable(function))))
    function = scalarize_aggregates(expand_copies(_drop_hints(function)), data_layout(module.datalayout))
    return module.with_function(bring_out(_one_exit(function)))


@cache
def start_llvm() -> None:
    """Make LLVM's targets known."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    survive_broken()


def _can_be_simplified(function: Function) -> bool:
    """Whether LLVM's lowering of switches and SimplifyCFG have something to do: a switch, or a branch round a few cheap
    instructions, which clang has made a `select` of unless the front end changed it since.

    One kernel in five of ggml's, MLX's and the library's is so. A divergent branch costs a mask: without this a
    `switch` of three cheap cases is 772 lines of vector code, not 660, and tensors of matrices that end anywhere 3835,
    not 2564."""
    if any(b.terminator.opcode == "switch" for b in function.blocks):
        return True
    sources = graph(function).predecessors
    return any(
        b.terminator.opcode == "br"
        and not b.terminator.operands
        and len(b.instructions) <= FEW
        and len(sources[b.name]) == 1
        and all(i.opcode in _CHEAP for i in b.instructions[:-1])
        and bool(function.block[b.successors[0]].phis)
        for b in function.blocks[1:]
    )


def _simplified(module: Module, whole: bool) -> Module:
    """Two-way branches, and as few of them as LLVM can: a trip through its text. Not `whole`: without a switch only."""
    start_llvm()
    try:
        parsed = llvm.parse_assembly(write(module), context=llvm.create_context())
        parsed.verify()
    except RuntimeError as error:
        raise NotVectorised(f"[engine] LLVM cannot read the kernel: {str(error).strip()[:2000]}") from None
    machine = llvm.Target.from_default_triple().create_target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_lower_switch_pass()
    if whole:
        passes.add_simplify_cfg_pass()
        passes.add_lower_switch_pass()
    passes.add_instruction_namer_pass()
    passes.run(parsed, builder)
    return read(str(parsed))


def checked(function: Function) -> Function:
    """The function. One that reads a value where it is not made is a mistake of ours: the kernel goes the slow way."""
    if name := misplaced(function):
        raise NotVectorised(f"[engine] a pass left %{name} where it does not dominate its uses")
    return function


def _drop_hints(function: Function) -> Function:
    return function.with_blocks(
        tuple(
            Block(b.name, tuple(i for i in b.instructions if not i.called.startswith(_IGNORED)))
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
