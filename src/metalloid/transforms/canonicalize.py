"""Bring a kernel into the shape that the vectoriser reads.

One way out, two-way branches only, loops with one entry edge and one way back, values that leave a
loop through a phi, every value named. Copies of whole structs become copies of words (`expand_copies.py`).
"""

from __future__ import annotations

import threading

import llvmlite.binding as llvm

from metalloid.errors import DeviceError, NotVectorised
from metalloid.ir import Block, Function, Instruction, Module, read, write
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.ir.loops import loops
from metalloid.ir.reducible import reducible
from metalloid.ir.types import VOID
from metalloid.ir.verify import survive_broken
from metalloid.transforms.expand_copies import expand_copies
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
_LOCK = threading.Lock()
_started = False


def start_llvm() -> None:
    """Make LLVM's targets known, once."""
    global _started
    with _LOCK:
        if not _started:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            survive_broken()
            _started = True


def canonical(text: str) -> Module:
    """The module of a scalar kernel, in canonical form."""
    module = tidy(text, first=True)
    if ENTRY not in module.function:
        raise DeviceError(f"[engine] the module has no function '{ENTRY}'")
    if loops(module.function[ENTRY]).irreducible:
        # From the text, as the oracle does: what counts as an iteration must not depend on LLVM's clean-up.
        plain = read(text)
        plain = plain.with_function(reducible(plain.function[ENTRY]))
        module = tidy(write(plain), first=True, simplify=False)
    plain_code = expand_copies(_drop_hints(module.function[ENTRY]))
    plain_code = _one_exit(scalarize_aggregates(plain_code, data_layout(module.datalayout)))
    return module.with_function(bring_out(plain_code))


def tidy(text: str, first: bool, simplify: bool = True) -> Module:
    """Run LLVM's own clean-up passes. Later, on regions, slots become values again as well.

    What LLVM cannot read is a mistake of ours, and the kernel goes the slow way.
    """
    start_llvm()
    try:
        parsed = llvm.parse_assembly(text, context=llvm.create_context())
        parsed.verify()
    except RuntimeError as error:
        raise NotVectorised(f"[engine] LLVM cannot read the kernel: {str(error).strip()[:2000]}") from None
    machine = llvm.Target.from_default_triple().create_target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    passes = llvm.create_new_module_pass_manager()
    if first:
        passes.add_lower_switch_pass()
        if simplify:
            passes.add_simplify_cfg_pass()
            passes.add_lower_switch_pass()
        passes.add_unify_function_exit_nodes_pass()
    else:
        passes.add_sroa_pass()
        passes.add_dead_code_elimination_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.add_instruction_namer_pass()
    passes.run(parsed, builder)
    return read(str(parsed))


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
