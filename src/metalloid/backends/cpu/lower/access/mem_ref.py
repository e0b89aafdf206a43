"""Where an access goes: the memory a pointer points into, and which offsets are inside it."""

from __future__ import annotations

import math

from metalloid.analysis.underlying_objects import UnderlyingObject
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.text import Text
from metalloid.backends.specialize import FAR
from metalloid.ir import Instruction
from metalloid.ir.layout import scalar_bytes
from metalloid.ir.types import IntType, PointerType, Type
from metalloid.ir.values import Value
from metalloid.records import dataclass


@dataclass(frozen=True)
class MemRef:
    """What an access goes to: `ptr` + `offset`, of which bytes below `limit` may be a start (None: no check)."""

    root: UnderlyingObject
    ptr: str
    check: Val  # the offset that the bounds are about
    limit: str | None
    offset: Val  # the offset from `ptr`
    search: bool = False  # an address whose buffer has to be looked for
    multiple: int = 1  # the first lane's offset is a multiple of it
    moved: str = "0"  # by how much `check` is above `offset`


def resolve(e: Emitter, pointer: Value, size: int) -> MemRef:
    root = e.roots.root(pointer)
    assert root is not None
    val = e.get(pointer)
    shape = e.shape(pointer)
    if shape is not None and not shape.exact and any(c for c, _ in shape.terms):
        # Lanes of `lane * stride` may wrap round 2^32 more than once: the address is not the index that was proved.
        e.proved = False
    guard = e.guarded
    match root.kind:
        case "buffer":
            length = e.launch_field(abi.LENGTHS + 8 * root.index, "i64")
            start = e.launch_field(abi.BUFFERS + 8 * root.index, "ptr")
            if not e.guarded or e.out.check is not None:
                return MemRef(root, start, val, _limit(e, length, size), val, multiple=_multiple(e, pointer))
            # Bound with an offset, it may be read below: the bounds are the allocation's.
            below = _near(e, root.index, e.launch_field(abi.BELOW + 8 * root.index, "i64"), length)
            whole = e.at_start(f"whole{root.index}", f"add i64 {length}, {below}")
            check = _moved(e, val, below)
            multiple = _multiple(e, pointer)
            return MemRef(root, start, check, _limit(e, whole, size), val, multiple=multiple, moved=below)
        case "threadgroup":
            at = e.launch_field(abi.LOCAL_OFFSETS + 8 * root.index, "i64")
            length = e.launch_field(abi.LOCAL_LENGTHS + 8 * root.index, "i64")
            ptr = e.at_start(f"tg{root.index}", f"getelementptr i8, ptr %tg, i64 {at}")
            return MemRef(root, ptr, val, _limit(e, length, size), val)
        case "variable":
            at_number = e.out.local_offsets[root.name]
            ptr = e.at_start(f"var{root.name}", f"getelementptr i8, ptr %tg, i64 {at_number}")
            return MemRef(root, ptr, val, _static(e, e.out.local_sizes[root.name], size, val), val)
        case "constant":
            total = e.out.layout.size(e.out.module.variable[root.name].type)
            return MemRef(root, f'@"{root.name}"', val, _static(e, total, size, val), val)
        case "private":
            place = e.out.private[root.index]
            moved = private_offset(e, val, root)
            return MemRef(root, "%private", val, _static(e, place.size, size, val), moved)
    if root.space == 3:
        total_length = e.launch_field(abi.LOCAL_TOTAL, "i64")
        return MemRef(root, "%tg", val, _limit(e, total_length, size), val)
    if root.space == 5:
        frame = frame_size(e)
        return MemRef(root, "%private", val, _static(e, frame, size, val), frame_offset(e, val, 0))
    return MemRef(root, "null", val, "search" if guard else None, val, search=guard)


def _near(e: Emitter, index: int, below: str, length: str) -> str:
    """How much before a buffer may be read: with it no more than 4 GiB, in code that counts bytes in 32 bits."""
    if e.out.lanes.may_wrap32:
        return below
    e.out.declare("llvm.umin.i64", "declare i64 @llvm.umin.i64(i64, i64)")
    room = e.at_start(f"room{index}", f"sub i64 {FAR}, {length}")
    return e.at_start(f"below{index}", f"call i64 @llvm.umin.i64(i64 {below}, i64 {room})")


def _multiple(e: Emitter, pointer: Value) -> int:
    shape = e.shape(pointer)
    if shape is None or e.width == 1 or any(c for c, _ in shape.terms):
        return 1
    return math.gcd(shape.align, dict(shape.terms).get("", (0,))[0])


def frame_size(e: Emitter) -> int:
    return max((p.at + p.size for p in e.out.private.values() if not p.unit), default=0)


