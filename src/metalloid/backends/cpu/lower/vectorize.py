"""From scalar IR to vector IR: the passes of the CPU, in order.

    canonical -> split at barriers -> for each region: shapes, divergence, masks -> vector code

The result is one function that runs one threadgroup: for each region, a loop over the gangs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.analysis.barrier_arrival import Arrival
from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_sets import ANY, LaneSet
from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.underlying_objects import UnderlyingObject, UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.base import Guard
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower import coroutine
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.access.transpose import SIDE
from metalloid.backends.cpu.lower.control_flow import Control
from metalloid.backends.cpu.lower.coroutine_driver import Turns
from metalloid.backends.cpu.lower.driver import PLACE, Driver
from metalloid.backends.cpu.lower.elide_zero_init import to_clear
from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.backends.cpu.lower.matrix import accumulators, chains
from metalloid.backends.cpu.lower.module_text import module_text
from metalloid.backends.cpu.lower.ops.count_tables import count_tables
from metalloid.backends.cpu.lower.ops.memory_orders import only_counts
from metalloid.backends.cpu.lower.output import MatrixPlace, Output, SlotPlace
from metalloid.backends.cpu.lower.private_arrays import Scratch, place_privates
from metalloid.backends.line_table import LineTable
from metalloid.backends.sites import Site
from metalloid.ir import Function, Instruction, Module
from metalloid.ir.intrinsics import ENTRY, THREADGROUP, among_lanes
from metalloid.ir.layout import data_layout
from metalloid.ir.name_privates import name_privates
from metalloid.ir.types import PointerType
from metalloid.ir.values import Local
from metalloid.records import dataclass, field, replace
from metalloid.targets import TargetInfo
from metalloid.transforms.barriers import split
from metalloid.transforms.instrument import Checks, Options, instrument

# Lines of all regions; LLVM takes more than twice as long for a function of twice the size.
MAX_INLINED = 8000
MAX_TWICE = 2000  # lines of all regions, to be written a second time for gangs without idle lanes
MAX_TWICE_RETURNED = 8000  # the same where every gang would have a mask, though hardly ever a thread returns
INLINED = ") alwaysinline nounwind {"
_ARGUMENTS = (
    "ptr %launch, ptr %tables, ptr noalias %tg, ptr noalias %kept, ptr noalias %private, i32 %j, "
    f"{PLACE}, i32 %count"
)


@dataclass(frozen=True)
class Part:
    """A region, and what is known of its values."""

    module: Module
    function: Function
    roots: UnderlyingObjects
    uniformity: Uniformity


@dataclass(frozen=True)
class VectorCode:
    """A kernel for the CPU, as LLVM IR."""

    text: str
    sites: tuple[Site, ...]
    barriers: tuple[Site, ...]
    formats: tuple[str, ...]
    local: int  # bytes of threadgroup memory inside the kernel
    scratch: int  # bytes of scratch for a threadgroup
    lanes: LaneLayout
    regions: int
    tables: bool  # positions are read from tables
    searches: bool  # pointers look for their buffers
    checks: Checks | None = None
    check_lengths: Mapping[int, int] = field(default_factory=dict)
    local_places: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # offset and bytes of variables


def uses_lanes(module: Module) -> bool:
    """Whether the kernel has operations among lanes."""
    return any(among_lanes(i) for i in module.function[ENTRY].instructions())


def vectorize(
    module: Module,
    lanes: LaneLayout,
    guard: Guard,
    reverse: bool,
    target: TargetInfo,
    short_loops: frozenset[str] = frozenset(),
    check: Options | None = None,
    way: Arrival = "together",
    table: LineTable | None = None,
    brief: bool = False,
) -> VectorCode:
    """Vector code for a canonical module; `way`: how its threads come to barriers. Loops that end soon need not look
    whether they should. With a `table`, lines say where they come from. `brief`: no copies for gangs without idle
    lanes, so that machine code is there sooner."""
    module, privates = name_privates(module)
    checks = None
    if check is not None:
        module, checks = instrument(module, check)
    function = module.function[ENTRY]
    whole = UnderlyingObjects(function)
    barriers = tuple(i for i in function.instructions() if i.called == split.BARRIER)
    layout, parted = data_layout(module.datalayout), way == "parted"
    out = Output(
        module, layout, lanes, guard, target, short_loops, check=checks, barriers=barriers, suspends=parted
    )
    out.table, out.brief, out.counts = table, brief, only_counts(function)
    local = out.layout_locals()
    sized = any(i.called == THREADGROUP for i in function.instructions())
    if out.counts and not (sized or parted or out.robust or check is not None):
        threads = lanes.size[0] * lanes.size[1] * lanes.size[2]  # the same for all code of a launch
        out.count_tables = count_tables(function, whole, layout, threads, bool(guard), local)
        local = max([local, *(t.end for t in out.count_tables.values())])
    barrier_sites = tuple(Site(s.location, None, 0, False, "M204") for s in _sites_of(out, barriers))
    scratch = Scratch()
    place_privates(out, function, whole, privates, scratch)
    if parted:
        out.nowhere = scratch.take(16, 16)
    if barriers and not lanes.single_gang and not parted:
        if way == "returned":
            out.remaining = scratch.take(max(8, lanes.width) // 8, 64)
        parts = _split(out, module, whole, scratch)
    else:
        parts = [Part(module, function, whole, Uniformity(Flow(function), whole, lanes, layout))]
    text, many = _written(out, parts, scratch, reverse)
    return VectorCode(
        text,
        tuple(out.sites),
        barrier_sites,
        tuple(out.formats),
        local,
        scratch.stride * lanes.gangs if many else scratch.size,
        lanes,
        len(parts),
        out.uses_tables,
        abi.OUTSIDE in out.declared,
        checks,
        out.check_lengths,
        {name: (at, out.local_sizes[name]) for name, at in out.local_offsets.items()},
    )


def _written(out: Output, parts: list[Part], scratch: Scratch, reverse: bool) -> tuple[str, bool]:
    """The module's text; whether each gang of a threadgroup has its own scratch."""
    function = out.module.function[ENTRY]
    synchronous = 1 + len(out.barriers) if len(parts) > 1 else 1
    looked = [(part.uniformity.flow, part.roots, part.uniformity) for part in parts]
    cleared = to_clear(looked, out.lanes, out.local_sizes, synchronous)
    if out.check is not None:
        cleared = {name: [(0, size)] for name, size in out.local_sizes.items()}
    texts = _texts(out, parts, synchronous)
    if out.suspends:
        main = Turns(out, function, list(out.barriers), scratch, reverse, cleared).write()
        return module_text(out, texts, main), True
    driver = Driver(out, synchronous, len(parts), scratch, reverse, cleared, list(out.barriers))
    return module_text(out, texts, driver.write()), driver.many


