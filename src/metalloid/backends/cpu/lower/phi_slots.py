"""Values that edges bring to phis: each phi has a slot, which an edge stores to and the block reads.

Lanes may come by several edges before the block runs; each edge stores its own lanes' values and leaves the others'.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access import pointers
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.ir import Instruction
from metalloid.ir.types import PointerType
from metalloid.ir.values import Value


def take(e: Emitter, phi: Instruction) -> None:
    """Read what the edges brought; it is used up then."""
    if phi.name in e.stored or e.in_register(phi.name):
        return
    kind = lowered(phi.type)
    shape = e.shape(phi.value)
    base = vec = None
    if e.width == 1 or shape is not None:
        base = e.put(f"load {kind}, ptr {e.slot('in:' + phi.name, kind, False)}", "b")
    if e.width > 1 and (shape is None or phi.name in e.needs):
        slot = e.slot("in:" + phi.name, kind, True)
        vec = e.put(f"load {e.vt(kind)}, ptr {slot}", "v")
        e.do(f"store {e.vt(kind)} poison, ptr {slot}")
    e.set(phi.name, Val(kind, base, shape.terms if shape and e.width > 1 else (), vec))


def incoming(e: Emitter, phi: Instruction, value: Value) -> Val:
    """The value of an edge as the phi has it."""
    if isinstance(phi.type, PointerType):
        return pointers.pointer_like(e, value, phi.value)
    return e.get(value)


def bring(e: Emitter, phi: Instruction, made: Val, lanes: str | None, together: bool, partly: bool) -> None:
    """Store the values of the lanes that take an edge. `together`: all lanes of the phi's mask come by it;
    `partly`: only some of the lanes that run the block before."""
    kind = lowered(phi.type)
    shape = e.shape(phi.value)
    if e.width == 1 or shape is not None:
        slot = e.slot("in:" + phi.name, kind, False)
        base = made.base
        assert base is not None
        if partly and lanes is not None:
            old = e.put(f"load {kind}, ptr {slot}")
            base = e.put(f"select i1 {e.any(lanes)}, {kind} {base}, {kind} {old}")
        e.do(f"store {kind} {base}, ptr {slot}")
    if e.width > 1 and (shape is None or phi.name in e.needs):
        slot = e.slot("in:" + phi.name, kind, True)
        vec = e.expand(made)
        if not together and lanes is not None:
            old = e.put(f"load {e.vt(kind)}, ptr {slot}")
            vec = e.put(f"select {e.vt('i1')} {lanes}, {e.vt(kind)} {vec}, {e.vt(kind)} {old}")
        e.do(f"store {e.vt(kind)} {vec}, ptr {slot}")
