"""Loads and stores, by how the addresses of the lanes lie.

    uniform      one scalar access
    contiguous   one vector access, masked where lanes are idle
    pattern      the lanes' distances are known: vector loads over the span and a shuffle, or one load per
                 distinct address; stores run by run
    free         gather and scatter

Guarded, an access whose first or last lane falls outside goes to a cold copy that looks at each lane: the good
ones are carried out, the first bad one is reported. A masked tail gets there without a report.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalloid.errors import DeviceError
from metalloid.ir import Instruction
from metalloid.ir.types import IntType, PointerType, Type
from metalloid.ir.values import Value
from metalloid.passes import abi
from metalloid.passes.emit.core import Emitter, Val, lowered
from metalloid.passes.roots import Root
from metalloid.passes.shape import Terms


@dataclass(frozen=True)
class Place:
    """What an access goes to: `ptr` + `offset`, of which bytes below `limit` may be a start (None: no check)."""

    root: Root
    ptr: str
    check: Val  # the offset that the bounds are about
    limit: str | None
    offset: Val  # the offset from `ptr`
    search: bool = False  # an address whose buffer has to be looked for


def where(e: Emitter, pointer: Value, size: int) -> Place:
    root = e.roots.root(pointer)
    assert root is not None
    val = e.get(pointer)
    guard = e.out.guard
    match root.kind:
        case "buffer":
            length = e.launch_field(abi.LENGTHS + 8 * root.index, "i64")
            return Place(
                root, e.launch_field(abi.BUFFERS + 8 * root.index, "ptr"), val, _limit(e, length, size), val
            )
        case "threadgroup":
            at = e.launch_field(abi.LOCAL_OFFSETS + 8 * root.index, "i64")
            length = e.launch_field(abi.LOCAL_LENGTHS + 8 * root.index, "i64")
            ptr = e.at_start(f"tg{root.index}", f"getelementptr i8, ptr %tg, i64 {at}")
            return Place(root, ptr, val, _limit(e, length, size), val)
        case "variable":
            at_number = e.out.local_offsets[root.name]
            ptr = e.at_start(f"var{root.name}", f"getelementptr i8, ptr %tg, i64 {at_number}")
            return Place(root, ptr, val, _static(e, e.out.local_sizes[root.name], size, val), val)
        case "constant":
            total = e.out.layout.size(e.out.module.variable[root.name].type)
            return Place(root, f'@"{root.name}"', val, _static(e, total, size, val), val)
        case "private":
            place = e.out.private[root.index]
            moved = private_offset(e, val, root)
            return Place(root, "%private", val, _static(e, place.size, size, val), moved)
    if root.space == 3:
        total_length = e.launch_field(abi.LOCAL_TOTAL, "i64")
        return Place(root, "%tg", val, _limit(e, total_length, size), val)
    if root.space == 5:
        frame = frame_size(e)
        return Place(root, "%private", val, _static(e, frame, size, val), frame_offset(e, val, 0))
    return Place(root, "null", val, "search" if guard else None, val, search=guard)


def frame_size(e: Emitter) -> int:
    return max((p.at + p.size for p in e.out.private.values() if not p.unit), default=0)


def frame_offset(e: Emitter, val: Val, at: int) -> Val:
    """Into a lane's own frame; frames lie one after the other."""
    return shifted(e, val, at, tuple(lane * frame_size(e) for lane in range(e.width)))


def private_offset(e: Emitter, val: Val, root: Root) -> Val:
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


def _limit(e: Emitter, length: str, size: int) -> str | None:
    """One past the last offset at which `size` bytes may start."""
    if not e.out.guard:
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
    if not e.out.guard:
        return None
    limit = max(0, total - size + 1)
    if val.base is not None and not val.base.startswith("%") and all(not c for c, _ in val.terms):
        lanes = range(*e.range) if e.range else range(e.width)
        pattern = dict(val.terms).get("", (0,) * e.width)
        if all(0 <= int(val.base) + pattern[lane] < limit for lane in lanes):
            return None  # proved
    return str(limit)


# ---- what a type is in memory ------------------------------------------------------------------------------