def regions(
    module: Module, objects: UnderlyingObjects, lanes: LaneLayout
) -> tuple[split.Split, Module, Uniformity]:
    """A kernel with barriers as a module of regions; and what is known of the values of the whole."""
    function = module.function[ENTRY]
    known = Uniformity(Flow(function), objects, lanes, data_layout(module.datalayout))
    made = split.split(function, lambda value: _coefficients(known, value), known.varies)
    return made, split.as_module(module, made), known


def _split(out: Output, module: Module, whole: UnderlyingObjects, scratch: Scratch) -> list[Part]:
    """Regions between barriers, with a place in the scratch for each value that lives across one."""
    lanes = out.lanes
    made, tidied, known = regions(module, whole, lanes)
    out.rounds = made.rounds
    slot_roots: dict[int, UnderlyingObject] = {}
    for slot in made.slots:
        shape = _keepable(known, slot.value)
        size = memory_type(slot.value.type)[1] if lowered(slot.value.type) != "i64" else 8
        at = scratch.take(size, 8) if shape is not None else scratch.take(size * lanes.width)
        out.slots[slot.number] = SlotPlace(at, shape)
        if isinstance(slot.value.type, PointerType):
            slot_roots[slot.number] = whole.of[slot.value.name]
    parts = []
    for n in range(len(made.functions)):
        part = tidied.function[f"segment{n}"]
        roots = UnderlyingObjects(part, slot_roots)
        shapes = {number: _in_region(place.shape, n) for number, place in out.slots.items()}
        parts.append(Part(tidied, part, roots, Uniformity(Flow(part), roots, lanes, out.layout, shapes)))
    if (count := chains.sums_per_register(out)) and lanes.no_tail and out.remaining is None:
        _place_matrices(out, accumulators.strips([part.uniformity for part in parts], count), scratch)
    return parts


