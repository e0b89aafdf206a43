"""The order that atomics keep with the accesses around them.

Metal's atomics are relaxed. Kernels that hand data from one threadgroup to another with them (the last one adds up
what the others left) put a barrier or a fence beside them. A barrier is no instruction here, since one processor runs
all of a threadgroup; so where processors see each other's stores in any order, the atomics themselves keep it. On x86
they do in any case. Nobody else sees threadgroup memory. A kernel that only counts (no other store to device memory,
no old value that anybody looks at) hands nothing over.
"""

from __future__ import annotations

from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import FENCE
from metalloid.ir.types import PointerType
from metalloid.ir.values import Value

THREADGROUP, PRIVATE = 3, 5
_KEPT = {"load": "acquire", "store": "release", "atomicrmw": "acq_rel", "cmpxchg": "acq_rel acquire"}
_FREE = {**dict.fromkeys(_KEPT, "monotonic"), "cmpxchg": "monotonic monotonic"}


def order(opcode: str, pointer: Value, counts: bool = False) -> str:
    """What LLVM is told of an atomic operation at `pointer`; `counts`: of a kernel that does nothing but count."""
    assert isinstance(pointer.type, PointerType)
    return (_FREE if counts or pointer.type.space == THREADGROUP else _KEPT)[opcode]


def watches(function: Function) -> bool:
    """Whether a thread may wait for what other threadgroups do: it looks at device memory that they change meanwhile,
    by atomics, by volatile loads, or between fences."""
    for i in function.instructions():
        if i.opcode == "fence" or i.called == FENCE or (_looks(i, function) and not _near(i.operands[0])):
            return True
    return False


def _looks(i: Instruction, function: Function) -> bool:
    match i.opcode:
        case "load":
            return bool(i.ordering) or "volatile" in i.flags
        case "atomicrmw":
            return bool(function.users.get(i.name))
    return i.opcode == "cmpxchg"


def _near(pointer: Value) -> bool:
    """Whether no other threadgroup sees the memory."""
    kind = pointer.type
    return isinstance(kind, PointerType) and kind.space in (THREADGROUP, PRIVATE)


def only_counts(function: Function) -> bool:
    """Whether no thread can tell in which order others' accesses to device memory come."""
    for i in function.instructions():
        pointer = {"store": 1, "load": 0, "atomicrmw": 0, "cmpxchg": 0}.get(i.opcode)
        if i.opcode in ("fence", "cmpxchg") or i.called == FENCE:
            return False
        if pointer is None or (i.opcode == "load" and not i.ordering):
            continue
        if not _near(i.operands[pointer]) and (i.opcode != "atomicrmw" or function.users.get(i.name)):
            return False
    return True
