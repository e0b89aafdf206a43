"""The size of a threadgroup as a number, where code is made for one size: loops over it are unrolled then.

`for (uint s = n / 2; s > 0; s /= 2)` with a barrier inside is a tree of known steps once n is known: at every one
it is known which lanes run, and what they read. Only whole threadgroups run such code: those at an edge have fewer
threads.

Divisions have guards while LLVM looks at them: `x / (n - 32)` is 0 in threadgroups of 32, and LLVM would leave out what
is done with it.
"""

from __future__ import annotations

from functools import cache

from metalloid import llvm
from metalloid.ir import Function, Instruction, Module, read, read_once, write
from metalloid.ir.divisions import plain_divisions
from metalloid.ir.guards import guarded_divisions
from metalloid.ir.intrinsics import BARRIER, ENTRY, short
from metalloid.ir.loops import loops
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Value
from metalloid.ir.verify import survive_broken
from metalloid.records import replace
from metalloid.transforms.canonicalize import canonical_form

Triple = tuple[int, int, int]
_SIZES = ("threads_per_threadgroup", "dispatch_threads_per_threadgroup")
MOST = 400  # instructions of a loop that is unrolled
MOST_UNROLLED = (
    3000  # of the kernel then: a tree has a few hundred, a loop of 200 rounds took 19 s to compile
)
# LLVM's passes that fold numbers and find loops, and those that unroll what was marked.
_FOLD = ("SCCP", "InstCombine", "SimplifyCFG", "LoopRotate", "LoopSimplify", "InstructionNamer")
_UNROLL = ("LoopUnroll", "SCCP", "InstCombine", "SimplifyCFG", "LoopSimplify", "InstructionNamer")


def asks_for_size(module: Module) -> bool:
    return any(short(i.called) in _SIZES for i in module.function[ENTRY].instructions())


def folded(text: str, size: Triple) -> Module:
    """The canonical module of a kernel for threadgroups of one size."""
    module = read_once(text)
    function = _with_numbers(module.function[ENTRY], size)
    module = module.with_function(function)
    if not any(i.called == BARRIER for i in function.instructions()):
        return canonical_form(module)
    module = _passed(write(module.with_function(guarded_divisions(function))), unroll=False)
    marked, notes = _marked(module.function[ENTRY])
    if not notes:
        return canonical_form(plain_divisions(module))
    unrolled = _passed(write(module.with_function(marked)) + notes, unroll=True)
    long = sum(len(b.instructions) for b in unrolled.function[ENTRY].blocks) > MOST_UNROLLED
    return canonical_form(plain_divisions(module if long else unrolled))


def _with_numbers(function: Function, size: Triple) -> Function:
    known: dict[str, Value] = {}
    for i in function.instructions():
        if short(i.called) in _SIZES and isinstance(i.operands[0], Int) and isinstance(i.type, IntType):
            known[i.name] = Int(i.type, size[i.operands[0].value])
    return function.map_instructions(lambda i: i.substitute(known)) if known else function


@cache
def _start_llvm() -> None:
    llvm.start()
    survive_broken()


def _passed(text: str, unroll: bool) -> Module:
    _start_llvm()
    parsed = llvm.parse(text)
    builder = llvm.Builder(llvm.Machine(llvm.default_triple()), 1)
    llvm.Passes(*(_UNROLL if unroll else _FOLD)).run(parsed, builder)
    return read(str(parsed))


def _marked(function: Function) -> tuple[Function, str]:
    """Innermost loops with a barrier, to be unrolled whole where their rounds are known; and the notes that say so."""
    found = loops(function)
    ends: dict[str, str] = {}
    notes = ""
    for n, loop in enumerate(found.loops.values()):
        body = [i for name in loop.blocks for i in function.block[name].instructions]
        inner = any(other.parent == loop.header for other in found.loops.values())
        if inner or len(body) > MOST or not any(i.called == BARRIER for i in body):
            continue
        node = 900_000 + 2 * n
        notes += (
            f'!{node} = distinct !{{!{node}, !{node + 1}}}\n!{node + 1} = !{{!"llvm.loop.unroll.full"}}\n'
        )
        for name in loop.blocks:
            if loop.header in function.block[name].terminator.labels:
                ends[name] = f"!{node}"

    def note(i: Instruction, block: str) -> Instruction:
        kept = tuple(m for m in i.metadata if m[0] != "llvm.loop")
        return replace(i, metadata=(*kept, ("llvm.loop", ends[block])))

    blocks = [
        replace(b, instructions=(*b.instructions[:-1], note(b.terminator, b.name))) if b.name in ends else b
        for b in function.blocks
    ]
    return function.with_blocks(tuple(blocks)), notes