def memory_type(type: Type) -> tuple[str, int]:
    """The type that is moved, and its bytes."""
    if isinstance(type, PointerType):
        return ("i32", 4) if type.space in (3, 5) else ("i64", 8)
    if isinstance(type, IntType) and type.bits % 8:
        whole = -(-type.bits // 8)
        return f"i{8 * whole}", whole
    kind = lowered(type)
    bits = {"half": 16, "float": 32, "double": 64}.get(kind) or int(kind[1:])
    return kind, bits // 8


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


# ---- instructions -------------------------------------------------------------------------------------------


def load(e: Emitter, i: Instruction) -> None:
    kind, size = memory_type(i.type)
    place = where(e, i.operands[0], size)
    align = max(1, (i.align and min(i.align, size)) or 1)
    order = " atomic" if i.ordering else ""
    tail = " monotonic" if i.ordering else ""
    if place.offset.uniform:
        assert place.offset.base is not None

        def read() -> str:
            at = address(e, place.ptr, place.offset.base or "0")
            return e.put(f"load{order} {kind}, ptr {at}{tail}, align {size if order else align}", "ld")

        ref = guarded_scalar(e, i, place, size, False, kind, read)
        e.set(i.name, Val(lowered(i.type), base=from_memory(e, i.type, kind, ref, False)))
        return
    if i.ordering:
        ref = _lane_by_lane(e, i, place, kind, size)
    else:
        ref = vector_load(e, i, place, kind, size, align)
    e.set(i.name, Val(lowered(i.type), vec=from_memory(e, i.type, kind, ref, True)))


def _lane_by_lane(e: Emitter, i: Instruction, place: Place, kind: str, size: int) -> str:
    mask = checked_mask(e, i, place, size, False)
    offsets = e.expand(place.offset)
    total = e.alloca(e.vt(kind), "atomic")
    e.do(f"store {e.vt(kind)} zeroinitializer, ptr {total}")
    for lane in e.lanes_loop(mask):
        offset = e.put(f"extractelement {e.vt('i64')} {offsets}, i32 {lane}")
        at = address(e, place.ptr, offset)
        one = e.put(f"load atomic {kind}, ptr {at} monotonic, align {size}")
        where_to = e.put(f"getelementptr {kind}, ptr {total}, i32 {lane}")
        e.do(f"store {kind} {one}, ptr {where_to}")
    return e.put(f"load {e.vt(kind)}, ptr {total}")


def store(e: Emitter, i: Instruction) -> None:
    value, pointer = i.operands
    value_type = value.type
    kind, size = memory_type(value_type)
    place = where(e, pointer, size)
    align = max(1, (i.align and min(i.align, size)) or 1)
    if isinstance(value_type, PointerType):
        from metalloid.passes.emit.pointers import absolute

        vector = not e.get(value).uniform
        made = Val("i64", vec=absolute(e, value, True)) if vector else Val("i64", absolute(e, value, False))
    else:
        made = e.get(value)
    if place.offset.uniform:
        ref = (
            made.base
            if made.uniform
            else e.put(
                f"extractelement {e.vt(made.type)} {e.vector(value) if made.vec is None else made.vec}, i32 {e.last(e.mask)}"
            )
        )
        assert ref is not None
        ref = to_memory(e, value_type, kind, ref, False)
        order, tail = (" atomic", " monotonic") if i.ordering else ("", "")

        def write() -> str:
            at = address(e, place.ptr, place.offset.base or "0")
            e.do(f"store{order} {kind} {ref}, ptr {at}{tail}, align {size if order else align}")
            return ""

        guarded_scalar(e, i, place, size, True, "", write)
        return
    vec = to_memory(e, value_type, kind, made.vec or e.expand(made), True)
    if i.ordering:
        mask = checked_mask(e, i, place, size, True)
        offsets = e.expand(place.offset)
        for lane in e.lanes_loop(mask):
            offset = e.put(f"extractelement {e.vt('i64')} {offsets}, i32 {lane}")
            one = e.put(f"extractelement {e.vt(kind)} {vec}, i32 {lane}")
            e.do(f"store atomic {kind} {one}, ptr {address(e, place.ptr, offset)} monotonic, align {size}")
        return
    vector_store(e, i, place, kind, size, align, vec)


def address(e: Emitter, ptr: str, offset: str) -> str:
    if ptr == "null":
        return e.put(f"inttoptr i64 {offset} to ptr")
    return e.put(f"getelementptr i8, ptr {ptr}, i64 {offset}") if offset != "0" else ptr


# ---- guards --------------------------------------------------------------------------------------------------


def fault(e: Emitter, site: int, offset: str, lane: str) -> None:
    """Report; the launch stops at the next poll."""
    e.out.declare(abi.FAULT, f"declare void @{abi.FAULT}(ptr, i32, i64, i32, i32, i32, i32) cold")
    index = e.put(f"add i32 %first, {lane}") if lane != "0" else "%first"
    e.do(
        f"call void @{abi.FAULT}(ptr %launch, i32 {site}, i64 {offset}, i32 {index}, i32 %gx, i32 %gy, i32 %gz)"
    )


def guarded_scalar(e: Emitter, i: Instruction, place: Place, size: int, write: bool, kind: str, act) -> str:  # type: ignore[no-untyped-def]
    """An access at one address; `act` writes it. Outside: zero, and a report."""
    if place.limit is None:
        return act()  # type: ignore[no-any-return]
    site = e.out.site(i, place.root, size, write)
    offset = place.check.base
    assert offset is not None
    good, bad, join = (e.fresh_label(x) for x in ("in", "out", "join"))
    if place.search:
        outside = search(e, offset, size, write)
        fine = e.put(f"icmp eq i32 {outside}, 0")
    else:
        fine = e.put(f"icmp ult i64 {offset}, {place.limit}")
    lane = e.first(e.mask) if e.width > 1 else "0"
    e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
    e.label(bad)
    fault(e, site, offset, lane)
    e.do(f"br label %{join}")
    e.label(good)
    ref = act()
    e.do(f"br label %{join}")
    e.label(join)
    if not kind:
        return ""
    zero = {"float": "0.0", "half": "0xH0000", "double": "0.0"}.get(kind, "0")
    return e.put(f"phi {kind} [ {ref}, %{good} ], [ {zero}, %{bad} ]")


def search(e: Emitter, address: str, size: int, write: bool) -> str:
    e.out.declare(abi.OUTSIDE, f"declare i32 @{abi.OUTSIDE}(ptr, i64, i64, i32)")
    return e.put(f"call i32 @{abi.OUTSIDE}(ptr %launch, i64 {address}, i64 {size}, i32 {int(write)})")


def checked_mask(e: Emitter, i: Instruction, place: Place, size: int, write: bool) -> str | None:
    """The mask less the lanes that are outside, which are reported."""
    if place.limit is None:
        return e.mask
    offsets = e.expand(place.check)
    if place.search:
        total = e.alloca(e.vt("i8"), "inside")
        e.do(f"store {e.vt('i8')} zeroinitializer, ptr {total}")
        for lane in e.lanes_loop(e.mask):
            at = e.put(f"extractelement {e.vt('i64')} {offsets}, i32 {lane}")
            outside = search(e, at, size, write)
            flag = e.put(f"trunc i32 {e.put(f'xor i32 {outside}, 1')} to i8")
            e.do(f"store i8 {flag}, ptr {e.put(f'getelementptr i8, ptr {total}, i32 {lane}')}")
        flags = e.put(f"load {e.vt('i8')}, ptr {total}")
        inside = e.put(f"icmp ne {e.vt('i8')} {flags}, zeroinitializer")
    else:
        inside = e.put(f"icmp ult {e.vt('i64')} {offsets}, {e.splat('i64', place.limit)}")
    good = e.both(e.mask, inside)
    missing = e.put(f"xor {e.vt('i1')} {inside}, splat (i1 true)")
    bad = e.both(e.mask, missing)
    bad = e.put(f"freeze {e.vt('i1')} {bad}")
    some, report, after = e.any(bad), e.fresh_label("out"), e.fresh_label("after")
    e.do(f"br i1 {some}, label %{report}, label %{after}, !prof !2")
    e.label(report)
    site = e.out.site(i, place.root, size, write)
    lane = e.first(bad)
    fault(e, site, e.put(f"extractelement {e.vt('i64')} {offsets}, i32 {lane}"), lane)
    e.do(f"br label %{after}")
    e.label(after)
    return good


def bounds(e: Emitter, val: Val) -> tuple[str, str]:
    """The lowest and the highest offset of all lanes."""
    assert val.base is not None
    low = high = val.base
    for coefficient, pattern in val.terms:
        if coefficient:
            scalar = e.coefficient(coefficient, "i64")
            a, b = e.put(f"mul i64 {scalar}, {min(pattern)}"), e.put(f"mul i64 {scalar}, {max(pattern)}")
            less = e.put(f"icmp slt i64 {a}, {b}")
            least = e.put(f"select i1 {less}, i64 {a}, i64 {b}")
            most = e.put(f"select i1 {less}, i64 {b}, i64 {a}")
        else:
            least, most = str(min(pattern)), str(max(pattern))
        low = e.put(f"add i64 {low}, {least}") if least != "0" else low
        high = e.put(f"add i64 {high}, {most}") if most != "0" else high
    return low, high


def _spans(e: Emitter, place: Place) -> str:
    """Whether all lanes are inside, idle ones too."""
    low, high = bounds(e, place.check)
    a = e.put(f"icmp ult i64 {low}, {place.limit}")
    if low == high:
        return a
    b = e.put(f"icmp ult i64 {high}, {place.limit}")
    return e.put(f"and i1 {a}, {b}")


# ---- vectors ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """Lanes whose addresses differ by constants: `offsets` from base + `key`."""

    key: tuple[tuple[str, int], ...]  # coefficient -> its multiple
    lanes: tuple[int, ...]
    offsets: tuple[int, ...]


def runs(terms: Terms, width: int) -> list[Run]:
    """Lanes by their symbolic part."""
    found: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for lane in range(width):
        key = tuple((c, p[lane]) for c, p in terms if c and p[lane])
        found.setdefault(key, []).append(lane)
    plain = dict(terms).get("", (0,) * width)
    return [Run(k, tuple(v), tuple(plain[lane] for lane in v)) for k, v in found.items()]


def contiguous(terms: Terms, size: int) -> bool:
    return (
        len(terms) == 1
        and terms[0][0] == ""
        and all(b - a == size for a, b in zip(terms[0][1], terms[0][1][1:], strict=False))
    )


def _by_range(e: Emitter, place: Place, size: int) -> bool:
    """Whether the lanes that run are known and their addresses lie side by side."""
    return (
        e.range is not None
        and contiguous(place.offset.terms, size)
        and place.check is place.offset
        and not place.search
    )


def _range_check(
    e: Emitter, i: Instruction, place: Place, size: int, write: bool
) -> tuple[str, tuple[str, str]] | None:
    """Where the first lane's access starts; and the labels of the access and of what follows it."""
    assert e.range is not None and place.check.base is not None
    first, last = e.range
    pattern = dict(place.check.terms)[""]
    start = e.put(f"add i64 {place.check.base}, {pattern[first]}")
    good, bad, join = (e.fresh_label(x) for x in ("in", "out", "join"))
    if place.limit is not None:
        end = e.put(f"add i64 {start}, {pattern[last - 1] - pattern[first]}")
        a, b = e.put(f"icmp ult i64 {start}, {place.limit}"), e.put(f"icmp ult i64 {end}, {place.limit}")
        e.do(f"br i1 {e.put(f'and i1 {a}, {b}')}, label %{good}, label %{bad}, !prof !1")
        e.label(bad)
    return start, (good, join)


def _range_load(e: Emitter, i: Instruction, place: Place, kind: str, size: int, align: int) -> str:
    assert e.range is not None
    first, last = e.range
    found = _range_check(e, i, place, size, False)
    assert found is not None
    start, (good, join) = found
    slow = ""
    if place.limit is not None:
        slow = _slow(e, place, e.out.site(i, place.root, size), kind, align, None)
        text = ", ".join(f"i32 {n}" for n in range(first, last))
        slow = e.put(
            f"shufflevector {e.vt(kind)} {slow}, {e.vt(kind)} poison, <{last - first} x i32> <{text}>"
        )
        bad = next(line[:-1] for line in reversed(e.lines) if line.endswith(":"))
        e.do(f"br label %{join}")
        e.label(good)
    count = last - first
    part = e.put(f"load <{count} x {kind}>, ptr {address(e, place.ptr, start)}, align {align}")
    if place.limit is not None:
        e.do(f"br label %{join}")
        e.label(join)
        part = e.put(f"phi <{count} x {kind}> [ {part}, %{good} ], [ {slow}, %{bad} ]")
    picks = ", ".join(f"i32 {n - first if first <= n < last else 'poison'}" for n in range(e.width))
    return e.put(
        f"shufflevector <{count} x {kind}> {part}, <{count} x {kind}> poison, <{e.width} x i32> <{picks}>"
    )


def _range_store(
    e: Emitter, i: Instruction, place: Place, kind: str, size: int, align: int, value: str
) -> None:
    assert e.range is not None
    first, last = e.range
    found = _range_check(e, i, place, size, True)
    assert found is not None
    start, (good, join) = found
    if place.limit is not None:
        _slow(e, place, e.out.site(i, place.root, size, True), kind, align, value)
        e.do(f"br label %{join}")
        e.label(good)
    picks = ", ".join(f"i32 {n}" for n in range(first, last))
    part = e.put(f"shufflevector {e.vt(kind)} {value}, {e.vt(kind)} poison, <{last - first} x i32> <{picks}>")
    e.do(f"store <{last - first} x {kind}> {part}, ptr {address(e, place.ptr, start)}, align {align}")
    if place.limit is not None:
        e.do(f"br label %{join}")
        e.label(join)


def _maskable(place: Place, size: int) -> bool:
    """Whether a masked access does it, and the bounds are about the same lanes."""
    if not contiguous(place.offset.terms, size):
        return False
    return place.limit is None or place.check is place.offset or place.check.uniform


MAX_RUNS = 32


def regular(e: Emitter, val: Val, size: int) -> list[Run] | None:
    """The runs of an access, where going run by run is worth it."""
    if val.base is None or not val.terms:
        return None
    found = runs(val.terms, e.width)
    if len(found) > MAX_RUNS:
        return None
    return found


def vector_load(e: Emitter, i: Instruction, place: Place, kind: str, size: int, align: int) -> str:
    offset = place.offset
    if _by_range(e, place, size):
        return _range_load(e, i, place, kind, size, align)
    plan = regular(e, offset, size)
    if plan is not None and (e.mask is None or _maskable(place, size)):
        if place.limit is None:
            return _fast_load(e, place, plan, kind, size, align)
        if not place.search and place.check.base is not None:
            fine = _spans(e, place)
            return _with_slow_load(e, i, place, fine, plan, kind, size, align)
    mask = checked_mask(e, i, place, size, False)
    return gather(e, place.ptr, e.expand(offset), mask, kind, align)


def _with_slow_load(
    e: Emitter, i: Instruction, place: Place, fine: str, plan: list[Run], kind: str, size: int, align: int
) -> str:
    site = e.out.site(i, place.root, size)
    good, bad, join = (e.fresh_label(x) for x in ("in", "out", "join"))
    _part(e, place, fine, good, bad)
    slow = _slow(e, place, site, kind, align, None)
    e.do(f"br label %{join}")
    e.label(good)
    quick = _fast_load(e, place, plan, kind, size, align)
    e.do(f"br label %{join}")
    e.label(join)
    return e.put(f"phi {e.vt(kind)} [ {quick}, %{good} ], [ {slow}, %{bad} ]")


def _part(e: Emitter, place: Place, fine: str, good: str, bad: str) -> None:
    """To the quick copy where all lanes are inside, or where those from the first to the last set lane are;
    else to the cold one, which begins here."""
    if e.mask is None or place.check.uniform:
        e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
        e.label(bad)
        return
    edge = e.fresh_label("edge")
    e.do(f"br i1 {fine}, label %{good}, label %{edge}, !prof !1")
    e.label(edge)
    pattern = dict(place.check.terms)[""]
    ends = []
    for lane in (e.first(e.mask), e.last(e.mask)):
        wide = e.put(f"sext i32 {lane} to i64")
        step = e.put(f"mul i64 {wide}, {pattern[1] - pattern[0]}")
        at = e.put(f"add i64 {e.put(f'add i64 {place.check.base}, {pattern[0]}')}, {step}")
        ends.append(e.put(f"icmp ult i64 {at}, {place.limit}"))
    both = e.put(f"and i1 {ends[0]}, {ends[1]}")
    e.do(f"br i1 {both}, label %{good}, label %{bad}, !prof !1")
    e.label(bad)


def _slow(e: Emitter, place: Place, site: int, kind: str, align: int, value: str | None) -> str:
    """The cold copy: a helper that checks, reports and accesses lane by lane."""
    name = _slow_helper(e, kind, align, value is not None)
    check, offset = e.expand(place.check), e.expand(place.offset)
    arguments = (
        f"ptr {place.ptr}, {e.vt('i64')} {check}, {e.vt('i64')} {offset}, {e.vt('i1')} {e.mask_ref()}, "
        f"i64 {place.limit}, ptr %launch, i32 {site}, i32 %first, i32 %gx, i32 %gy, i32 %gz"
    )
    if value is None:
        return e.put(f"call {e.vt(kind)} @{name}({arguments})")
    e.do(f"call void @{name}({arguments}, {e.vt(kind)} {value})")
    return ""


def _slow_helper(e: Emitter, kind: str, align: int, write: bool) -> str:
    name = f"slow.{'store' if write else 'load'}.{kind}.{align}"
    if name in e.out.helpers:
        return name
    w, vk, vi, vb = e.width, e.vt(kind), e.vt("i64"), e.vt("i1")
    suffix = {"float": "f32", "half": "f16", "double": "f64"}.get(kind, kind)
    e.out.declare(abi.FAULT, f"declare void @{abi.FAULT}(ptr, i32, i64, i32, i32, i32, i32) cold")
    e.out.declare(f"llvm.cttz.i{w}", f"declare i{w} @llvm.cttz.i{w}(i{w}, i1)")
    lane = "%n" if w == 32 else "%lane"
    resize = "" if w == 32 else f"  %lane = {'trunc' if w > 32 else 'zext'} i{w} %n to i32\n"
    if write:
        act = f"  call void @llvm.masked.scatter.v{w}{suffix}.v{w}p0({vk} %value, <{w} x ptr> align {align} %at, {vb} %good)\n  ret void\n"
        e.out.declare(
            f"llvm.masked.scatter.v{w}{suffix}.v{w}p0",
            f"declare void @llvm.masked.scatter.v{w}{suffix}.v{w}p0({vk}, <{w} x ptr>, {vb})",
        )
    else:
        act = f"  %r = call {vk} @llvm.masked.gather.v{w}{suffix}.v{w}p0(<{w} x ptr> align {align} %at, {vb} %good, {vk} zeroinitializer)\n  ret {vk} %r\n"
        e.out.declare(
            f"llvm.masked.gather.v{w}{suffix}.v{w}p0",
            f"declare {vk} @llvm.masked.gather.v{w}{suffix}.v{w}p0(<{w} x ptr>, {vb}, {vk})",
        )
    e.out.helpers[name] = (
        f"define internal {'void' if write else vk} @{name}(ptr %base, {vi} %check, {vi} %offset, {vb} %mask, "
        f"i64 %limit, ptr %launch, i32 %site, i32 %first, i32 %gx, i32 %gy, i32 %gz{f', {vk} %value' if write else ''}) "
        f"noinline cold {{\n"
        f"  %l0 = insertelement {vi} poison, i64 %limit, i64 0\n"
        f"  %l = shufflevector {vi} %l0, {vi} poison, <{w} x i32> zeroinitializer\n"
        f"  %inside = icmp ult {vi} %check, %l\n"
        f"  %good = select {vb} %mask, {vb} %inside, {vb} zeroinitializer\n"
        f"  %outside = xor {vb} %inside, splat (i1 true)\n"
        f"  %bad = select {vb} %mask, {vb} %outside, {vb} zeroinitializer\n"
        f"  %bits = bitcast {vb} %bad to i{w}\n"
        f"  %some = icmp ne i{w} %bits, 0\n"
        f"  br i1 %some, label %report, label %access\n"
        f"report:\n"
        f"  %n = call i{w} @llvm.cttz.i{w}(i{w} %bits, i1 true)\n{resize}"
        f"  %o = extractelement {vi} %check, i32 {lane}\n"
        f"  %index = add i32 %first, {lane}\n"
        f"  call void @{abi.FAULT}(ptr %launch, i32 %site, i64 %o, i32 %index, i32 %gx, i32 %gy, i32 %gz)\n"
        f"  br label %access\n"
        f"access:\n"
        f"  %at = getelementptr i8, ptr %base, {vi} %offset\n{act}}}\n"
    )
    return name


def gather(e: Emitter, ptr: str, offsets: str, mask: str | None, kind: str, align: int) -> str:
    w, vk = e.width, e.vt(kind)
    suffix = {"float": "f32", "half": "f16", "double": "f64"}.get(kind, kind)
    at = _addresses(e, ptr, offsets)
    name = f"llvm.masked.gather.v{w}{suffix}.v{w}p0"
    e.out.declare(name, f"declare {vk} @{name}(<{w} x ptr>, <{w} x i1>, {vk})")
    m = mask or "splat (i1 true)"
    return e.put(f"call {vk} @{name}(<{w} x ptr> align {align} {at}, <{w} x i1> {m}, {vk} zeroinitializer)")


def _addresses(e: Emitter, ptr: str, offsets: str) -> str:
    if ptr == "null":
        return e.put(f"inttoptr {e.vt('i64')} {offsets} to {e.vt('ptr')}")
    return e.put(f"getelementptr i8, ptr {ptr}, {e.vt('i64')} {offsets}")


def scatter(e: Emitter, ptr: str, offsets: str, mask: str | None, kind: str, align: int, value: str) -> None:
    w, vk = e.width, e.vt(kind)
    suffix = {"float": "f32", "half": "f16", "double": "f64"}.get(kind, kind)
    at = _addresses(e, ptr, offsets)
    name = f"llvm.masked.scatter.v{w}{suffix}.v{w}p0"
    e.out.declare(name, f"declare void @{name}({vk}, <{w} x ptr>, <{w} x i1>)")
    e.do(
        f"call void @{name}({vk} {value}, <{w} x ptr> align {align} {at}, <{w} x i1> {mask or 'splat (i1 true)'})"
    )


def run_start(e: Emitter, val: Val, run: Run, low: int) -> str:
    """The offset of a run's lowest address."""
    assert val.base is not None
    total = val.base
    for coefficient, multiple in run.key:
        part = e.put(f"mul i64 {e.coefficient(coefficient, 'i64')}, {multiple}")
        total = e.put(f"add i64 {total}, {part}")
    return e.put(f"add i64 {total}, {low}") if low else total


def _fast_load(e: Emitter, place: Place, plan: list[Run], kind: str, size: int, align: int) -> str:
    """All lanes at once, or under the mask where they are contiguous."""
    val = place.offset
    vk = e.vt(kind)
    if contiguous(val.terms, size):
        at = address(e, place.ptr, run_start(e, val, plan[0], plan[0].offsets[0]))
        if e.mask is None:
            return e.put(f"load {vk}, ptr {at}, align {align}")
        suffix = {"float": "f32", "half": "f16", "double": "f64"}.get(kind, kind)
        name = f"llvm.masked.load.v{e.width}{suffix}.p0"
        e.out.declare(name, f"declare {vk} @{name}(ptr, {e.vt('i1')}, {vk})")
        return e.put(
            f"call {vk} @{name}(ptr align {align} {at}, {e.vt('i1')} {e.mask}, {vk} zeroinitializer)"
        )
    return _load_chunks(e, place, kind, size, align)


def _load_chunks(e: Emitter, place: Place, kind: str, size: int, align: int) -> str:
    """Register by register: neighbours in one register often need less than all lanes do, and many registers
    of one vector often need the same."""
    val = place.offset
    count = min(e.width, max(1, e.out.vector_bytes // size))
    symbolic = [(c, p) for c, p in val.terms if c]
    plain = dict(val.terms).get("", (0,) * e.width)
    made: dict[tuple[object, ...], str] = {}
    chunks: list[str] = []
    for start in range(0, e.width, count):
        lanes = range(start, start + count)
        key = tuple((tuple((c, p[lane]) for c, p in symbolic if p[lane]), plain[lane]) for lane in lanes)
        if key not in made:
            found: dict[tuple[tuple[str, int], ...], list[int]] = {}
            for n, (part, _) in enumerate(key):
                found.setdefault(part, []).append(n)
            plan = [Run(k, tuple(v), tuple(key[n][1] for n in v)) for k, v in found.items()]
            made[key] = _load_chunk(e, place, plan, kind, size, align, count)
        chunks.append(made[key])
    return concat(e, kind, chunks, count)


def _load_chunk(
    e: Emitter, place: Place, plan: list[Run], kind: str, size: int, align: int, count: int
) -> str:
    parts = [_load_run(e, place, run, kind, size, align) for run in plan]
    if all(p is not None for p in parts):
        done = [(run.lanes, p) for run, p in zip(plan, parts, strict=True) if p is not None]
        return merge(e, kind, done, count)
    total = "poison"
    for run in plan:
        for lane, offset in zip(run.lanes, run.offsets, strict=True):
            at = address(e, place.ptr, run_start(e, place.offset, run, offset))
            one = e.put(f"load {kind}, ptr {at}, align {align}")
            total = e.put(f"insertelement <{count} x {kind}> {total}, {kind} {one}, i64 {lane}")
    return total


def concat(e: Emitter, kind: str, chunks: list[str], count: int) -> str:
    """Short vectors end to end."""
    while len(chunks) > 1:
        picks = ", ".join(f"i32 {n}" for n in range(2 * count))
        chunks = [
            e.put(
                f"shufflevector <{count} x {kind}> {a}, <{count} x {kind}> {b}, <{2 * count} x i32> <{picks}>"
            )
            for a, b in zip(chunks[::2], chunks[1::2], strict=True)
        ]
        count *= 2
    return chunks[0]


def _load_run(
    e: Emitter, place: Place, run: Run, kind: str, size: int, align: int
) -> tuple[str, int, list[int]] | None:
    """A run's elements: a vector, its length, and the element for each lane of the run."""
    low = min(run.offsets)
    steps = [o - low for o in run.offsets]
    if any(s % size for s in steps):
        return None
    where_to = [s // size for s in steps]
    distinct = sorted(set(where_to))
    at = run_start(e, place.offset, run, low)
    span = distinct[-1] + 1
    if len(distinct) == 1:
        one = e.put(f"load {kind}, ptr {address(e, place.ptr, at)}, align {align}")
        return e.put(f"insertelement <1 x {kind}> poison, {kind} {one}, i64 0"), 1, [0] * len(where_to)
    if span <= 2 * len(distinct) or span <= 16 or (span <= 4 * len(distinct) and size * span <= 512):
        vector = e.put(f"load <{span} x {kind}>, ptr {address(e, place.ptr, at)}, align {align}")
        return vector, span, where_to
    if len(distinct) <= 8:
        total = "poison"
        for n, element in enumerate(distinct):
            here = e.put(f"add i64 {at}, {element * size}") if element else at
            one = e.put(f"load {kind}, ptr {address(e, place.ptr, here)}, align {align}")
            total = e.put(f"insertelement <{len(distinct)} x {kind}> {total}, {kind} {one}, i64 {n}")
        return total, len(distinct), [distinct.index(x) for x in where_to]
    count = len(distinct)
    w = 1 << (count - 1).bit_length()
    offsets = [element * size for element in distinct] + [0] * (w - count)
    suffix = {"float": "f32", "half": "f16", "double": "f64"}.get(kind, kind)
    name = f"llvm.masked.gather.v{w}{suffix}.v{w}p0"
    e.out.declare(name, f"declare <{w} x {kind}> @{name}(<{w} x ptr>, <{w} x i1>, <{w} x {kind}>)")
    base = address(e, place.ptr, at)
    pointers = e.put(f"getelementptr i8, ptr {base}, <{w} x i64> {e.constants('i64', offsets)}")
    got = e.put(
        f"call <{w} x {kind}> @{name}(<{w} x ptr> align {align} {pointers}, <{w} x i1> splat (i1 true), <{w} x {kind}> zeroinitializer)"
    )
    return got, w, [distinct.index(x) for x in where_to]


Part = tuple[tuple[int, ...], tuple[str, int, list[int]]]


def merge(e: Emitter, kind: str, parts: list[Part], w: int) -> str:
    """The lanes of several short vectors as one of `w` elements."""
    ready: list[tuple[str, list[int]]] = []
    for lanes, (ref, count, picks) in parts:
        mask = ["poison"] * w
        own = [0] * w
        for lane, pick in zip(lanes, picks, strict=True):
            mask[lane] = str(pick)
            own[lane] = 1
        text = ", ".join(f"i32 {m}" for m in mask)
        wide = e.put(
            f"shufflevector <{count} x {kind}> {ref}, <{count} x {kind}> poison, <{w} x i32> <{text}>"
        )
        ready.append((wide, own))
    while len(ready) > 1:
        paired = []
        for n in range(0, len(ready) - 1, 2):
            (a, in_a), (b, in_b) = ready[n], ready[n + 1]
            picks = [str(x) if in_a[x] else (str(w + x) if in_b[x] else "poison") for x in range(w)]
            text = ", ".join(f"i32 {p}" for p in picks)
            both = e.put(f"shufflevector <{w} x {kind}> {a}, <{w} x {kind}> {b}, <{w} x i32> <{text}>")
            paired.append((both, [x | y for x, y in zip(in_a, in_b, strict=True)]))
        if len(ready) % 2:
            paired.append(ready[-1])
        ready = paired
    return ready[0][0]


def vector_store(
    e: Emitter, i: Instruction, place: Place, kind: str, size: int, align: int, value: str
) -> None:
    val = place.offset
    if _by_range(e, place, size):
        _range_store(e, i, place, kind, size, align, value)
        return
    plan = regular(e, val, size)
    quick = plan is not None and (
        _maskable(place, size) if e.mask is not None else contiguous(val.terms, size) or _storable(plan, size)
    )
    if quick and plan is not None:
        if place.limit is None:
            _fast_store(e, place, plan, kind, size, align, value)
            return
        if not place.search and place.check.base is not None:
            fine = _spans(e, place)
            site = e.out.site(i, place.root, size, True)
            good, bad, join = (e.fresh_label(x) for x in ("in", "out", "join"))
            _part(e, place, fine, good, bad)
            _slow(e, place, site, kind, align, value)
            e.do(f"br label %{join}")
            e.label(good)
            _fast_store(e, place, plan, kind, size, align, value)
            e.do(f"br label %{join}")
            e.label(join)
            return
    mask = checked_mask(e, i, place, size, True)
    scatter(e, place.ptr, e.expand(val), mask, kind, align, value)


def _storable(plan: list[Run], size: int) -> bool:
    """Whether the lanes fall into few runs of neighbours, no two at one address."""
    pieces = 0
    for run in plan:
        order = sorted(run.offsets)
        if len(set(order)) < len(order) or any(
            (b - a) % size for a, b in zip(order, order[1:], strict=False)
        ):
            return False
        pieces += 1 + sum(b - a != size for a, b in zip(order, order[1:], strict=False))
    lanes = sum(len(r.lanes) for r in plan)
    return pieces * 4 <= lanes or pieces <= 4


def _fast_store(
    e: Emitter, place: Place, plan: list[Run], kind: str, size: int, align: int, value: str
) -> None:
    val = place.offset
    vk = e.vt(kind)
    if contiguous(val.terms, size):
        at = address(e, place.ptr, run_start(e, val, plan[0], plan[0].offsets[0]))
        if e.mask is None:
            e.do(f"store {vk} {value}, ptr {at}, align {align}")
            return
        suffix = {"float": "f32", "half": "f16", "double": "f64"}.get(kind, kind)
        name = f"llvm.masked.store.v{e.width}{suffix}.p0"
        e.out.declare(name, f"declare void @{name}({vk}, ptr, {e.vt('i1')})")
        e.do(f"call void @{name}({vk} {value}, ptr align {align} {at}, {e.vt('i1')} {e.mask})")
        return
    for run in plan:
        order = sorted(range(len(run.lanes)), key=lambda n, run=run: run.offsets[n])  # type: ignore[misc]
        start = 0
        for n in range(1, len(order) + 1):
            if n < len(order) and run.offsets[order[n]] - run.offsets[order[n - 1]] == size:
                continue
            lanes = [run.lanes[order[m]] for m in range(start, n)]
            at = address(e, place.ptr, run_start(e, val, run, run.offsets[order[start]]))
            if len(lanes) == 1:
                one = e.put(f"extractelement {vk} {value}, i64 {lanes[0]}")
                e.do(f"store {kind} {one}, ptr {at}, align {align}")
            else:
                picks = ", ".join(f"i32 {lane}" for lane in lanes)
                part = e.put(f"shufflevector {vk} {value}, {vk} poison, <{len(lanes)} x i32> <{picks}>")
                e.do(f"store <{len(lanes)} x {kind}> {part}, ptr {at}, align {align}")
            start = n


def refuse(message: str) -> DeviceError:
    return DeviceError(f"[engine] {message}")
