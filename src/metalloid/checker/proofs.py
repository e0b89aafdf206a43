"""Can the index arithmetic of a launch wrap around? With its sizes and numbers known, mostly not.

The spans of values that launch-time proofs reckon with (analysis/intervals) say how large each sum and product on
the way to an address can get. Where all of them fit their width, no address is other than exact arithmetic
would make it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.evaluate import Evaluator
from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts, TooLong
from metalloid.backends.base import Launch
from metalloid.errors import MetalloidError
from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import IntType
from metalloid.ir.values import Local
from metalloid.transforms.canonicalize import canonical

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

ROOM = 4096  # bytes of a buffer that may hold sizes
MOST_ANSWERS = 256
_FOLLOWED = (
    "add",
    "sub",
    "mul",
    "shl",
    "or",
    "zext",
    "sext",
    "trunc",
    "phi",
    "select",
    "freeze",
    "getelementptr",
)
_CORNERS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << max(0, min(b, 64)),
}


@dataclass
class Known:
    """A kernel made ready, and the answers so far."""

    prover: Prover | None
    answers: dict[object, bool] = field(default_factory=dict)


_known: weakref.WeakKeyDictionary[KernelCode, Known] = weakref.WeakKeyDictionary()


def never_wraps(kernel: KernelCode, launch: Launch) -> bool:
    """Whether no index of this launch can wrap around; False where that is not known."""
    known = _known_of(kernel)
    prover = known.prover
    if prover is None:
        return False
    sizes, contents = _given(prover, launch)
    key = launch.grid, launch.threadgroup, tuple(sizes.items()), tuple(contents.items())
    if key not in known.answers:
        if len(known.answers) >= MOST_ANSWERS:
            known.answers.clear()
        known.answers[key] = _proved(prover, launch, sizes, contents)
    return known.answers[key]


def evaluator_of(kernel: KernelCode, launch: Launch) -> tuple[Function, Evaluator] | None:
    """Who knows the spans of values in this launch, and the code that they are of."""
    prover = _known_of(kernel).prover
    if prover is None:
        return None
    sizes, contents = _given(prover, launch)
    for p in kernel.signature.buffers:  # sizes beside pointers: what these lead to is something else
        if p.reference and p.access == "read" and 0 < sizes.get(p.index, 0) <= ROOM:
            contents.setdefault(p.index, bytes(memoryview(launch.buffers[p.index])))
    return prover.function, _evaluator(prover, launch, sizes, contents)


def _known_of(kernel: KernelCode) -> Known:
    known = _known.get(kernel)
    if known is None:
        known = _known[kernel] = Known(_prover(kernel))
    return known


def _given(prover: Prover, launch: Launch) -> tuple[dict[int, int], dict[int, bytes]]:
    """Bytes of the buffers, and the contents of those that hold sizes."""
    sizes = {index: memoryview(memory).nbytes for index, memory in launch.buffers.items()}
    small = [index for index in prover.parameters if sizes.get(index, ROOM + 1) <= ROOM]
    return sizes, {index: bytes(memoryview(launch.buffers[index])) for index in small}


def _evaluator(
    prover: Prover, launch: Launch, sizes: Mapping[int, int], contents: Mapping[int, bytes]
) -> Evaluator:
    local = launch.threadgroup_memory
    facts = Facts(launch.grid, launch.threadgroup, launch.threadgroups, sizes, local, contents)
    return Evaluator(prover.flow, prover.roots, prover.layout, facts)


def _proved(prover: Prover, launch: Launch, sizes: Mapping[int, int], contents: Mapping[int, bytes]) -> bool:
    evaluator = _evaluator(prover, launch, sizes, contents)
    try:
        return all(_fits(evaluator, i, prover.function.home[i.name]) for i in _indices(prover))
    except (TooLong, RecursionError):
        return False


def _prover(kernel: KernelCode) -> Prover | None:
    try:
        made = Prover(canonical(kernel.checked_ir))
    except MetalloidError:
        return None
    return made if made.worthwhile else None


def _indices(prover: Prover) -> Iterator[Instruction]:
    """The arithmetic that addresses are made of."""
    definitions = prover.function.definitions
    work = [i.name for i in prover.function.instructions() if i.opcode == "getelementptr"]
    seen: set[str] = set()
    while work:
        name = work.pop()
        made = definitions.get(name)
        if name in seen or made is None or made.opcode not in _FOLLOWED:
            continue
        seen.add(name)
        work += [o.name for o in made.operands if isinstance(o, Local)]
        if made.opcode in _CORNERS and prover.function.home[name] in prover.reached:
            yield made


def _fits(evaluator: Evaluator, i: Instruction, block: str) -> bool:
    assert isinstance(i.type, IntType)
    bits = i.type.bits
    spans = [evaluator.at(operand, block) for operand in i.operands]
    if any(span is None for span in spans):
        return True  # nobody gets here
    first, second = (S.small(span, bits) for span in spans if span is not None)
    exact = [_CORNERS[i.opcode](a, b) for a in (first.lo, first.hi) for b in (second.lo, second.hi)]
    least = 0 if bits < 64 else -(1 << 63)  # below 0, a narrow number may be read as a large one
    return min(exact) >= least and max(exact) < 1 << min(bits, 63)
