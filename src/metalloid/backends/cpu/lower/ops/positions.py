"""Where a thread is: the position builtins."""

from __future__ import annotations

from metalloid.analysis.lane_layout import QUAD, SIMD, PositionPattern
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import short
from metalloid.ir.values import Int

AXES = "xyz"
PLACES = ("thread_position_in_grid", "thread_position_in_threadgroup")
ROWS = {"y": "urem", "z": "udiv"}


def position(e: Emitter, i: Instruction) -> None:
    name = short(i.called)
    axis = i.operands[0].value if i.operands and isinstance(i.operands[0], Int) else 0
    place = e.out.lanes.place(name, axis)
    if place is None:
        e.set(i.name, Val("i32", fixed(e, name, axis)))
        return
    grid = name == "thread_position_in_grid"
    origin = begin(e, axis) if grid else "0"
    if place.table:
        e.set(i.name, looked_up(e, axis, origin) if name in PLACES else of_index(e, name))
        return
    base = base_of(e, place)
    if grid:
        base = e.put(f"add i32 {origin}, {base}", "b") if base != "0" else origin
    shape = e.shape(i.value)
    terms = shape.terms if shape is not None and e.width > 1 else ()
    e.set(i.name, Val("i32", base, terms))


def begin(e: Emitter, axis: int) -> str:
    """Where the threadgroup begins in the grid."""
    first = e.put(f"mul i32 %g{AXES[axis]}, {e.out.lanes.size[axis]}")
    if not e.out.lanes.tall:
        return first
    latest = e.launch_field(abi.LATEST + 4 * axis, "i32")
    e.out.declare("llvm.umin.i32", "declare i32 @llvm.umin.i32(i32, i32)")
    return e.put(f"call i32 @llvm.umin.i32(i32 {first}, i32 {latest})")


def base_of(e: Emitter, place: PositionPattern) -> str:
    if not place.step or e.out.lanes.single_gang:
        return "0"
    if place.row == "x":
        return "%at"
    if place.row:
        high = str(e.out.lanes.size[1]) if e.out.lanes.static_size else "%sy"
        return "%first" if place.row == "index" else e.put(f"{ROWS[place.row]} i32 %j, {high}")
    base = "%j" if place.step == 1 else e.put(f"mul i32 %j, {place.step}")
    if place.divide > 1:
        base = e.put(f"udiv i32 {base}, {place.divide}")
    if place.modulo:
        base = e.put(f"urem i32 {base}, {place.modulo}")
    return base


def of_index(e: Emitter, name: str) -> Val:
    """A position in SIMD-groups or quadgroups, which go by the index in the threadgroup."""
    unit = SIMD if "simd" in name else QUAD
    index = e.put(f"add {e.vt('i32')} {e.splat('i32', '%first')}, {e.constants('i32', list(range(e.width)))}")
    opcode = "urem" if name.startswith("thread_index") else "udiv"
    return Val("i32", vec=e.put(f"{opcode} {e.vt('i32')} {index}, splat (i32 {unit})"))


def looked_up(e: Emitter, axis: int, origin: str) -> Val:
    """From the table that the runtime keeps for this size of threadgroup."""
    e.out.uses_tables = True
    start = e.put(f"getelementptr i32, ptr %tables, i64 {axis * 2048}")
    at = e.put(f"getelementptr i32, ptr {start}, i32 %first")
    if e.width == 1:
        ref = e.put(f"load i32, ptr {at}, align 4")
        return Val("i32", e.put(f"add i32 {ref}, {origin}"))
    ref = e.put(f"load {e.vt('i32')}, ptr {at}, align 4")
    if origin != "0":
        ref = e.put(f"add {e.vt('i32')} {ref}, {e.splat('i32', origin)}")
    return Val("i32", vec=ref)


def fixed(e: Emitter, name: str, axis: int) -> str:
    """A position that all threads of a threadgroup share."""
    lanes = e.out.lanes
    match name:
        case "threadgroup_position_in_grid":
            return f"%g{AXES[axis]}"
        case "threads_per_grid" | "grid_size":
            return e.launch_field(abi.GRID + 4 * axis, "i32")
        case "threadgroups_per_grid":
            return e.launch_field(abi.GROUPS + 4 * axis, "i32")
        case "threads_per_threadgroup":
            return str(lanes.size[axis]) if lanes.static_size else f"%s{AXES[axis]}"
        case "dispatch_threads_per_threadgroup":
            return str(lanes.size[axis])
        case "grid_origin":
            return "0"
        case "threads_per_simdgroup" | "thread_execution_width":
            return str(SIMD)
    unit = SIMD if "simd" in name else QUAD
    if name.startswith("dispatch") or lanes.static_size:
        return str(-(-lanes.count // unit))
    more = e.put(f"add i32 %count, {unit - 1}")
    return e.put(f"udiv i32 {more}, {unit}")