def _place_matrices(out: Output, strips: list[list[accumulators.Slots]], scratch: Scratch) -> None:
    """Sums of products as rows of one matrix, or of two side by side."""
    for strip in strips:
        pitch = 4 * SIDE * len(strip)
        at = scratch.take(SIDE * pitch)
        for n, slots in enumerate(strip):
            for element, number in enumerate(slots):
                place = MatrixPlace(at + 4 * SIDE * n, pitch, element)
                out.slots[number] = replace(out.slots[number], matrix=place)


def _texts(out: Output, parts: list[Part], inlined: int) -> list[str]:
    """The regions as functions: inlined into the driver, unless LLVM would take too long over the whole.

    Those from `inlined` on are called at more than one place.
    """
    texts = []
    for n, part in enumerate(parts):
        out.module = part.module
        texts.append(_region_text(out, part, n))
    twice = [n for n in range(len(parts)) if _idle_at_times(out, n)]
    most = MAX_TWICE if out.remaining is None else MAX_TWICE_RETURNED
    if twice and out.check is None and not out.brief and sum(texts[n].count("\n") for n in twice) <= most:
        for n in twice:
            out.module = parts[n].module
            some = _region_text(out, parts[n], n, last=True) if _tail(out).known else texts[n]
            texts[n] = _twice(out, some, _region_text(out, parts[n], n, whole=True), n)
    if sum(t.count("\n") for t in texts) > MAX_INLINED:
        inlined = 0
    # Of a region that is written twice, the function that calls either: the last.
    apart = [") noinline alignstack(64) nounwind {".join(t.rsplit(INLINED, 1)) for t in texts[inlined:]]
    return texts[:inlined] + apart


def _keepable(known: Uniformity, value: Local) -> LaneShape | None:
    """The shape that a kept value has behind a barrier. One that is good for addresses only will do for pointers."""
    shape = known.shape(value)
    if shape is None or shape.exact or not shape.terms or isinstance(value.type, PointerType):
        return shape
    return None


def _coefficients(known: Uniformity, value: Local) -> frozenset[str]:
    shape = _keepable(known, value)
    return frozenset(c for c, _ in shape.terms if c) if shape is not None else frozenset()


def _in_region(shape: LaneShape | None, number: int) -> LaneShape | None:
    """The same shape with the names that coefficients have in a region."""
    if shape is None:
        return None
    terms = ((split.kept_name(number, c) if c else c, p) for c, p in shape.terms)
    return replace(shape, terms=tuple(sorted(terms)))


def _sites_of(out: Output, barriers: Sequence[Instruction]) -> list[Site]:
    return [out.sites[out.site(i, None, rule="M204")] for i in barriers]


def _idle_at_times(out: Output, number: int) -> bool:
    """Whether some gangs of a region have idle lanes, and others have none: the last one, or those of which a
    thread has returned."""
    lanes = out.lanes
    if out.remaining is not None and number and lanes.width > 1:
        return True
    return lanes.static_size and not (lanes.no_tail or lanes.rows or lanes.single_gang)


def _twice(out: Output, some: str, all_lanes: str, number: int) -> str:
    """A region as two functions, with a mask and without, and one that calls either."""
    name = f"@segment{number}("
    told, arguments = _signature(out)
    given = arguments.replace("noalias ", "")
    fits = [
        f"  %next = mul i32 %j, {out.lanes.width}",
        f"  %end = add i32 %next, {out.lanes.width}",
        "  %fits = icmp ule i32 %end, %count",
    ]
    if out.remaining is not None and number:
        fits = [*_remaining(out), f"  %fits = icmp eq i{out.lanes.width} %left.bits, -1"]
    lines = [
        some.replace(name, f"@segment{number}.some(", 1),
        all_lanes.replace(name, f"@segment{number}.all(", 1),
        f"define internal {told} {name}{arguments}{INLINED}",
        *fits,
        "  br i1 %fits, label %all, label %some",
        "all:",
        f"  %whole = call {told} @segment{number}.all({given})",
        f"  ret {told} %whole",
        "some:",
        f"  %part = call {told} @segment{number}.some({given})",
        f"  ret {told} %part",
        "}",
    ]
    return "\n".join(lines)


