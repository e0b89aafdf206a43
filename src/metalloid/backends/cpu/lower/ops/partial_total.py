"""The total of sums that stand side by side (`transforms/partial_sums.py`), by halves.

They are put into registers one behind the other, so that LLVM keeps them in registers all along their loop; written as
sums of two, it would take them two by two.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.backends.cpu.lower.results import result, typed, varies
from metalloid.ir import Instruction

LEAST = 8  # sums; four are those of elements that are looked up, which fill no register


def partial_total(e: Emitter, i: Instruction) -> None:
    kind, many = lowered(i.type), varies(e, i)
    parts = [e.ref(o, many) for o in i.operands]
    lanes = min(len(parts), e.out.target.vector_bytes // e.out.layout.size(i.type))
    if many or len(parts) < LEAST:
        result(e, i, many, _halved(e, typed(e, kind, many), parts))
        return
    vectors = [_register(e, kind, parts[n : n + lanes]) for n in range(0, len(parts), lanes)]
    result(e, i, False, total(e, kind, _halved(e, f"<{lanes} x {kind}>", vectors), lanes))


def total(e: Emitter, kind: str, whole: str, lanes: int) -> str:
    """Of the lanes of a register."""
    while lanes > 1:
        lanes //= 2
        low, high = (pick(e, kind, whole, 2 * lanes, list(range(n, n + lanes))) for n in (0, lanes))
        whole = e.put(f"fadd <{lanes} x {kind}> {low}, {high}")
    return e.put(f"extractelement <1 x {kind}> {whole}, i64 0")


def _register(e: Emitter, kind: str, parts: list[str]) -> str:
    total = "poison"
    for n, part in enumerate(parts):
        total = e.put(f"insertelement <{len(parts)} x {kind}> {total}, {kind} {part}, i64 {n}")
    return total


def _halved(e: Emitter, kind: str, parts: list[str]) -> str:
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [e.put(f"fadd {kind} {parts[n]}, {parts[n + half]}") for n in range(half)]
    return parts[0]
