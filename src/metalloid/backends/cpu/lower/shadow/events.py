"""Events of a checked run: before each marked access, a test in vector code.

Bounds first, then the words of the shadow: where every lane is plainly fine the words are written and that is all.
Any doubt goes to the runtime, which looks at each lane exactly (`mt_check_lanes`), unless the site is muted. A lane
outside stops the launch, which is run again with care: then every access is carried out lane by lane.
"""

from __future__ import annotations

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.access.guard import bounds, inside
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, frame_size, memory_type, resolve, to_memory
from metalloid.backends.cpu.lower.access.plan import contiguous
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.backends.cpu.lower.ops.inactive_lanes import inactive
from metalloid.backends.cpu.lower.output import Output
from metalloid.backends.cpu.lower.shadow.memory import (
    ShadowVector,
    check,
    constant_field,
    shadow_number,
    window,
)
from metalloid.backends.cpu.lower.shadow.per_lane import PerLaneEvent
from metalloid.backends.cpu.lower.shadow.uniform import UniformEvent
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import BOUNDS, marks_matrix
from metalloid.ir.values import Int

SLOW = "mt_check_lanes"
LEFT = "mt_check_left"


def event(e: Emitter, i: Instruction) -> None:
    """Write what a marker asks for."""
    checks, number = e.out.check, i.operands[0]
    assert checks is not None and isinstance(number, Int)
    site = checks.sites[number.value]
    if site.operation == BOUNDS:
        left_array(e, i)
        return
    if site.operation:
        inactive(e, i, site.operation)
        return
    place = resolve(e, i.operands[1], site.size)
    if marks_matrix(i.called):
        from metalloid.backends.cpu.lower.matrix.elements import element_offsets

        stored = i.operands[4:]  # of a matrix that is stored, the two elements of each lane
        for n, (check_at, offset) in enumerate(element_offsets(e, i, place, site.size)):
            moved = MemRef(
                place.root,
                place.ptr,
                Val("i64", vec=check_at),
                place.limit,
                Val("i64", vec=offset),
                place.search,
            )
            element = (str(stored[n].type), e.vector(stored[n])) if stored else None
            Event(e, checks, number.value, site, moved, element).write()
        return
    if len(i.operands) > 2:
        value = i.operands[2]
        kind = memory_type(value.type)[0]
        made = e.get(value)
        vector = made.vec or e.expand(made) if e.width > 1 else e.scalar(value)
        ref = to_memory(e, value.type, kind, vector, e.width > 1)
        Event(e, checks, number.value, site, place, (kind, ref)).write()
        return
    Event(e, checks, number.value, site, place, None).write()


def left_array(e: Emitter, i: Instruction) -> None:
    """Lanes that come here have an index outside a dimension of an array: operands (site, index)."""
    number, index = i.operands
    assert isinstance(number, Int)
    e.out.declare(LEFT, f"declare void @{LEFT}(ptr, i32, i32, i64)")
    if e.width == 1:
        e.do(f"call void @{LEFT}(ptr %launch, i32 {number.value}, i32 %first, i64 {e.scalar(index)})")
        return
    made = e.get(index)
    indices = made.vec or e.expand(made)
    for lane in e.lanes_loop(e.mask):
        one = e.put(f"extractelement {e.vt('i64')} {indices}, i32 {lane}")
        thread = e.put(f"add i32 %first, {lane}")
        e.do(f"call void @{LEFT}(ptr %launch, i32 {number.value}, i32 {thread}, i64 {one})")


def barrier(e: Emitter, i: Instruction) -> None:
    """All threads of the group are here."""
    e.out.declare("mt_check_barrier", "declare void @mt_check_barrier(ptr, i32)")
    e.do(f"call void @mt_check_barrier(ptr %launch, i32 {flags_of(i)})")


def driver_checks(out: Output, barrier: Instruction | None) -> list[str]:
    """Lines of the function that runs a threadgroup: at its start, or behind a barrier."""
    if barrier is None:
        out.declare("mt_check_group", "declare void @mt_check_group(ptr, i32, i32, i32)")
        return ["  call void @mt_check_group(ptr %launch, i32 %gx, i32 %gy, i32 %gz)"]
    out.declare("mt_check_barrier", "declare void @mt_check_barrier(ptr, i32)")
    return [f"  call void @mt_check_barrier(ptr %launch, i32 {flags_of(barrier)})"]


def flags_of(i: Instruction) -> int:
    return i.operands[0].value if isinstance(i.operands[0], Int) else 3


