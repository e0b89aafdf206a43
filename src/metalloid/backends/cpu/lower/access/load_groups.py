"""Loads of neighbouring elements by the same lanes: a row of a tile, the parts of a float4.

Each lane's elements lie side by side, so they are read as one short vector per lane and turned round: as many
vector loads as lanes and a network of interleavings, where element by element would take a gather each.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from metalloid.analysis.intervals import is_proved
from metalloid.backends.cpu.lower.access import masked_vectors
from metalloid.backends.cpu.lower.access.guard import (
    access_slowly,
    either,
    inside,
    stop_unless,
    told_unless,
)
from metalloid.backends.cpu.lower.access.lane_rows import (
    Members,
    beyond,
    borrowed,
    end_to_end,
    free_bounds,
    inside_mask,
    moved,
    per_register,
    reach_inside,
    rows_of_lanes,
    settle_rows,
    worth,
)
from metalloid.backends.cpu.lower.access.mem_ref import (
    MemRef,
    address,
    alignment,
    memory_type,
    resolve,
    shifted,
)
from metalloid.backends.cpu.lower.access.patterns import load_columns
from metalloid.backends.cpu.lower.access.plan import Spot, apart, registers, spots
from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.access.words import gathered, load_word
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import CHANGES, effect
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import FloatType, IntType, PointerType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass

MAX_FREE = 64  # lanes; each has its own load
MAX_BYTES = 16  # of a row; longer ones, turned round, do not fit the registers and were slower (but see `longest_row`)
SHARED_ROWS = 2  # registers with rows of their own that are turned round in longer pieces
LEAST_BORROWED = 16  # bytes of a row that idle lanes read as well
MAX_COPIED = 64  # of one that is only stored again, and not turned round


@dataclass(frozen=True)
class Group:
    """Loads at `base` + `offset`, the offsets one element apart."""

    base: Value
    loads: Members


def find(
    function: Function,
    block: Block,
    layout: DataLayout,
    apart: Callable[[Value], bool],
    longest: Callable[[Value, int], int],
) -> dict[str, Group]:
    """The groups of a block, by the name of the load that comes first. Pointers that are `apart` go to no memory;
    `longest` says how many bytes of a row, from a pointer on, are turned round at once."""
    opened: dict[tuple[str, str], list[tuple[int, Instruction, Value]]] = {}
    order: dict[str, int] = {}
    found: dict[str, Group] = {}

    def close(space: int | None = None) -> None:
        for key in [k for k, m in opened.items() if space is None or space_of(m[0][2]) == space]:
            for group in _sequences(function, opened.pop(key), layout, longest):
                first = min(group.loads, key=lambda m: order[m[1].name])[1].name
                found[first] = group

    for n, i in enumerate(block.body):
        if i.opcode in ("load", "store") and apart(i.operands[-1]):
            continue
        if i.opcode == "load" and not i.ordering and isinstance(i.type, FloatType | IntType):
            base, offset = constant_base(function, i.operands[0], layout)
            if isinstance(base, Local):
                order[i.name] = n
                opened.setdefault((base.name, str(i.type)), []).append((offset, i, base))
        elif i.opcode == "store" and not i.ordering:
            close(space_of(i.operands[1]))
        elif effect(i) & CHANGES:
            close()
    close()
    return found


def space_of(pointer: Value) -> int:
    """The address space of a pointer: memory of one is never that of another."""
    return pointer.type.space if isinstance(pointer.type, PointerType) else -1


_KINDS = ("half", "float")


def cast_of(function: Function, value: Value) -> Instruction | None:
    """The cast between half and float that a value is the result of."""
    i = function.definitions.get(value.name) if isinstance(value, Local) else None
    if i is None or i.opcode not in ("fptrunc", "fpext"):
        return None
    return i if str(i.type) in _KINDS and str(i.operands[0].type) in _KINDS else None


def is_copied(function: Function, i: Instruction) -> bool:
    """Whether a load's value is stored elsewhere, perhaps as half instead of float, and that is all."""
    users = function.users.get(i.name, ())
    if i.opcode != "load" or len(users) != 1:
        return False
    if cast_of(function, users[0].value) is not None:
        i, users = users[0], function.users.get(users[0].name, ())
    return len(users) == 1 and users[0].opcode == "store" and users[0].operands[0] == i.value


