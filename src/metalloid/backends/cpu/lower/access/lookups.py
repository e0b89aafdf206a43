"""Elements that lanes look up, on processors without gathers: a scalar load for each lane, from its index of 32 bits.

Addresses of 64 bits for all lanes fill twice the registers, and are taken out of them one by one again. Here the
buffer's start and the index stay apart until the load, which adds them itself. Whether all lanes are inside is said by
the least and the greatest index; idle lanes read what the one with the greatest reads.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.guard import access_slowly, either, settle, stop_unless
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Instruction
from metalloid.ir.gep import steps
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass


@dataclass(frozen=True)
class Lookup:
    """Lane l is at `base` + `stride` * index[l]: the index has 32 bits."""

    base: str
    index: str
    stride: int
    signed: bool


def lookup(e: Emitter, pointer: Value, place: MemRef) -> Lookup | None:
    """The index of a pointer that was made in this block; None where there is none, or the processor can gather."""
    if e.out.target.gathers or e.width == 1 or e.out.continue_after_fault or place.search:
        return None
    if place.root.kind not in ("buffer", "threadgroup", "variable") or not isinstance(pointer, Local):
        return None
    i = e.made_here(pointer)
    if i is None or i.opcode != "getelementptr":
        return None
    start = e.get(i.operands[0])
    if not start.uniform or start.base is None:
        return None
    constant, found = 0, None
    for index, stride in steps(e.out.layout, i.element, i.operands[1:]):
        if index is None or isinstance(index, Int):
            constant += stride if index is None else index.signed * stride
        elif found is not None or stride <= 0:
            return None
        else:
            found = index, stride
    if found is None or (narrow := _narrow(e, found[0])) is None:
        return None
    base = e.put(f"add i64 {start.base}, {constant}") if constant else start.base
    return Lookup(base, e.vector(narrow[0]), found[1], narrow[1])


def _narrow(e: Emitter, index: Value) -> tuple[Value, bool] | None:
    """The 32 bits that an index was widened from, and whether they have a sign."""
    if index.type == IntType(32):
        return (index, True) if e.made_here(index) is not None else None
    i = e.made_here(index)
    if i is None or i.opcode not in ("zext", "sext") or i.operands[0].type != IntType(32):
        return None
    return (i.operands[0], i.opcode == "sext") if e.made_here(i.operands[0]) is not None else None


def look_up(
    e: Emitter, i: Instruction, place: MemRef, found: Lookup, kind: str, size: int, align: int
) -> str:
    """0 in lanes that are off."""
    index, fine = found.index, None
    if place.limit is not None or e.mask is not None:
        index, fine = _examined(e, place, found)
    if fine is None:
        return _shown(e, _each(e, place, found, index, kind, align), kind)
    if e.mask is None and not e.out.robust:
        stop_unless(e, fine, i, place, size, False, [place.check])
        return _each(e, place, found, index, kind, align)
    site = e.out.site(i, place.root, size)
    settle(e, place.check, place.offset)
    return either(
        e,
        fine,
        kind,
        lambda: [_shown(e, _each(e, place, found, index, kind, align), kind)],
        lambda: [access_slowly(e, place, site, kind, align, None)],
    )[0]


def _shown(e: Emitter, got: str, kind: str) -> str:
    if e.mask is None:
        return got
    return e.put(f"select {e.vt('i1')} {e.mask}, {e.vt(kind)} {got}, {e.vt(kind)} zeroinitializer")


def _examined(e: Emitter, place: MemRef, found: Lookup) -> tuple[str, str | None]:
    """The index with idle lanes at a place of the others; and a flag that all are inside, where that is asked."""
    least, most = (-(1 << 31), (1 << 31) - 1) if found.signed else (0, 0)
    letter = "s" if found.signed else "u"
    index = e.put(f"freeze {e.vt('i32')} {found.index}")
    seen = _or_else(e, index, str(least))
    high = _reduced(e, f"{letter}max", seen)
    if e.mask is not None:
        index = _or_else(e, index, e.splat("i32", high))
    if place.limit is None:
        return index, None
    below = _check_base(e, place, found)
    top = e.put(f"add i64 {below}, {_scaled(e, high, found)}")
    fine = e.put(f"icmp ult i64 {top}, {place.limit}")
    if found.signed:
        low = _reduced(e, "smin", _or_else(e, found.index, str(most)))
        below = e.put(f"add i64 {below}, {_scaled(e, low, found)}")
        other = e.put(f"icmp ult i64 {below}, {place.limit}")
    else:
        other = e.put(f"icmp sge i64 {below}, 0")
    return index, e.put(f"and i1 {fine}, {other}")


def _check_base(e: Emitter, place: MemRef, found: Lookup) -> str:
    """What bounds count from may lie below what offsets count from."""
    return found.base if place.moved == "0" else e.put(f"add i64 {found.base}, {place.moved}")


def _or_else(e: Emitter, index: str, other: str) -> str:
    if e.mask is None:
        return index
    value = other if other.startswith("%") else f"splat (i32 {other})"
    return e.put(f"select {e.vt('i1')} {e.mask}, {e.vt('i32')} {index}, {e.vt('i32')} {value}")


def _reduced(e: Emitter, what: str, vector: str) -> str:
    name = f"llvm.vector.reduce.{what}.v{e.width}i32"
    e.out.declare(name, f"declare i32 @{name}({e.vt('i32')})")
    return e.put(f"call i32 @{name}({e.vt('i32')} {vector})")


def _scaled(e: Emitter, number: str, found: Lookup) -> str:
    wide = e.put(f"{'sext' if found.signed else 'zext'} i32 {number} to i64")
    return e.put(f"mul i64 {wide}, {found.stride}")


def _each(e: Emitter, place: MemRef, found: Lookup, index: str, kind: str, align: int) -> str:
    """Register by register, each lane's load into its place."""
    start = address(e, place.ptr, found.base)
    total = "poison"
    for lane in range(e.width):
        one = e.put(f"extractelement {e.vt('i32')} {index}, i64 {lane}")
        wide = e.put(f"{'sext' if found.signed else 'zext'} i32 {one} to i64")
        far = e.put(f"mul i64 {wide}, {found.stride}") if found.stride > 1 else wide
        got = e.put(f"load {kind}, ptr {e.put(f'getelementptr i8, ptr {start}, i64 {far}')}, align {align}")
        total = e.put(f"insertelement {e.vt(kind)} {total}, {kind} {got}, i64 {lane}")
    return total
