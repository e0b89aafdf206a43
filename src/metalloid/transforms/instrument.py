"""Mark every access that a checked run has to look at, and say what is to be looked at.

A marker is a call before the access: `check(site, pointer[, value])`; `lower/shadow/events` writes the test. Most
accesses need little. From the start and from each barrier, collect the accesses that can be reached without another
barrier for that memory: only two that occur together in one such set can collide. A threadgroup read that meets no
write there is only asked whether somebody wrote the place before. Threadgroups are never in order with each other, so
device memory goes by buffer: one that is only read needs its bounds, one that is only written no readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd

from metalloid.analysis.intervals import PROVED, is_proved
from metalloid.analysis.pointer_alignment import alignment
from metalloid.analysis.underlying_objects import UnderlyingObject, UnderlyingObjects
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.debug import location
from metalloid.ir.intrinsics import (
    BARRIER,
    BOUNDS,
    ENTRY,
    FENCE,
    MATRICES,
    PRIVATE,
    SIMD_BARRIER,
    lanes_marker_name,
    marker_name,
    matrix_access,
    moves,
)
from metalloid.ir.layout import DataLayout, data_layout, scalar_bytes
from metalloid.ir.loops import loops
from metalloid.ir.types import I32, VOID, PointerType
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.records import dataclass, replace
from metalloid.transforms.check_sites import Checks, CheckSite, Options

DEVICE, LOCAL = 1, 3  # address spaces
_FLAG = {DEVICE: 1, LOCAL: 2}  # of a barrier


@dataclass(frozen=True)
class _Access:
    instruction: Instruction
    block: str
    at: int
    root: UnderlyingObject
    pointer: Value
    size: int
    write: bool
    atomic: bool
    reads: bool

    @property
    def space(self) -> int:
        return self.root.space


def instrument(module: Module, options: Options) -> tuple[Module, Checks]:
    """The module with its markers. Private arrays must have their names already."""
    function = module.function[ENTRY]
    layout = data_layout(module.datalayout)
    roots = UnderlyingObjects(function)
    found = list(_accesses(function, roots))
    device = [a for a in found if a.space == DEVICE and a.root.kind != "constant"]
    unknown = any(a.root.kind == "unknown" for a in device)
    anywhere = _device_buffers(function, roots) if unknown else frozenset[int]()
    usage = _Usage(device, unknown or options.aliased, anywhere)
    together = _together(function, [a for a in found if a.space == LOCAL])
    changed = _changed_at_once(function, found)
    sites: list[CheckSite] = []
    marks: dict[tuple[str, int], Instruction] = {}
    whole_group: dict[tuple[str, int], Instruction] = {}  # before the first matrix operation of a block
    for n, access in enumerate(found):
        site = _site(module, function, layout, access, n, usage, together, options)
        if n in changed and access.root.index not in options.marked:
            site = replace(site, changed=True)
        if site.tested or (site.reads and access.root.kind == "buffer") or options.continue_after_fault:
            marks[access.block, access.at] = _marker(access, len(sites))
            sites.append(site)
    for block in function.blocks:
        for at, i in enumerate(block.instructions):
            if i.called.startswith(MATRICES) and not any(name == block.name for name, _ in whole_group):
                whole_group[block.name, at] = _lanes_marker(i, len(sites), Int(I32, 0))
                sites.append(_operation(module, i))
            if moves(i.called):
                marks[block.name, at] = _lanes_marker(i, len(sites))
                sites.append(_operation(module, i))
            elif i.called == BOUNDS:
                marks[block.name, at] = _lanes_marker(i, len(sites))
                size = i.operands[0]
                sites.append(
                    replace(_operation(module, i), size=_signed(size.value) if isinstance(size, Int) else 0)
                )
    marked = function.with_blocks(tuple(_marked(b, whole_group, marks) for b in function.blocks))
    local_sizes = [a.size for a in found if a.space == LOCAL]
    checks = Checks(
        tuple(sites),
        options,
        usage.granules(),
        min(local_sizes, default=4),
        usage.written,
        usage.followed | options.marked,
        unknown,
        tuple(dict.fromkeys(a.root for a in found if a.space == LOCAL and a.root.kind != "unknown")),
        any(i.called == SIMD_BARRIER for i in function.instructions()),
        tuple(i.name for i in function.instructions() if i.called == PRIVATE),
        all(is_proved(a.instruction) for a in found),
        _steps_of(function),
    )
    whole = module.with_function(marked)
    for mark in (*marks.values(), *whole_group.values()):
        whole = whole.declare(mark.called, VOID, tuple(o.type for o in mark.operands))
    return whole, checks


def _signed(word: int) -> int:
    """A constant of 32 bits: those below 0 tell of something else than an array."""
    return word - (1 << 32) if word >> 31 else word


def _steps_of(function: Function) -> int:
    """How often a threadgroup's serial grows."""
    forest = loops(function)
    total = 1
    for block in function.blocks:
        for i in block.instructions:
            if i.called in (BARRIER, SIMD_BARRIER, FENCE):
                if forest.nest(block.name):
                    return 0
                total += 1 if i.called == BARRIER else 32
    return total