def longest_row(e: Emitter, base: Value, size: int) -> int:
    """Bytes of a row that are turned round at once: twice as many where few registers have rows of their own, one for
    each lane, and others the same, as in a tile that all its sums read. These are turned round once, and fit. A
    register of what one lane reads, which is not turned round."""
    target, shape = e.out.target, e.shape(base)
    if e.width == 1:
        return target.vector_bytes
    whole = target.vector_bytes == 4 * target.shuffle_part and e.mask is None and not e.out.brief
    if not whole or e.out.check is not None or shape is None or not shape.terms:
        return MAX_BYTES
    every = registers(spots(shape.terms, e.width), per_register(e, size))
    own, reach = set(every), 2 * target.shuffle_part
    if len(own) > SHARED_ROWS or len(every) < 2 * len(own):
        return MAX_BYTES
    fine = all(len(set(one)) * size == target.vector_bytes and apart(one, reach) for one in own)
    return reach if fine else MAX_BYTES


_Member = tuple[int, Instruction, Value]


def _sequences(
    function: Function, members: list[_Member], layout: DataLayout, longest: Callable[[Value, int], int]
) -> list[Group]:
    """Runs of at least two loads, one element apart."""
    size = layout.store_size(members[0][1].type)
    copied = all(is_copied(function, i) for _, i, _ in members)
    most = MAX_COPIED if copied else longest(members[0][2], size)
    by_offset: dict[int, _Member] = {}
    for member in members:
        by_offset.setdefault(member[0], member)
    made: list[list[_Member]] = []
    current: list[_Member] = []
    for offset in [*sorted(by_offset), None]:
        if current and (offset is None or offset != current[-1][0] + size or len(current) * size == most):
            usual = most if copied or len(current) * size == most else MAX_BYTES
            made += [current[n : n + usual // size] for n in range(0, len(current), usual // size)]
            current = []
        if offset is not None:
            current.append(by_offset[offset])
    return [Group(g[0][2], tuple((o, i) for o, i, _ in g)) for g in made if len(g) > 1]


def load_group(e: Emitter, group: Group) -> bool:
    """Write the loads of a group at the first of them, as far as that is better than one by one: `e.done` has them."""
    first = group.loads[0][1]
    kind, size = memory_type(first.type)
    shape = e.shape(group.base)
    root = e.roots.root(group.base)
    if e.out.continue_after_fault or e.out.brief:
        return False
    if e.width == 1:
        return _one_guard(e, group, kind, size)
    if kind != lowered(first.type):
        return False
    if root is None or root.kind in ("private", "unknown") or not isinstance(group.base.type, PointerType):
        return False
    if e.mask is not None:
        if shape is None:
            return _some_words(e, group, kind, size)
        return _some_rows(e, group, kind, size) or _borrowed_rows(e, group, kind, size)
    if shape is None:
        return _free_rows(e, group, kind, size)
    if not shape.terms:
        return False
    n, found = len(group.loads), spots(shape.terms, e.width)
    if not all(worth(part, n * size) for part in registers(found, per_register(e, size))):
        return _neighbours(e, group, found)
    e.proved = all(is_proved(i) for _, i in group.loads)
    place = resolve(e, group.base, size)
    align = min(alignment(i, size) for _, i in group.loads)
    low = group.loads[0][0]

    def read() -> tuple[list[list[str]], list[str]]:
        return load_columns(e, place, [s.beyond(low) for s in found], n, (kind, size), align, size)

    fine = reach_inside(e, place, place.limit, group.loads) if place.limit is not None else ""
    _take(e, group, place, fine, kind, size, align, read)
    return True


def _one_guard(e: Emitter, group: Group, kind: str, size: int) -> bool:
    """One lane's elements, side by side: one comparison for all of them, where there would be one for each."""
    root = e.roots.root(group.base)
    if not e.out.guard or e.out.robust or e.out.check is not None or kind != lowered(group.loads[0][1].type):
        return False
    if all(is_proved(i) for _, i in group.loads) or root is None or root.kind not in ("buffer", "variable"):
        return False
    e.proved = False
    place = resolve(e, group.base, size)
    low, high = group.loads[0][0], group.loads[-1][0]
    if place.limit is None or place.search or place.check.base is None or place.offset.base is None:
        return False
    begin = e.put(f"add i64 {place.check.base}, {low}")
    fine = inside(e, begin, str(high - low), place.limit)
    good, bad = e.fresh_label("in"), e.fresh_label("out")
    e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
    e.label(bad)
    for offset, i in group.loads:
        at = e.put(f"add i64 {place.check.base}, {offset}")
        told_unless(
            e, e.put(f"icmp ult i64 {at}, {place.limit}"), e.out.site(i, root, size), at, lambda: "", ""
        )
    e.do(f"br label %{good}")
    e.label(good)
    for offset, i in group.loads:
        at = address(e, place.ptr, e.put(f"add i64 {place.offset.base}, {offset}"))
        e.set(i.name, Val(kind, e.put(f"load {kind}, ptr {at}, align {alignment(i, size)}")))
        e.done.add(i.name)
    return True


def _neighbours(e: Emitter, group: Group, found: tuple[Spot, ...]) -> bool:
    """Elements of vectors and of the vectors beside them, as a[i] and a[i + 1] of a half4: each vector is a group."""
    steps = {b.offset - a.offset for a, b in itertools.pairwise(found) if a.part == b.part}
    step, low = min(steps, default=0), group.loads[0][0]
    if step <= 0 or group.loads[-1][0] - low < step:
        return False
    vectors: dict[int, list[tuple[int, Instruction]]] = {}
    for offset, i in group.loads:
        vectors.setdefault((offset - low) // step, []).append((offset, i))
    for loads in vectors.values():
        if len(loads) > 1:
            load_group(e, Group(group.base, tuple(loads)))
    return True


def _take(
    e: Emitter,
    group: Group,
    place: MemRef,
    fine: str,
    kind: str,
    size: int,
    align: int,
    read: Callable[[], tuple[list[list[str]], list[str]]],
) -> None:
    """The results of `read`, which gives the rows of all lanes and the columns; guarded where `fine` tells whether
    all is inside."""
    if fine and e.out.robust:
        results = either(
            e, fine, kind, lambda: read()[1], lambda: _one_by_one(e, group, place, kind, size, align)
        )
    else:
        if fine:
            places = [shifted(e, place.check, offset, (0,) * e.width) for offset, _ in group.loads]
            stop_unless(e, fine, group.loads[0][1], place, size, False, places)
        by_lane, results = read()
        if all(by_lane):
            e.rows[tuple(i.name for _, i in group.loads)] = by_lane
    for (_, i), ref in zip(group.loads, results, strict=True):
        e.set(i.name, Val(kind, vec=ref))
        e.done.add(i.name)


def _one_by_one(e: Emitter, group: Group, place: MemRef, kind: str, size: int, align: int) -> list[str]:
    return [
        access_slowly(e, moved(e, place, offset), e.out.site(i, place.root, size), kind, align, None)
        for offset, i in group.loads
    ]


def _free_rows(e: Emitter, group: Group, kind: str, size: int) -> bool:
    """Lanes anywhere, each with a row of its own: a gather of words, or as many loads as lanes; not as many gathers as
    elements."""
    n = len(group.loads)
    word = load_word(e, n, size)
    if (word is None and n * size < 16) or e.width > MAX_FREE:
        return False
    e.proved = all(is_proved(i) for _, i in group.loads)
    low = group.loads[0][0]
    place = resolve(e, group.base, size)
    align = min(alignment(i, size) for _, i in group.loads)
    fine = free_bounds(e, place, [offset for offset, _ in group.loads])

    def read() -> tuple[list[list[str]], list[str]]:
        offsets = e.expand(place.offset)
        if word is not None:
            return [[]], gathered(e, place.ptr, beyond(e, offsets, low), None, word, n, kind, align)
        return rows_of_lanes(e, place.ptr, offsets, low, n, (kind, size), align)

    _take(e, group, place, fine, kind, size, align, read)
    return True


def _some_words(e: Emitter, group: Group, kind: str, size: int) -> bool:
    """The same where some lanes are idle, of rows that are words."""
    n, low = len(group.loads), group.loads[0][0]
    word = load_word(e, n, size)
    if word is None or e.out.robust:
        return False
    e.proved = all(is_proved(i) for _, i in group.loads)
    place = resolve(e, group.base, size)
    if place.search:
        return False
    mask = inside_mask(e, place, group.loads, size, False)
    align = min(alignment(i, size) for _, i in group.loads)
    columns = gathered(e, place.ptr, beyond(e, e.expand(place.offset), low), mask, word, n, kind, align)
    for (_, i), ref in zip(group.loads, columns, strict=True):
        e.set(i.name, Val(kind, vec=ref))
        e.done.add(i.name)
    return True


def _some_rows(e: Emitter, group: Group, kind: str, size: int) -> bool:
    """The same of rows that lie end to end: a float4 of each thread, at the end of a row of threads."""
    n, low, loads = len(group.loads), group.loads[0][0], [i for _, i in group.loads]
    if not end_to_end(e, group.base, n * size):
        return False
    e.proved = all(is_proved(i) for i in loads)
    place = resolve(e, group.base, size)
    if place.search or place.offset.base is None:
        return False
    align, at = min(alignment(i, size) for i in loads), e.put(f"add i64 {place.offset.base}, {low}")

    def read() -> list[str]:
        whole = masked_vectors.load(e, address(e, place.ptr, at), n, kind, size, align)
        return [pick(e, kind, whole, e.width * n, list(range(k, e.width * n, n))) for k in range(n)]

    if place.limit is None:
        results = read()
    else:
        settle_rows(e, place, group.loads)
        fine = reach_inside(e, place, place.limit, group.loads)
        results = either(e, fine, kind, read, lambda: _one_by_one(e, group, place, kind, size, align))
    for i, ref in zip(loads, results, strict=True):
        e.set(i.name, Val(kind, vec=ref))
        e.done.add(i.name)
    return True


def _borrowed_rows(e: Emitter, group: Group, kind: str, size: int) -> bool:
    """The same of rows that do not: idle lanes read the row of the first lane that runs."""
    n, shape, loads = len(group.loads), e.shape(group.base), [i for _, i in group.loads]
    if shape is None or not shape.terms or e.range is not None:
        return False
    found = spots(shape.terms, e.width)
    if n * size < LEAST_BORROWED or not all(
        worth(p, n * size) for p in registers(found, per_register(e, size))
    ):
        return False
    e.proved = all(is_proved(i) for i in loads)
    place = resolve(e, group.base, size)
    if place.limit is not None or place.search:
        return False
    align = min(alignment(i, size) for i in loads)
    offsets = borrowed(e, e.expand(place.offset))
    _, columns = rows_of_lanes(e, place.ptr, offsets, group.loads[0][0], n, (kind, size), align)
    for i, ref in zip(loads, columns, strict=True):
        e.set(i.name, Val(kind, vec=ref))
        e.done.add(i.name)
    return True
