"""Who writes which instruction: tables from opcodes and intrinsics to functions.

What few kernels have (atomics, matrices, SIMD-groups, logs, checks) is imported where it is first written.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.intervals import is_proved, streamed
from metalloid.backends.cpu.lower.access import memory, pointers
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.backends.cpu.lower.ops import (
    arithmetic,
    barrier_spills,
    llvm_calls,
    positions,
    rows,
)
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


def _atomic(e: Emitter, i: Instruction) -> None:
    from metalloid.backends.cpu.lower.ops import atomics

    (atomics.cmpxchg if i.opcode == "cmpxchg" else atomics.atomic_rmw)(e, i)


def _collective(e: Emitter, i: Instruction) -> None:
    from metalloid.backends.cpu.lower.ops.collective import collective

    collective(e, i)


def _matrix(e: Emitter, i: Instruction) -> None:
    from metalloid.backends.cpu.lower.matrix.elements import matrix

    matrix(e, i)


def _log(e: Emitter, i: Instruction) -> None:
    from metalloid.backends.cpu.lower.ops.logs import log

    log(e, i)


def _event(e: Emitter, i: Instruction) -> None:
    from metalloid.backends.cpu.lower.shadow.events import event

    event(e, i)


def _simd_barrier(e: Emitter, i: Instruction) -> None:
    if e.out.check is not None:  # lanes go side by side
        from metalloid.backends.cpu.lower.shadow import events

        events.simd_barrier(e, i)


def _fence_call(e: Emitter, i: Instruction) -> None:
    e.do("fence seq_cst")
    if e.out.check is not None:
        from metalloid.backends.cpu.lower.shadow import events

        events.fence(e, i)


def _fence(e: Emitter, i: Instruction) -> None:
    e.do("fence seq_cst")


OPCODES: dict[str, Callable[[Emitter, Instruction], None]] = {
    **arithmetic.OPCODES,
    "getelementptr": pointers.gep,
    "load": memory.load,
    "store": memory.store,
    "atomicrmw": _atomic,
    "cmpxchg": _atomic,
    "fence": _fence,
}
# Calls of ours, by their family.
FAMILIES: dict[Family, Callable[[Emitter, Instruction], None]] = {
    "position": positions.position,
    "memory": _start_of_memory,
    "barrier": barrier_spills.barrier,
    "simd barrier": _simd_barrier,
    "fence": _fence_call,
    "collective": _collective,
    "matrix load": _matrix,
    "matrix store": _matrix,
    "matrix product": _matrix,
    "log": _log,
    "spill": barrier_spills.spill,
    "reload": barrier_spills.reload,
    "state": barrier_spills.state,
    "row": rows.row,
    "marker": _event,
}