def frame_offset(e: Emitter, val: Val, at: int) -> Val:
    """Into a lane's own frame; frames lie one after the other."""
    return shifted(e, val, at, tuple(lane * frame_size(e) for lane in range(e.width)))


def private_offset(e: Emitter, val: Val, root: UnderlyingObject) -> Val:
    place = e.out.private[root.index]
    if not place.unit:
        return frame_offset(e, val, place.at)
    scaled = val
    if e.width > 1:
        terms = tuple((c, tuple(x * e.width for x in p)) for c, p in val.terms)
        base = e.put(f"mul i64 {val.base}, {e.width}") if val.base is not None else None
        vec = e.put(f"mul {e.vt('i64')} {val.vec}, splat (i64 {e.width})") if val.vec is not None else None
        scaled = Val("i64", base, terms, vec)
    return shifted(e, scaled, place.at, tuple(lane * place.unit for lane in range(e.width)))


def shifted(e: Emitter, val: Val, constant: int, pattern: tuple[int, ...]) -> Val:
    """A value plus a constant per lane."""
    base = vec = None
    terms = val.terms
    if val.base is not None:
        base = e.put(f"add i64 {val.base}, {constant}") if constant else val.base
        if e.width > 1:
            table = dict(val.terms)
            old = table.get("", (0,) * e.width)
            table[""] = tuple(a + b for a, b in zip(old, pattern, strict=True))
            terms = tuple(sorted((c, p) for c, p in table.items() if any(p)))
    if val.vec is not None:
        vec = e.put(f"add {e.vt('i64')} {val.vec}, {e.constants('i64', [constant + p for p in pattern])}")
        if val.base is None:
            return Val("i64", vec=vec)
    return Val("i64", base, terms, vec)


def _moved(e: Emitter, val: Val, by: str) -> Val:
    """A value plus the same number in all lanes."""
    base = e.put(f"add i64 {val.base}, {by}") if val.base is not None else None
    vec = e.put(f"add {e.vt('i64')} {val.vec}, {e.splat('i64', by)}") if val.vec is not None else None
    return Val("i64", base, val.terms, vec)


def _limit(e: Emitter, length: str, size: int) -> str | None:
    """One past the last offset at which `size` bytes may start."""
    if not e.guarded:
        return None
    key = f"limit:{length}:{size}"
    if key not in e.launch_values:
        less, small, limit = e.name("less"), e.name("small"), e.name("limit")
        e.prologue.append(f"  {less} = sub i64 {length}, {size - 1}")
        e.prologue.append(f"  {small} = icmp slt i64 {less}, 0")
        e.prologue.append(f"  {limit} = select i1 {small}, i64 0, i64 {less}")
        e.launch_values[key] = limit
    return e.launch_values[key]


def _static(e: Emitter, total: int, size: int, val: Val) -> str | None:
    if not e.guarded:
        return None
    limit = max(0, total - size + 1)
    if val.base is not None and not val.base.startswith("%") and all(not c for c, _ in val.terms):
        lanes = range(*e.range) if e.range else range(e.width)
        pattern = dict(val.terms).get("", (0,) * e.width)
        if all(0 <= int(val.base) + pattern[lane] < limit for lane in lanes):
            return None  # proved
    return str(limit)


def memory_type(type: Type) -> tuple[str, int]:
    """The type that is moved, and its bytes."""
    size = scalar_bytes(type)
    return (f"i{8 * size}" if isinstance(type, PointerType | IntType) else lowered(type)), size


def alignment(i: Instruction, size: int) -> int:
    """What the addresses of an access are multiples of; an element of three bytes promises nothing for the next."""
    return max(1, min(i.align, size & -size))


def from_memory(e: Emitter, type: Type, kind: str, ref: str, vector: bool) -> str:
    have, want = kind, lowered(type)
    if have == want:
        return ref
    a, b = (e.vt(have), e.vt(want)) if vector else (have, want)
    return e.put(f"{'zext' if isinstance(type, PointerType) else 'trunc'} {a} {ref} to {b}")


def to_memory(e: Emitter, type: Type, kind: str, ref: str, vector: bool) -> str:
    have, want = lowered(type), kind
    if have == want:
        return ref
    a, b = (e.vt(have), e.vt(want)) if vector else (have, want)
    return e.put(f"{'trunc' if isinstance(type, PointerType) else 'zext'} {a} {ref} to {b}")


def address(e: Text, ptr: str, offset: str) -> str:
    if ptr == "null":
        return e.put(f"inttoptr i64 {offset} to ptr")
    return e.put(f"getelementptr i8, ptr {ptr}, i64 {offset}") if offset != "0" else ptr