def _marked(block: Block, *marks: Mapping[tuple[str, int], Instruction]) -> Block:
    code: list[Instruction] = []
    for n, i in enumerate(block.instructions):
        code += [some[block.name, n] for some in marks if (block.name, n) in some]
        if i.called != BOUNDS:  # its marker says it all
            code.append(i)
    return Block(block.name, tuple(code))


# ---- accesses -----------------------------------------------------------------------------------------------------


def _accesses(function: Function, roots: UnderlyingObjects) -> Iterator[_Access]:
    for block in function.blocks:
        for n, i in enumerate(block.instructions):
            made = _access(i)
            if made is not None:
                pointer, size, write, atomic, reads = made
                root = roots.root(pointer)
                assert root is not None
                yield _Access(i, block.name, n, root, pointer, size, write, atomic, reads)


def _access(i: Instruction) -> tuple[Value, int, bool, bool, bool] | None:
    """Pointer, bytes; whether it writes, is atomic, reads."""
    match i.opcode:
        case "load":
            return i.operands[0], scalar_bytes(i.type), False, bool(i.ordering), True
        case "store":
            return i.operands[1], scalar_bytes(i.operands[0].type), True, bool(i.ordering), False
        case "atomicrmw" | "cmpxchg":
            return i.operands[0], scalar_bytes(i.operands[-1].type), True, True, True
    matrix = matrix_access(i.called)
    return (i.operands[0], matrix.size, matrix.store, False, not matrix.store) if matrix else None


def _lanes_marker(i: Instruction, number: int, amount: Value | None = None) -> Instruction:
    operands = (Int(I32, number), amount or i.operands[1])
    name = lanes_marker_name(operands[1].type)
    return Instruction("call", VOID, operands, callee=Global(name, PointerType()), metadata=i.debug_only)


def _operation(module: Module, i: Instruction) -> CheckSite:
    return CheckSite(
        location(module, i), UnderlyingObject("unknown"), 0, 0, False, False, False, operation=i.called
    )


def read_once(module: Module) -> dict[int, int]:
    """Buffers that are only read, and not in loops, by the bytes of a read: each thread reads an element or a few."""
    function = module.function[ENTRY]
    roots, forest = UnderlyingObjects(function), loops(function)
    once: dict[int, int] = {}
    more: set[int] = set()
    for access in _accesses(function, roots):
        if access.space == DEVICE and access.root.kind == "unknown":
            return {}
        index = access.root.index
        if access.root.kind == "buffer" and (access.write or forest.nest(access.block)):
            more.add(index)
        elif access.root.kind == "buffer":
            once[index] = min(once.get(index, access.size), access.size)
    return {index: size for index, size in once.items() if index not in more}


def _marker(access: _Access, number: int) -> Instruction:
    i, pointer = access.instruction, access.pointer
    operands: tuple[Value, ...] = (Int(I32, number), pointer)
    if i.opcode == "call":
        operands = (*operands, *i.operands[1:])  # of a store also what is stored
    elif i.opcode == "store" and not i.ordering and not isinstance(i.operands[0].type, PointerType):
        operands = (*operands, i.operands[0])
    name = marker_name(*(o.type for o in operands[1:]), matrix=i.opcode == "call")
    said = i.debug_only
    if is_proved(i):
        said = (*said, (PROVED, "!{}"))
    return Instruction("call", VOID, operands, callee=Global(name, PointerType()), metadata=said)


# ---- what to look at ------------------------------------------------------------------------------------------------


def _device_buffers(function: Function, roots: UnderlyingObjects) -> frozenset[int]:
    """Where a pointer that went through memory may lead: recursive functions keep theirs on a stack."""
    made = (i for i in function.instructions() if i.name and i.type == PointerType(DEVICE))
    found = (roots.root(Local(i.name, i.type)) for i in made)
    return frozenset(root.index for root in found if root is not None and root.kind == "buffer")


class _Usage:
    """What a kernel does with each buffer."""

    def __init__(self, device: list[_Access], together: bool, anywhere: frozenset[int]) -> None:
        buffers = {a.root.index for a in device if a.root.kind == "buffer"} | anywhere
        self.sizes: dict[int, int] = {}
        read: set[int] = set()
        written: set[int] = set()
        for a in device:
            for index in buffers if together or a.root.kind != "buffer" else {a.root.index}:
                self.sizes[index] = min(self.sizes.get(index, 16), a.size)
                if a.write:
                    written.add(index)
                if a.reads and not (a.write and a.atomic):
                    read.add(index)
        self.written = frozenset(written)
        self.followed = frozenset(read & written)

    def granules(self) -> dict[int, int]:
        return dict(self.sizes)


