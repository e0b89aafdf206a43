"""Pointers: an offset from a root, or an address where the root is not known.

Threadgroup and private addresses count from the start of that memory.
"""

from __future__ import annotations

from metalloid.analysis.underlying_objects import UnderlyingObject
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.errors import NotVectorised
from metalloid.ir import Instruction
from metalloid.ir.gep import steps
from metalloid.ir.values import Int, Local, Value


def start_of(e: Emitter, root: UnderlyingObject) -> str:
    """The address a root stands for, as a scalar i64."""
    match root.kind:
        case "buffer":
            return e.launch_field(abi.BUFFERS + 8 * root.index, "i64")
        case "threadgroup":
            return e.launch_field(abi.LOCAL_OFFSETS + 8 * root.index, "i64")
        case "variable":
            return str(e.out.local_offsets[root.name])
        case "constant":
            return e.put(f"ptrtoint ptr @{_quoted(root.name)} to i64")
        case "private":
            return str(e.out.private[root.index].at)
    return "0"


def _quoted(name: str) -> str:
    return f'"{name}"'


def absolute(e: Emitter, value: Value, vector: bool) -> str:
    """A pointer as an address."""
    root = e.roots.root(value)
    assert root is not None
    ref = e.ref(value, vector)
    if root.kind == "unknown":
        return ref
    start = start_of(e, root)
    if vector:
        return e.put(f"add {e.vt('i64')} {ref}, {e.splat('i64', start)}")
    return e.put(f"add i64 {ref}, {start}")


def pointer_like(e: Emitter, value: Value, target: Local) -> Val:
    """A pointer in the form that `target` has: an offset, or an address where the target's root is unknown."""
    wanted = e.roots.root(target)
    assert wanted is not None
    return pointer_from(e, value, wanted)


def pointer_from(e: Emitter, value: Value, wanted: UnderlyingObject) -> Val:
    made = e.get(value)
    root = e.roots.root(value)
    assert root is not None
    if root == wanted or root.kind == "unknown":
        return made
    start = start_of(e, root)
    if made.base is not None:
        base = e.put(f"add i64 {made.base}, {start}")
        vec = e.put(f"add {e.vt('i64')} {made.vec}, {e.splat('i64', start)}") if made.vec else None
        return Val("i64", base, made.terms, vec)
    return Val("i64", vec=e.put(f"add {e.vt('i64')} {made.vec}, {e.splat('i64', start)}"))


def gep(e: Emitter, i: Instruction) -> None:
    shape = e.shape(i.value)
    if e.width == 1 or shape is not None:
        base = _sum(e, i, False)
        terms = shape.terms if shape else ()
        vec = _sum(e, i, True) if terms and i.name in e.needs else None
        e.set(i.name, Val("i64", base, terms, vec))
    else:
        e.set(i.name, Val("i64", vec=_sum(e, i, True)))


def _sum(e: Emitter, i: Instruction, vector: bool) -> str:
    """Base plus index times stride, for each index; indices are signed."""
    kind = e.vt("i64") if vector else "i64"
    pointer = e.get(i.operands[0])
    total = e.vector(i.operands[0]) if vector else pointer.base
    constant = 0
    for index, stride in steps(e.out.layout, i.element, i.operands[1:]):
        if index is None:
            constant += stride
            continue
        if isinstance(index, Int):
            constant += index.signed * stride
            continue
        made = e.get(index)
        if not vector and made.base is not None and not made.base.startswith("%"):
            constant += _signed(int(made.base), int(made.type[1:])) * stride
            continue
        ref = e.vector(index) if vector else made.base
        if made.type != "i64":
            if int(made.type[1:]) > 64:
                raise NotVectorised(f"[engine] an index of type {made.type} is not supported")
            narrow = e.vt(made.type) if vector else made.type
            ref = e.put(f"sext {narrow} {ref} to {kind}")
        if stride != 1:
            by = f"splat (i64 {stride})" if vector else str(stride)
            ref = e.put(f"mul {kind} {ref}, {by}")
        total = ref if total == "0" else e.put(f"add {kind} {total}, {ref}")
    if constant and not vector and total is not None and not total.startswith("%"):
        total = str(int(total) + constant)
    elif constant:
        assert total is not None
        by, start = f"splat (i64 {constant})" if vector else str(constant), total
        total = e.put(f"add {kind} {start}, {by}")
        if vector:
            e.sums[total] = start, constant
    assert total is not None
    return total


def _signed(value: int, bits: int) -> int:
    """A constant index as getelementptr reads it: `~lane` has the base 2^32-1, which is -1."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