def _tail(out: Output) -> LaneSet:
    """The lanes of the last gang that are threads."""
    lanes = out.lanes
    known = lanes.static_size and not lanes.rows and out.check is None and out.remaining is None
    known = known and not out.target.masks_memory  # which needs no help
    return LaneSet(True, 0, lanes.count % lanes.width) if known else ANY


def _region_text(out: Output, part: Part, number: int, whole: bool = False, last: bool = False) -> str:
    """A region as a function; `whole`: for gangs without idle lanes; `last`: only for the threadgroup's last."""
    e = Emitter(out, part.function, part.roots, part.uniformity)
    control = Control(e)
    head: list[str] = []
    if out.remaining is not None and number and not whole and e.width > 1:
        width = out.lanes.width
        head += [*_remaining(out), f"  %present = bitcast i{width} %left.bits to <{width} x i1>"]
        control.entry_mask, control.entry_lanes = "%present", ANY
    elif not (out.lanes.no_tail or whole):
        head += _present(out.lanes)
        control.entry_mask = "%present"
        control.entry_lanes = _tail(out) if last or out.lanes.single_gang else ANY
    e.entry_mask = control.entry_mask
    control.write()
    told, arguments = _signature(out)
    if out.suspends:
        return _coroutine(out, e, head)
    lines = [
        f"define internal {told} @segment{number}({arguments}{INLINED}",
        "start:",
        f"  %state = alloca {told}",
        f"  store {told} 0, ptr %state",
        f"  %first = mul i32 %j, {out.lanes.step}",
        *e.allocas,
        *head,
        *e.prologue,
        "  br label %L0.check",
        *e.lines,
        f"  %result = load {told}, ptr %state",
        f"  ret {told} %result",
        "stopped:",
        f"  ret {told} -1",
        "}",
    ]
    return "\n".join(lines)


def _signature(out: Output) -> tuple[str, str]:
    """What a region's function gives back, and its arguments. Of a coroutine that is its frame; and while it waits,
    others write to threadgroup memory."""
    if out.suspends:
        return "ptr", f"{_ARGUMENTS.replace('ptr noalias %tg', 'ptr %tg')}, ptr %waits"
    return "i64" if out.rounds else "i32", _ARGUMENTS


def _coroutine(out: Output, e: Emitter, head: list[str]) -> str:
    """The whole kernel as a function that waits at its barriers."""
    told, arguments = _signature(out)
    lines = [
        f"define internal {told} @segment0({arguments}) presplitcoroutine noinline nounwind {{",
        "start:",
        *coroutine.START,
        f"  %first = mul i32 %j, {out.lanes.step}",
        *e.allocas,
        *head,
        *e.prologue,
        "  br label %L0.check",
        *e.lines,
        *coroutine.END,
        "}",
    ]
    return "\n".join(lines)


def _remaining(out: Output) -> list[str]:
    """The lanes whose threads have not returned."""
    return [
        f"  %left.at = getelementptr i8, ptr %kept, i64 {out.remaining}",
        f"  %left.bits = load i{out.lanes.width}, ptr %left.at, align 8",
    ]


def _present(lanes: LaneLayout) -> list[str]:
    """The lanes that are threads: those before the end of the row, or of the threadgroup."""
    w = lanes.width
    lane = "<" + ", ".join(f"i32 {n}" for n in range(w)) + ">"
    return [
        f"  %left = sub i32 {lanes.row}, 0" if lanes.rows else "  %left = sub i32 %count, %first",
        f"  %left.0 = insertelement <{w} x i32> poison, i32 %left, i64 0",
        f"  %left.v = shufflevector <{w} x i32> %left.0, <{w} x i32> poison, <{w} x i32> zeroinitializer",
        f"  %present = icmp ult <{w} x i32> {lane}, %left.v",
    ]