def simd_barrier(e: Emitter, i: Instruction) -> None:
    e.out.declare("mt_check_simd_barrier", "declare void @mt_check_simd_barrier(ptr, i32, i32)")
    for start in range(0, e.width, 32):
        thread = e.put(f"add i32 %first, {start}") if start else "%first"
        e.do(f"call void @mt_check_simd_barrier(ptr %launch, i32 {flags_of(i)}, i32 {thread})")


def fence(e: Emitter, i: Instruction) -> None:
    flags, order, scope = (o.value if isinstance(o, Int) else 0 for o in i.operands)
    if not (flags & 3 and order and scope >= 2):  # of the threadgroup at least
        return
    e.out.declare("mt_check_fence", "declare void @mt_check_fence(ptr, i32, i32, i32, i32, ptr)")
    room = max(64, e.width)
    lanes = e.alloca(f"i{room}", "fenced")
    bits = "1" if e.width == 1 else e.put(f"bitcast {e.vt('i1')} {e.mask_ref()} to i{e.width}")
    if 1 < e.width < room:
        bits = e.put(f"zext i{e.width} {bits} to i{room}")
    e.do(f"store i{room} {bits}, ptr {lanes}")
    e.do(
        f"call void @mt_check_fence(ptr %launch, i32 {flags & 3}, i32 {int(scope == 3)}, i32 %first, i32 {e.width},"
        f" ptr {lanes})"
    )


