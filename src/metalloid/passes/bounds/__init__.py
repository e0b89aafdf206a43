"""Launch-time proofs: with the sizes and numbers of one launch known, most accesses are inside their memory."""

from __future__ import annotations

from metalloid.ir import Instruction

PROVED = "mt.proved"  # metadata of an access that needs no guard


def is_proved(i: Instruction) -> bool:
    return any(kind == PROVED for kind, _ in i.metadata)
