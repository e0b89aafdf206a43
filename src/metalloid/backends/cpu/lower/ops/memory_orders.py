"""The order that atomics keep with the accesses around them.

Metal's atomics are relaxed. Kernels that hand data from one threadgroup to another with them (the last one adds up
what the others left) put a barrier or a fence beside them. A barrier is no instruction here, since one processor runs
all of a threadgroup; so where processors see each other's stores in any order, the atomics themselves keep it. On x86
they do in any case. Nobody else sees threadgroup memory.
"""

from __future__ import annotations

from metalloid.ir.types import PointerType
from metalloid.ir.values import Value

THREADGROUP = 3
_KEPT = {"load": "acquire", "store": "release", "atomicrmw": "acq_rel", "cmpxchg": "acq_rel acquire"}
_FREE = {**dict.fromkeys(_KEPT, "monotonic"), "cmpxchg": "monotonic monotonic"}


def order(opcode: str, pointer: Value) -> str:
    """What LLVM is told of an atomic operation at `pointer`."""
    assert isinstance(pointer.type, PointerType)
    return (_FREE if pointer.type.space == THREADGROUP else _KEPT)[opcode]