class Event(PerLaneEvent, UniformEvent):
    """Writes the code of one marker."""

    def write(self) -> None:
        e, site, place = self.e, self.site, self.place
        if site.write and place.root.space != 5:
            self._count()
        shared = place.root.kind not in ("constant", "private") and place.root.space != 5
        if place.search or (site.atomic and site.races):
            self._exactly()
        elif not shared or not site.races:
            if shared and site.reads and place.root.kind == "buffer":
                self._touch()
            if e.out.continue_after_fault or site.align:
                self._bounds_only()
        else:
            if site.reads and place.root.kind == "buffer":
                self._touch()
            self._tested()

    def _count(self) -> None:
        """How many lanes store."""
        e = self.e
        number = "1" if e.width == 1 else str(e.width)
        if e.range is not None:
            number = str(e.range[1] - e.range[0])
        elif e.mask is not None:
            lot = ShadowVector(e, self.words, e.width, "", None, e.mask)
            number = lot.number(e.put(f"freeze {e.vt('i1')} {e.mask}"))
        counts = constant_field(e, abi.COUNTS, "ptr")
        at = e.at_start(f"count{self.number}", f"getelementptr i64, ptr {counts}, i64 {self.number}")
        had = e.put(f"load i64, ptr {at}")
        e.do(f"store i64 {e.put(f'add i64 {had}, {number}')}, ptr {at}")

    # ---- parts --------------------------------------------------------------------------------------------

    def _touch(self) -> None:
        e = self.e
        base = check(e)
        at = e.at_start(
            f"touch{self.place.root.index}",
            f"getelementptr i8, ptr {base}, i64 {abi.TOUCHED + shadow_number(self.place.root)}",
        )
        e.do(f"store i8 1, ptr {at}")

    def _exactly(self) -> None:
        e = self.e
        e.do(f"br label %{self.slow}")
        self._slow_block()
        e.label(self.fine)
        e.do(f"br label %{self.done}")
        e.label(self.done)

    def _bounds_only(self) -> None:
        e = self.e
        e.do(f"br i1 {self._inside()}, label %{self.fine}, label %{self.slow}, !prof !1")
        self._slow_block()
        e.label(self.fine)
        e.do(f"br label %{self.done}")
        e.label(self.done)

    def _tested(self) -> None:
        e, site = self.e, self.site
        inside = self._inside()
        near, kept = e.fresh_label("check.near"), (dict(e.values), dict(e.built))
        e.do(f"br i1 {inside}, label %{near}, label %{self.slow}, !prof !1")
        e.label(near)
        if self.checks.options.windowed and not self.local:
            self._in_window()
        only_defined = site.defined and not (site.writer or site.readers or site.write)
        if only_defined and self.local and self._local_number() is not None:
            full = e.put(f"icmp eq i64 {self._missing()}, 0")
            look = e.fresh_label("check.look")
            e.do(f"br i1 {full}, label %{self.done}, label %{look}")
            e.label(look)
        if e.width == 1 or self.place.check.uniform:
            self._uniform()
        else:
            self._vector()
        e.values, e.built = kept  # not all ways to what follows come by here
        self._slow_block()
        e.label(self.done)

    def _in_window(self) -> None:
        """Goes on where all lanes are in the window, to the exact way where some are, and to the end where none is."""
        e, size = self.e, self.site.size
        start, length = window(e, self.place.root)
        wide = e.put(f"add i64 {length}, {size - 1}")
        room = e.put(f"call i64 @llvm.usub.sat.i64(i64 {length}, i64 {size - 1})")
        e.out.declare("llvm.usub.sat.i64", "declare i64 @llvm.usub.sat.i64(i64, i64)")
        val = self.place.check
        if e.width == 1 or val.uniform:
            some, every = self._one_in(str(val.base), start, wide, room)
        elif val.base is not None and contiguous(
            val.terms, e.width, size
        ):  # windows are longer than any vector
            pattern = dict(val.terms)[""]
            ends = [e.put(f"add i64 {val.base}, {pattern[lane]}") for lane in (0, -1)]
            (a, b), (c, d) = (self._one_in(end, start, wide, room) for end in ends)
            some, every = e.put(f"or i1 {a}, {c}"), e.put(f"and i1 {b}, {d}")
        else:
            many = e.vt("i64")
            lanes = e.put(f"sub {many} {e.expand(self.place.check)}, {e.splat('i64', start)}")
            near = e.put(f"add {many} {lanes}, splat (i64 {size - 1})")
            touched = e.put(f"icmp ult {many} {near}, {e.splat('i64', wide)}")
            out = e.put(f"icmp uge {many} {lanes}, {e.splat('i64', room)}")
            some = e.any(e.put(f"freeze {e.vt('i1')} {e.both(e.mask, touched)}"))
            beyond = e.any(e.put(f"freeze {e.vt('i1')} {e.both(e.mask, out)}"))
            every = e.put(f"xor i1 {beyond}, true")
        partly, whole = e.fresh_label("check.partly"), e.fresh_label("check.whole")
        e.do(f"br i1 {every}, label %{whole}, label %{partly}")
        e.label(partly)
        e.do(f"br i1 {some}, label %{self.slow}, label %{self.done}")
        e.label(whole)

    def _one_in(self, offset: str, start: str, wide: str, room: str) -> tuple[str, str]:
        """Flags: an access at an offset touches the window; it is all in it."""
        e = self.e
        at = e.put(f"sub i64 {offset}, {start}")
        some = e.put(f"icmp ult i64 {e.put(f'add i64 {at}, {self.site.size - 1}')}, {wide}")
        return some, e.put(f"icmp ult i64 {at}, {room}")

    def _slow_block(self) -> None:
        """The exact way, for all lanes, written at its own label."""
        e = self.e
        kept = dict(e.values), dict(e.built)
        e.label(self.slow)
        self._note_length()
        w = e.width
        mask = e.mask_ref()
        offsets = e.expand(self.place.check) if w > 1 else str(self.place.check.base)
        name = _slow_helper(e, self.value[0] if self.value else "")
        # A mask among many vector arguments goes on the stack, where LLVM 22 mistakes its bytes for bits.
        bits = "true" if w == 1 else e.put(f"bitcast {e.vt('i1')} {mask} to i{w}")
        arguments = (
            f"ptr %launch, i32 {self.number}, i32 %first, {'i64' if w == 1 else e.vt('i64')} {offsets}, "
            f"i{w} {bits}, ptr {self.place.ptr}"
        )
        if self.value:
            arguments += f", {self.value[0] if w == 1 else e.vt(self.value[0])} {self.value[1]}"
        got = e.put(f"call i32 @{name}({arguments})")
        if e.out.continue_after_fault:
            e.do(f"br label %{self.done}")
        else:
            stop = e.put(f"icmp ne i32 {got}, 0")
            e.do(f"br i1 {stop}, label %stopped, label %{self.done}, !prof !2")
        e.values, e.built = kept

    def _note_length(self) -> None:
        e, root = self.e, self.place.root
        if root.kind == "private":
            e.out.check_lengths[self.number] = e.out.private[root.index].size
        elif root.space == 5:
            e.out.check_lengths[self.number] = frame_size(e)
        elif root.kind == "variable":
            e.out.check_lengths[self.number] = e.out.local_sizes[root.name]
        elif root.kind == "constant":
            e.out.check_lengths[self.number] = e.out.layout.size(e.out.module.variable[root.name].type)

    # ---- bounds ---------------------------------------------------------------------------------------------

    def _inside(self) -> str:
        """A flag: all lanes that run are inside, and aligned."""
        e, place, val = self.e, self.place, self.place.check
        limit = place.limit
        flags: list[str] = []
        if limit is not None and (e.width == 1 or val.uniform):
            flags.append(e.put(f"icmp ult i64 {val.base}, {limit}"))
        elif limit is not None and val.base is not None and self._edges():
            flags += [e.put(f"icmp ult i64 {at}, {limit}") for at in self._edge_offsets()]
        elif limit is not None and val.base is not None:
            flags.append(inside(e, *bounds(e, val), limit))
        elif limit is not None:
            outside = e.put(f"icmp uge {e.vt('i64')} {val.vec}, {e.splat('i64', limit)}")
            bad = e.put(f"freeze {e.vt('i1')} {e.both(e.mask, outside)}")
            flags.append(e.put(f"xor i1 {e.any(bad)}, true"))
        if self.site.align:
            flags.append(self._aligned())
        result = "true"
        for flag in flags:
            result = flag if result == "true" else e.put(f"and i1 {result}, {flag}")
        return result

    def _edges(self) -> bool:
        """Whether the first and last lane that run decide: neighbours in order."""
        return (self.e.mask is not None or self.e.range is not None) and contiguous(
            self.place.check.terms, self.e.width, self.site.size
        )

    def _edge_offsets(self) -> list[str]:
        e, val = self.e, self.place.check
        pattern = dict(val.terms)[""]
        if e.range is not None:
            first, last = e.range
            return [e.put(f"add i64 {val.base}, {pattern[lane]}") for lane in (first, last - 1)]
        found = []
        for lane in (e.first(e.mask), e.last(e.mask)):
            wide = e.put(f"sext i32 {lane} to i64")
            step = e.put(f"mul i64 {wide}, {self.site.size}")
            found.append(e.put(f"add i64 {e.put(f'add i64 {val.base}, {pattern[0]}')}, {step}"))
        return found

    def _aligned(self) -> str:
        e, val, rest = self.e, self.place.check, self.site.align - 1
        if e.width == 1 or val.uniform:
            at = e.put(f"add i64 {val.base}, {self.site.bias}")
            return e.put(f"icmp eq i64 {e.put(f'and i64 {at}, {rest}')}, 0")
        places = e.put(f"add {e.vt('i64')} {e.expand(val)}, splat (i64 {self.site.bias})")
        low = e.put(f"and {e.vt('i64')} {places}, splat (i64 {rest})")
        odd = e.put(f"icmp ne {e.vt('i64')} {low}, zeroinitializer")
        some = e.any(e.put(f"freeze {e.vt('i1')} {e.both(e.mask, odd)}"))
        return e.put(f"xor i1 {some}, true")