def _site(
    module: Module,
    function: Function,
    layout: DataLayout,
    access: _Access,
    number: int,
    usage: _Usage,
    together: dict[int, tuple[bool, bool]],
    options: Options,
) -> CheckSite:
    i, root = access.instruction, access.root
    bias = dict(options.starts).get(root.index, 0) if root.kind == "buffer" else 0
    align = i.align
    if align <= 1 or gcd(alignment(function, layout, access.pointer), bias or 16) % align == 0:
        align = 0
    place = location(module, i)
    site = CheckSite(place, root, access.size, align, access.write, access.atomic, access.reads, bias=bias)
    if access.space == LOCAL:
        meets_read, meets_write = together[number]
        if access.write:
            return replace(site, writer=True, readers=meets_read, defined=access.reads)
        return replace(site, writer=meets_write, readers=meets_write, defined=True)
    if access.space != DEVICE or root.kind == "constant":
        return replace(site, write=False) if root.kind == "constant" else site
    anywhere = root.kind == "unknown"
    written = anywhere or root.index in usage.written
    followed = anywhere or root.index in usage.followed
    undefined = bool(options.undefined) if anywhere else root.index in options.undefined
    if access.write:
        return replace(site, writer=True, readers=followed, defined=undefined and access.reads)
    return replace(site, writer=written, readers=written or root.index in options.marked, defined=undefined)


def _together(function: Function, local: list[_Access]) -> dict[int, tuple[bool, bool]]:
    """For each access to threadgroup memory: whether it meets a plain read, and whether it meets a write."""
    numbers: dict[tuple[str, int], int] = {}
    count = 0
    order = {(a.block, a.at): a for a in local}
    for block in function.blocks:
        for n, i in enumerate(block.instructions):
            if _access(i) is not None:
                numbers[block.name, n] = count
                count += 1
    found = {numbers[place]: (False, False) for place in order}
    for start in _starts(function):
        reached = [(numbers[p], order[p]) for p in _reached(function, start) if p in order]
        for number, access in reached:
            reads, writes = found[number]
            for _, other in reached:
                if _apart(access.root, other.root):
                    continue
                reads = reads or (other.reads and not (other.write and other.atomic))
                writes = writes or other.write
            found[number] = reads, writes
    return found


def _changed_at_once(function: Function, found: list[_Access]) -> set[int]:
    """Reads whose place the same thread writes next, as in `s[t] += x`: the write would forget who read.

    Nothing may come between that another thread could meet such a read by: no write, and nothing that threads wait at.
    """
    numbers = {(a.block, a.at): n for n, a in enumerate(found)}
    changed: set[int] = set()
    for block in function.blocks:
        waiting: dict[tuple[Value, int], list[int]] = {}  # reads, by place
        for at, i in enumerate(block.instructions):
            number = numbers.get((block.name, at))
            if number is None:
                if i.opcode == "call" and not i.called.startswith("llvm."):
                    waiting.clear()
                continue
            access = found[number]
            if i.opcode == "load" and not access.atomic:
                waiting.setdefault((access.pointer, access.size), []).append(number)
                continue
            if i.opcode == "store" and not access.atomic:
                changed.update(waiting.get((access.pointer, access.size), ()))
            waiting.clear()
    return changed


def _apart(a: UnderlyingObject, b: UnderlyingObject) -> bool:
    return a != b and a.kind != "unknown" and b.kind != "unknown"


def _covers(i: Instruction) -> bool:
    """Whether a barrier puts threadgroup memory in order."""
    flags = i.operands[0] if i.called == BARRIER else None
    return isinstance(flags, Int) and bool(flags.value & _FLAG[LOCAL])


def _starts(function: Function) -> Iterator[tuple[str, int]]:
    yield function.entry.name, 0
    for block in function.blocks:
        for n, i in enumerate(block.instructions):
            if _covers(i):
                yield block.name, n + 1


def _reached(function: Function, start: tuple[str, int]) -> Iterator[tuple[str, int]]:
    """Places that can be reached without passing a barrier."""
    work, seen = [start], {start}
    while work:
        name, first = work.pop()
        block = function.block[name]
        for n in range(first, len(block.instructions)):
            if _covers(block.instructions[n]):
                break
            yield name, n
        else:
            for target in block.successors:
                if (target, 0) not in seen:
                    seen.add((target, 0))
                    work.append((target, 0))


__all__ = ["CheckSite", "Checks", "Options", "instrument", "read_once"]
