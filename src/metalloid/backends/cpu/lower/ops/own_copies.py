"""Buffers that a kernel only adds to: a processor adds to a copy of its own.

A histogram, a sum of all threadgroups, a scatter of gradients: nobody looks at the numbers before the kernel is done.
An atomic addition takes as long as a dozen plain ones. So where a launch adds often to few numbers, the runtime gives
each thread that works on it a copy, and adds the copies to the buffer at the end (runtime/copies.h). Launches that add
seldom to many numbers get none, and go to the buffer itself: code asks which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from metalloid.analysis.counted import at_most
from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import Triple
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.cpu.own_copy import OwnCopy
from metalloid.ir import Function, Instruction
from metalloid.ir.gep import steps
from metalloid.ir.intrinsics import BUFFER
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import FLOAT, IntType, PointerType
from metalloid.ir.values import Local, Value

if TYPE_CHECKING:
    from metalloid.backends.cpu.lower.text import Text

MOST = 4  # of a kernel: launch.h has as many
ROUNDS = 8  # of a loop, as long as nobody knows
ANYWHERE = 1 << 32  # bytes: longer than what is copied


def only_added_to(function: Function, roots: UnderlyingObjects) -> dict[int, str]:
    """The buffers that a kernel does nothing with but add to them, and what kind of numbers."""
    kinds: dict[int, str] = {}
    if not any(
        i.opcode == "atomicrmw" and _adds(i, i.operands[0], function) for i in function.instructions()
    ):
        return {}  # as in most kernels: nobody need look at what all pointers are of
    for i in function.instructions():
        for value in (o for o in i.operands if isinstance(o.type, PointerType)):
            root = roots.root(value)
            if root is None or root.kind == "unknown":
                return {}
            if root.kind == "buffer" and i.opcode != "getelementptr":
                kind = _adds(i, value, function)
                if kinds.setdefault(root.index, kind) != kind:
                    kinds[root.index] = ""
    return {index: kind for index, kind in kinds.items() if kind}


def _adds(i: Instruction, pointer: Value, function: Function) -> str:
    """What kind of number an instruction adds to memory, if that is all it does; else ""."""
    if i.opcode != "atomicrmw" or i.operands[0] != pointer or function.users.get(i.name):
        return ""
    kind = i.operands[1].type
    if isinstance(kind, IntType) and i.predicate in ("add", "sub") and kind.bits in (32, 64):
        return f"i{kind.bits}"
    return "float" if kind == FLOAT and i.predicate in ("fadd", "fsub") else ""


def own_copies(
    function: Function, roots: UnderlyingObjects, layout: DataLayout, size: Triple
) -> dict[int, OwnCopy]:
    """By buffer; `size`: of the kernel's threadgroups."""
    kinds = dict(sorted(only_added_to(function, roots).items())[:MOST])
    if not kinds:
        return {}
    flow = Flow(function)
    lengths: dict[int, int] = {}
    rounds = dict.fromkeys(kinds, 0)
    for block, i in ((b.name, i) for b in function.blocks for i in b.instructions):
        root = roots.root(i.operands[0]) if i.opcode == "atomicrmw" else None
        if root is None or root.kind != "buffer" or root.index not in kinds:
            continue
        last = _last(flow, size, layout, i.operands[0], block)
        end = ANYWHERE if last is None else last + layout.size(i.operands[1].type)
        lengths[root.index] = max(lengths.get(root.index, 0), end)
        rounds[root.index] += ROUNDS ** min(flow.forest.depth(block), 2)
    return {
        index: OwnCopy(index, slot, kind, lengths[index] if lengths[index] < ANYWHERE else 0, rounds[index])
        for slot, (index, kind) in enumerate(kinds.items())
    }


def _last(flow: Flow, threads: Triple, layout: DataLayout, pointer: Value, block: str) -> int | None:
    """How far from the start of its buffer a pointer can be; None where that is not known."""
    if not isinstance(pointer, Local):
        return None
    i = flow.function.definitions[pointer.name]
    if i.called == BUFFER:
        return 0
    if i.opcode != "getelementptr" or i.element is None:
        return None
    total = _last(flow, threads, layout, i.operands[0], block)
    for index, size in steps(layout, i.element, i.operands[1:]):
        most = 1 if index is None else at_most(flow, threads, index, block)
        if total is None or most is None:
            return None
        total += most * size
    return total


LINE = 64  # bytes: as in runtime/copies.h


def either(
    e: Text, copy: OwnCopy, own: Callable[[str], object], shared: Callable[[], object], one: bool = False
) -> None:
    """Code for a thread that has a copy, where it is given the address, and for one that has none. `one`: all lanes add
    to one number. Where a copy is no longer than a line it has several ways, which gangs take in turn, so that nobody
    waits for the addition of the gang before."""
    behind = e.copy_field(copy.slot)
    has, none, done = (e.fresh_label(x) for x in ("own", "shared", "added"))
    e.do(f"br i1 {e.put(f'icmp ne i64 {behind}, 0')}, label %{has}, label %{none}")
    e.label(has)
    start = e.put(f"getelementptr i8, ptr %tg, i64 {e.put(f'and i64 {behind}, -{LINE}')}")
    if one and e.width > 1:
        turn = e.put(f"zext i32 {e.put('add i32 %gx, %j')} to i64")
        way = e.put(f"and i64 {turn}, {e.put(f'and i64 {behind}, {LINE - 1}')}")
        start = e.put(f"getelementptr i8, ptr {start}, i64 {e.put(f'mul i64 {way}, {LINE}')}")
    own(start)
    e.do(f"br label %{done}")
    e.label(none)
    shared()
    e.do(f"br label %{done}")
    e.label(done)
