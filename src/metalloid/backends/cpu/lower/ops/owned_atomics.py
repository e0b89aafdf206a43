"""Atomics that need no lock, and lanes of atomics that need no loop.

One processor runs all of a threadgroup, so nobody else sees its memory: there an atomic is a load, an operation and a
store. Where all lanes take part they are written one behind the other; a loop over them would keep all
addresses and values on the stack to pick them by number. Lanes that go to neighbouring addresses are one vector.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.mem_ref import address, memory_type
from metalloid.backends.cpu.lower.access.plan import contiguous
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.ir import Instruction
from metalloid.ir.gep import steps
from metalloid.ir.intrinsics import BUFFER
from metalloid.ir.types import PointerType
from metalloid.ir.values import Int, Local, Value

MOST_LANES = 64  # that are written one behind the other
_THREADGROUP = 3
_PLAIN = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "fadd": "fadd", "fsub": "fsub"}
CHOSEN = {"umin": "ult", "umax": "ugt", "min": "slt", "max": "sgt"}


def owned(e: Emitter, pointer: Value, operation: str) -> bool:
    """Whether an operation may be done without a lock."""
    assert isinstance(pointer.type, PointerType)
    known = operation in _PLAIN or operation in CHOSEN or operation == "xchg"
    return pointer.type.space == _THREADGROUP and known and e.out.check is None


def update(e: Emitter, operation: str, at: str, kind: str, value: str, size: int) -> str:
    """Do it, and give the old value."""
    old = e.put(f"load {kind}, ptr {at}, align {size}")
    if operation in _PLAIN:
        new = e.put(f"{_PLAIN[operation]} {kind} {old}, {value}")
    elif operation == "xchg":
        new = value
    else:
        first = e.put(f"icmp {CHOSEN[operation]} {kind} {old}, {value}")
        new = e.put(f"select i1 {first}, {kind} {old}, {kind} {value}")
    e.do(f"store {kind} {new}, ptr {at}, align {size}")
    return old


def as_row(e: Emitter, i: Instruction, offset: Val, mask: str | None, start: str, size: int) -> bool:
    """Do it for all lanes at once, where each goes to the next address and nobody wants the old values."""
    kind, operation = lowered(i.operands[1].type), i.predicate
    mask = mask if mask is not None else e.mask
    if offset.base is None or not contiguous(offset.terms, e.width, size) or kind != memory_type(i.type)[0]:
        return False
    if operation not in _PLAIN or (mask is not None and not e.out.target.masks_memory):
        return False
    at, v, value = address(e, start, offset.base), e.vt(kind), e.vector(i.operands[1])
    if mask is None:
        old = e.put(f"load {v}, ptr {at}, align {size}")
        new = e.put(f"{_PLAIN[operation]} {v} {old}, {value}")
        e.do(f"store {v} {new}, ptr {at}, align {size}")
    else:
        old = masked.load(e, at, mask, kind, size)
        masked.store(e, at, mask, kind, size, e.put(f"{_PLAIN[operation]} {v} {old}, {value}"))
    return True


def numbered(e: Emitter, mask: str | None) -> bool:
    """Whether all lanes take part, and are few enough to be written one behind the other."""
    return mask is None and e.mask is None and e.width <= MOST_LANES


def lanes(e: Emitter, mask: str | None) -> Iterator[str]:
    """The lanes in turn: all by their numbers, or those of a mask in a loop."""
    if numbered(e, mask):
        yield from (str(n) for n in range(e.width))
    else:
        yield from e.lanes_loop(mask)


def whole_steps(e: Emitter, pointer: Value, size: int) -> bool:
    """Whether all lanes are whole elements away from the start of their memory, and so as even as that is."""
    while isinstance(pointer, Local):
        i = e.function.definitions[pointer.name]
        if i.opcode != "getelementptr":
            break
        for index, step in steps(e.out.layout, i.element, i.operands[1:]):
            if (step * index.value if isinstance(index, Int) else step) % size:
                return False
        pointer = i.operands[0]
    root = e.roots.root(pointer)
    return root is not None and root.kind in ("variable", "buffer") and not _moved(e, pointer)


def _moved(e: Emitter, pointer: Value) -> bool:
    """Whether it may be anywhere but at the start of its memory."""
    return isinstance(pointer, Local) and e.function.definitions[pointer.name].called != BUFFER
