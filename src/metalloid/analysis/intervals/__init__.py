"""Launch-time proofs: with the sizes and numbers of one launch known, most accesses are inside their memory."""

from __future__ import annotations

from metalloid.ir import Instruction

SHORT = 64  # rounds of a loop: one with fewer is short
PROVED = "mt.proved"  # metadata of an access that needs no guard
NO_WRAP = "mt.whole"  # of a widening whose number cannot have wrapped
EXACT = "mt.exact"  # of a sum or a product that such a number is made of: as what it has not wrapped
FIXED = "mt.fixed"  # of a load of a parameter that nobody can change while the launch runs
EARLY = (
    "mt.early"  # of a load that is inside before the branch that it is behind as well: from which blocks on
)
STREAMED = "mt.streamed"  # of a store to a large buffer that the kernel does not read; with its alignment


def is_proved(i: Instruction) -> bool:
    return any(kind == PROVED for kind, _ in i.metadata)


def is_no_wrap(i: Instruction) -> bool:
    return any(kind == NO_WRAP for kind, _ in i.metadata)


def exact(i: Instruction) -> str:
    """The flags of a sum or a product that has not wrapped."""
    return next((flags for kind, flags in i.metadata if kind == EXACT), "")


def is_fixed(i: Instruction) -> bool:
    return any(kind == FIXED for kind, _ in i.metadata)


def early(i: Instruction) -> list[str]:
    """The blocks before that of a load from which on it is inside its memory."""
    return [block for kind, text in i.metadata if kind == EARLY for block in text.split(" ")]


def streamed(i: Instruction) -> int:
    """The alignment of the buffer that a store writes past the caches; 0 for other stores."""
    found = [int(kind.removeprefix(STREAMED)) for kind, _ in i.metadata if kind.startswith(STREAMED)]
    return max(found, default=0)
