"""What an instruction does to memory and to other threads, whether it is LLVM's or ours."""

from __future__ import annotations

from metalloid.ir.intrinsics.names import SIMD_BARRIER
from metalloid.ir.intrinsics.table import ANY, Effect, intrinsic
from metalloid.ir.module import Instruction
from metalloid.ir.values import Int

_MEMORY: dict[str, Effect] = {
    "load": Effect.READS,
    "store": Effect.WRITES,
    "atomicrmw": ANY,
    "cmpxchg": ANY,
    "fence": Effect.ORDERS,
}
_COPIES = ("llvm.memcpy", "llvm.memmove", "llvm.memset")


def effect(i: Instruction) -> Effect:
    """What an instruction does to memory. Atomics order the accesses around them: kernels hand data over with them."""
    if i.opcode != "call":
        found = _MEMORY.get(i.opcode, Effect.NONE)
        return found | Effect.ORDERS if i.ordering else found
    called = i.called
    if called.startswith("llvm."):
        return Effect.READS | Effect.WRITES if called.startswith(_COPIES) else Effect.NONE
    known = intrinsic(called)
    if known is None:
        return ANY
    if called == SIMD_BARRIER and isinstance(i.operands[0], Int) and i.operands[0].value == 0:
        return Effect.NONE  # mem_none: lanes wait for each other, and that is all
    return known.effect


def between_threadgroups(i: Instruction) -> bool:
    """Whether threadgroups can talk to each other with it: an atomic or a fence, no barrier."""
    found = intrinsic(i.called) if i.opcode == "call" else None
    return bool(effect(i) & Effect.ORDERS) and (found is None or not found.among)


def among_lanes(i: Instruction) -> bool:
    """Whether the lanes of a SIMD-group do it together."""
    found = intrinsic(i.called) if i.opcode == "call" else None
    return found is not None and found.among == "simdgroup"


def pure(i: Instruction) -> bool:
    """Whether a call of ours can be made again, anywhere, with the same result."""
    found = intrinsic(i.called)
    return found is not None and found.effect is Effect.NONE and not found.among