def _slow_helper(e: Emitter, kind: str) -> str:
    """Puts the lanes into memory and calls the runtime."""
    name = f"check.lanes.{kind or 'none'}"
    if name in e.out.helpers:
        return name
    w = e.width
    vi, vk = ("i64", kind) if w == 1 else (e.vt("i64"), e.vt(kind))
    e.out.declare(SLOW, f"declare i32 @{SLOW}(ptr, i32, i32, i32, ptr, ptr, ptr, ptr)")
    bits = max(64, -(-w // 64) * 64)
    values = ["  %values = alloca " + vk, f"  store {vk} %value, ptr %values"] if kind else []
    lines = [
        f"define internal i32 @{name}(ptr %launch, i32 %site, i32 %first, {vi} %offset, i{w} %mask, ptr %base"
        f"{f', {vk} %value' if kind else ''}) noinline cold {{",
        f"  %offsets = alloca {vi}",
        f"  %masks = alloca i{bits}",
        *values,
        f"  store {vi} %offset, ptr %offsets",
        f"  %bits = zext i{w} %mask to i{bits}" if w < bits else f"  %bits = or i{w} %mask, 0",
        f"  store i{bits} %bits, ptr %masks",
        f"  %got = call i32 @{SLOW}(ptr %launch, i32 %site, i32 %first, i32 {w}, ptr %offsets, ptr %masks, "
        f"ptr %base, ptr {'%values' if kind else 'null'})",
        "  ret i32 %got",
        "}",
    ]
    e.out.helpers[name] = "\n".join(lines) + "\n"
    return name
