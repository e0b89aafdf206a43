"""Who writes which instruction: tables from opcodes and intrinsics to functions."""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.intervals import is_proved, streamed
from metalloid.backends.cpu.lower.access import memory, pointers
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.backends.cpu.lower.matrix import elements
from metalloid.backends.cpu.lower.ops import (
    arithmetic,
    atomics,
    barrier_spills,
    collective,
    llvm_calls,
    logs,
    positions,
    rows,
)
from metalloid.backends.cpu.lower.shadow import events
from metalloid.errors import NotVectorised
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import Family, family


def instruction(e: Emitter, i: Instruction) -> None:
    """Write one instruction that is neither phi nor terminator."""
    e.proved, e.streamed = is_proved(i), streamed(i)
    if i.opcode == "call":
        call(e, i)
        return
    OPCODES[i.opcode](e, i)


def call(e: Emitter, i: Instruction) -> None:
    if i.called.startswith("llvm."):
        llvm_calls.llvm_call(e, i)
        return
    of = family(i.called)
    if of is None:
        raise NotVectorised(f"[engine] the kernel calls '{i.called}', which is no intrinsic")
    FAMILIES[of](e, i)


def _start_of_memory(e: Emitter, i: Instruction) -> None:
    e.set(i.name, Val("i64", "0"))


def _simd_barrier(e: Emitter, i: Instruction) -> None:
    if e.out.check is not None:  # lanes go side by side
        events.simd_barrier(e, i)


def _fence_call(e: Emitter, i: Instruction) -> None:
    e.do("fence seq_cst")
    if e.out.check is not None:
        events.fence(e, i)


def _fence(e: Emitter, i: Instruction) -> None:
    e.do("fence seq_cst")


OPCODES: dict[str, Callable[[Emitter, Instruction], None]] = {
    **arithmetic.OPCODES,
    "getelementptr": pointers.gep,
    "load": memory.load,
    "store": memory.store,
    "atomicrmw": atomics.atomic_rmw,
    "cmpxchg": atomics.cmpxchg,
    "fence": _fence,
}
# Calls of ours, by their family.
FAMILIES: dict[Family, Callable[[Emitter, Instruction], None]] = {
    "position": positions.position,
    "memory": _start_of_memory,
    "barrier": barrier_spills.barrier,
    "simd barrier": _simd_barrier,
    "fence": _fence_call,
    "collective": collective.collective,
    "matrix load": elements.matrix,
    "matrix store": elements.matrix,
    "matrix product": elements.matrix,
    "log": logs.log,
    "spill": barrier_spills.spill,
    "reload": barrier_spills.reload,
    "state": barrier_spills.state,
    "row": rows.row,
    "marker": events.event,
}
