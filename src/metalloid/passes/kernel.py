"""From scalar IR to vector IR: the passes of the CPU, in order.

    canonical -> split at barriers -> for each segment: shapes, divergence, masks -> vector code

The result is one function that runs one threadgroup: for each segment, a loop over the instances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from metalloid.errors import NotVectorised
from metalloid.ir import Function, Instruction, Module, write
from metalloid.ir.layout import data_layout
from metalloid.ir.tokens import quote
from metalloid.ir.types import I32, PointerType
from metalloid.ir.values import Global, Int, Local
from metalloid.ir.write import write_value
from metalloid.passes import abi, segments
from metalloid.passes.canonical import ENTRY, tidy
from metalloid.passes.clearing import filled_first
from metalloid.passes.divergence import Flow
from metalloid.passes.emit.check import driver_checks
from metalloid.passes.emit.control import Control
from metalloid.passes.emit.core import Emitter, Output, PrivatePlace, Site, SlotPlace, lowered
from metalloid.passes.emit.places import memory_type
from metalloid.passes.instrument import Checks, Options, instrument
from metalloid.passes.lanes import Lanes
from metalloid.passes.roots import Root, Roots
from metalloid.passes.shape import Shape
from metalloid.passes.uniformity import Uniformity

MAX_INLINED = (
    8000  # lines of all segments; LLVM takes more than twice as long for a function of twice the size
)
SIMD_CALLS = ("__mt_simd_", "__mt_quad_", "__mt_matrix", "__mt_simdgroup_barrier")
ENTRY_NAME = "mt_threadgroup"
_PLACE = "i32 %gx, i32 %gy, i32 %gz, i32 %sx, i32 %sy, i32 %sz"
_ARGUMENTS = (
    "ptr %launch, ptr %tables, ptr noalias %tg, ptr noalias %kept, ptr noalias %private, i32 %j, "
    f"{_PLACE}, i32 %count"
)


@dataclass(frozen=True)
class VectorCode:
    """A kernel for the CPU, as LLVM IR."""

    text: str
    sites: tuple[Site, ...]
    barriers: tuple[Site, ...]
    formats: tuple[str, ...]
    local: int  # bytes of threadgroup memory inside the kernel
    scratch: int  # bytes of scratch for a threadgroup
    lanes: Lanes
    segments: int
    checks: Checks | None = None
    check_lengths: Mapping[int, int] = field(default_factory=dict)
    local_places: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # offset and bytes of variables


@dataclass(frozen=True)
class Private:
    size: int
    align: int


def uses_lanes(module: Module) -> bool:
    """Whether the kernel has operations among lanes."""
    return any(i.called.startswith(SIMD_CALLS) for i in module.function[ENTRY].instructions())


def name_privates(module: Module) -> tuple[Module, list[Private]]:
    """Private arrays become intrinsics, so that they are the same variable in every segment."""
    layout = data_layout(module.datalayout)
    found: list[Private] = []

    def change(i: Instruction) -> Instruction:
        if i.opcode != "alloca":
            return i
        count = i.operands[0] if i.operands else Int(I32, 1)
        if not isinstance(count, Int) or i.element is None:
            raise NotVectorised(
                "[engine] a private array of a length that is only known at run time is not supported"
            )
        found.append(Private(layout.size(i.element) * count.value, max(i.align, 1)))
        callee = Global("__mt_private", PointerType())
        return Instruction(
            "call", i.type, (Int(I32, len(found) - 1),), i.name, callee=callee, metadata=i.debug_only
        )

    function = module.function[ENTRY].map_instructions(change)
    return module.with_function(function).declare("__mt_private", PointerType(5), (I32,)), found


def vectorise(
    module: Module,
    lanes: Lanes,
    guard: bool,
    reverse: bool = False,
    vector_bits: int = 512,
    short_loops: frozenset[str] = frozenset(),
    check: Options | None = None,
) -> VectorCode:
    """Vector code for a canonical module. Loops that end soon need not look whether they should."""
    module, privates = name_privates(module)
    checks = None
    if check is not None:
        module, checks = instrument(module, check)
    function = module.function[ENTRY]
    whole_roots = Roots(function)
    barriers = [i for i in function.instructions() if i.called == segments.BARRIER]
    layout = data_layout(module.datalayout)
    out = Output(module, layout, lanes, guard, vector_bits // 8, short_loops, check=checks)
    local = out.layout_locals()
    barrier_sites = tuple(Site(s.location, None, 0, False, "M204") for s in _sites_of(out, barriers))
    scratch = Scratch(lanes)
    _place_privates(out, function, whole_roots, privates, scratch)
    parts: list[tuple[Module, Function, Roots, Uniformity]] = []
    if barriers and not lanes.one:
        known = Uniformity(Flow(function), whole_roots, lanes, layout)
        made = segments.split(function, lambda value: _coefficients(known, value))
        out.rounds = made.rounds
        slot_roots: dict[int, Root] = {}
        for slot in made.slots:
            shape = _keepable(known, slot.value)
            size = memory_type(slot.value.type)[1] if lowered(slot.value.type) != "i64" else 8
            at = scratch.take(
                size * (1 if shape is not None else lanes.width), 8 if shape is not None else 64
            )
            out.slots[slot.number] = SlotPlace(at, shape)
            if isinstance(slot.value.type, PointerType):
                slot_roots[slot.number] = whole_roots.of[slot.value.name]
        tidied = tidy(write(segments.as_module(module, made)), first=False)
        for n in range(len(made.functions)):
            part = tidied.function[f"segment{n}"]
            roots = Roots(part, slot_roots)
            shapes = {number: _in_segment(place.shape, n) for number, place in out.slots.items()}
            parts.append((tidied, part, roots, Uniformity(Flow(part), roots, lanes, layout, shapes)))
    else:
        parts.append((module, function, whole_roots, Uniformity(Flow(function), whole_roots, lanes, layout)))
    cleared = frozenset(out.local_sizes) - filled_first(
        parts[0][3].flow, parts[0][2], parts[0][3], lanes, layout, out.local_sizes
    )
    texts = []
    for n, (own, part, roots, uniformity) in enumerate(parts):
        out.module = own
        texts.append(_segment_text(out, part, roots, uniformity, n))
    if sum(t.count("\n") for t in texts) > MAX_INLINED:
        texts = [
            t.replace(") alwaysinline nounwind {", ") noinline alignstack(64) nounwind {", 1) for t in texts
        ]
    many = len(parts) > 1
    driver = _driver(out, len(parts), scratch, reverse, many, cleared, barriers)
    text = _module_text(out, texts, driver)
    instances = lanes.instances if many else 1
    return VectorCode(
        text,
        tuple(out.sites),
        barrier_sites,
        tuple(out.formats),
        local,
        scratch.size * instances,
        lanes,
        len(parts),
        checks,
        out.check_lengths,
        {name: (at, out.local_sizes[name]) for name, at in out.local_offsets.items()},
    )


def _keepable(known: Uniformity, value: Local) -> Shape | None:
    """The shape that a kept value has behind a barrier. One that is good for addresses only will do for pointers."""
    shape = known.shape(value)
    if shape is None or shape.exact or not shape.terms or isinstance(value.type, PointerType):
        return shape
    return None


def _coefficients(known: Uniformity, value: Local) -> frozenset[str]:
    shape = _keepable(known, value)
    return frozenset(c for c, _ in shape.terms if c) if shape is not None else frozenset()


def _in_segment(shape: Shape | None, number: int) -> Shape | None:
    """The same shape with the names that coefficients have in a segment."""
    if shape is None:
        return None
    terms = ((segments.kept_name(number, c) if c else c, p) for c, p in shape.terms)
    return replace(shape, terms=tuple(sorted(terms)))


def _sites_of(out: Output, barriers: list[Instruction]) -> list[Site]:
    return [out.sites[out.site(i, None, rule="M204")] for i in barriers]


class Scratch:
    """Places in an instance's scratch."""

    def __init__(self, lanes: Lanes) -> None:
        self.size = 0

    def take(self, size: int, align: int = 64) -> int:
        at = -(-self.size // align) * align
        self.size = at + size
        return at

    @property
    def stride(self) -> int:
        return -(-self.size // 64) * 64


def _place_privates(
    out: Output, function: Function, roots: Roots, privates: list[Private], scratch: Scratch
) -> None:
    """Lanes side by side where all accesses are of one size through the variable itself; else in one piece."""
    units = _units(out, function, roots, len(privates))
    frame = 16
    for n, private in enumerate(privates):
        if not units[n]:
            frame = -(-frame // private.align) * private.align
            out.private[n] = PrivatePlace(frame, private.size, 0)
            frame += private.size
    frame = -(-frame // 16) * 16
    if any(not u for u in units):
        assert scratch.size == 0
        # Frames start at offset 0 of the private area; their common size is that of the largest offset in them.
        last = max(p.at + p.size for p in out.private.values())
        scratch.take(last * out.lanes.width)
    for n, private in enumerate(privates):
        if units[n]:
            at = scratch.take(-(-private.size // units[n]) * units[n] * out.lanes.width)
            out.private[n] = PrivatePlace(at, private.size, units[n])


def _units(out: Output, function: Function, roots: Roots, count: int) -> list[int]:
    """For each private variable the one size of its accesses, or 0."""
    sizes: list[set[int]] = [set() for _ in range(count)]
    spoiled = [False] * count

    def spoil(value: object) -> None:
        if isinstance(value, Local) and isinstance(value.type, PointerType) and value.type.space == 5:
            root = roots.of[value.name]
            if root.kind == "private":
                spoiled[root.index] = True
            else:
                spoiled[:] = [True] * count

    steps: list[set[int]] = [set() for _ in range(count)]
    for i in function.instructions():
        if i.opcode in ("load", "store") and not i.ordering:
            pointer = i.operands[-1]
            if (
                isinstance(pointer, Local)
                and isinstance(pointer.type, PointerType)
                and pointer.type.space == 5
            ):
                root = roots.of[pointer.name]
                if root.kind == "private":
                    sizes[root.index].add(
                        memory_type(i.type if i.opcode == "load" else i.operands[0].type)[1]
                    )
                else:
                    spoil(pointer)
            if i.opcode == "store":
                spoil(i.operands[0])
        elif i.opcode == "getelementptr" and isinstance(i.type, PointerType) and i.type.space == 5:
            root = roots.of[i.name]
            if root.kind == "private":
                steps[root.index] |= _steps(out, i)
            else:
                spoil(i.operands[0])
        elif i.opcode in ("phi", "select") and isinstance(i.type, PointerType) and i.type.space == 5:
            if roots.of[i.name].kind != "private":
                for operand in i.operands:
                    spoil(operand)
        elif i.called != "__mt_private":
            for operand in i.operands:
                spoil(operand)
    found = []
    for n in range(count):
        size = next(iter(sizes[n])) if len(sizes[n]) == 1 and not spoiled[n] else 0
        found.append(size if size and all(s % size == 0 for s in steps[n]) else 0)
    return found


def _steps(out: Output, i: Instruction) -> set[int]:
    """By how many bytes an address can move: strides and constant distances."""
    from metalloid.ir.types import ArrayType, StructType

    found: set[int] = set()
    type = i.element
    assert type is not None
    for n, index in enumerate(i.operands[1:]):
        if n and isinstance(type, StructType):
            assert isinstance(index, Int)
            found.add(out.layout.struct(type)[0][index.value])
            type = type.elements[index.value]
            continue
        if n:
            assert isinstance(type, ArrayType)
            type = type.element
        size = out.layout.size(type)
        found.add(size * index.signed if isinstance(index, Int) else size)
    return found


def _segment_text(out: Output, function: Function, roots: Roots, uniformity: Uniformity, number: int) -> str:
    e = Emitter(out, function, roots, uniformity)
    control = Control(e)
    head: list[str] = []
    if not out.lanes.full:
        w = e.width
        iota = e.constants("i32", list(range(w)))
        head += [
            f"  %first.0 = insertelement <{w} x i32> poison, i32 %first, i64 0",
            f"  %first.v = shufflevector <{w} x i32> %first.0, <{w} x i32> poison, <{w} x i32> zeroinitializer",
            f"  %threads = add <{w} x i32> %first.v, {iota}",
            f"  %count.0 = insertelement <{w} x i32> poison, i32 %count, i64 0",
            f"  %count.v = shufflevector <{w} x i32> %count.0, <{w} x i32> poison, <{w} x i32> zeroinitializer",
            f"  %present = icmp ult <{w} x i32> %threads, %count.v",
        ]
        control.entry_mask = "%present"
    e.entry_mask = control.entry_mask
    control.write()
    told = "i64" if out.rounds else "i32"
    lines = [
        f"define internal {told} @segment{number}({_ARGUMENTS}) alwaysinline nounwind {{",
        "start:",
        f"  %state = alloca {told}",
        f"  store {told} 0, ptr %state",
        f"  %first = mul i32 %j, {e.width}",
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


def _driver(
    out: Output,
    parts: int,
    scratch: Scratch,
    reverse: bool,
    many: bool,
    cleared: frozenset[str],
    barriers: list[Instruction],
) -> str:
    """Threadgroups side by side along x; for each, segment after segment, each a loop over the instances."""
    w = out.lanes.width
    told = "i64" if out.rounds else "i32"
    lines = [
        f"define void @{ENTRY_NAME}(ptr %launch, ptr %tables, ptr noalias %tg, ptr noalias %scratch, "
        f"{_PLACE.replace('%gx', '%gx.first')}, i32 %groups) nounwind {{",
        "start:",
        "  %xy = mul i32 %sx, %sy",
        "  %count.real = mul i32 %xy, %sz",
    ]
    fixed = not (out.lanes.ragged or out.lanes.tables)
    count = str(out.lanes.count) if fixed else "%count.real"
    lines += [f"  %more = add i32 {count}, {w - 1}", f"  %instances = udiv i32 %more, {w}"]
    lines += [
        "  %gx.end = add i32 %gx.first, %groups",
        "  br label %group",
        "group:",
        "  %gx = phi i32 [ %gx.first, %start ], [ %gx.next, %done ]",
        *_clear(out, cleared),
        *driver_checks(out, None),
        "  br label %s0",
    ]
    out.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    private = list(out.private.values())
    for n in range(parts):
        lines += [f"s{n}:", *(driver_checks(out, barriers[n - 1]) if n else [])]
        lines += [f"  br label %s{n}.loop", f"s{n}.loop:"]
        lines += [
            f"  %n{n} = phi i32 [ 0, %s{n} ], [ %n{n}.next, %s{n}.next ]",
            f"  %seen{n} = phi {told} [ 0, %s{n} ], [ %got{n}, %s{n}.next ]",
        ]
        if reverse:
            lines += [f"  %back{n} = sub i32 %instances, %n{n}", f"  %j{n} = sub i32 %back{n}, 1"]
            j = f"%j{n}"
        else:
            j = f"%n{n}"
        if many:
            lines += [
                f"  %wide{n} = zext i32 {j} to i64",
                f"  %at{n} = mul i64 %wide{n}, {scratch.stride}",
                f"  %own{n} = getelementptr i8, ptr %scratch, i64 %at{n}",
            ]
            own = f"%own{n}"
        else:
            own = "%scratch"
        if private and n == 0:
            lines.append(
                f"  call void @llvm.memset.p0.i64(ptr align 16 {own}, i8 0, i64 {scratch.size}, i1 false)"
            )
        lines += [
            f"  %got{n} = call {told} @segment{n}(ptr %launch, ptr %tables, ptr %tg, ptr {own}, ptr {own}, i32 {j}, "
            f"{_PLACE}, i32 {count})",
            f"  %stop{n} = icmp eq {told} %got{n}, -1",
            f"  br i1 %stop{n}, label %stopped, label %s{n}.fine, !prof !2",
            f"s{n}.fine:",
        ]
        if many:
            lines += [
                f"  %begin{n} = icmp eq i32 %n{n}, 0",
                f"  %same{n} = icmp eq {told} %got{n}, %seen{n}",
                f"  %agree{n} = or i1 %begin{n}, %same{n}",
                f"  br i1 %agree{n}, label %s{n}.next, label %s{n}.apart, !prof !1",
                f"s{n}.apart:",
            ]
            lines += _apart(out, n, j, w)
        else:
            lines.append(f"  br label %s{n}.next")
        lines += [
            f"s{n}.next:",
            f"  %n{n}.next = add i32 %n{n}, 1",
            f"  %more{n} = icmp ult i32 %n{n}.next, %instances",
            f"  br i1 %more{n}, label %s{n}.loop, label %s{n}.end",
            f"s{n}.end:",
        ]
        if many:
            cases = " ".join(f"i32 {k}, label %s{k}" for k in range(1, parts))
            lines += _number(out, f"%got{n}", f"%next{n}")
            lines.append(f"  switch i32 %next{n}, label %done [ {cases} ]")
        else:
            lines.append("  br label %done")
    lines += [
        "done:",
        "  %gx.next = add i32 %gx, 1",
        "  %again = icmp ult i32 %gx.next, %gx.end",
        "  br i1 %again, label %group, label %stopped",
        "stopped:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _clear(out: Output, cleared: frozenset[str]) -> list[str]:
    """Threadgroup memory starts as zeros; a known size lets LLVM write them in place."""
    sized = any(i.called == "__mt_threadgroup" for f in out.module.functions for i in f.instructions())
    if not sized:
        lines = []
        for n, name in enumerate(sorted(cleared)):
            lines += [
                f"  %local{n} = getelementptr i8, ptr %tg, i64 {out.local_offsets[name]}",
                f"  call void @llvm.memset.p0.i64(ptr align 16 %local{n}, i8 0, i64 {out.local_sizes[name]}, i1 false)",
            ]
        return lines
    return [
        f"  %locals = getelementptr i8, ptr %tg, i64 {abi.LOCAL_START}",
        f"  %total.at = getelementptr i8, ptr %launch, i64 {abi.LOCAL_TOTAL}",
        "  %total = load i64, ptr %total.at",
        f"  %length = sub i64 %total, {abi.LOCAL_START}",
        "  call void @llvm.memset.p0.i64(ptr align 64 %locals, i8 0, i64 %length, i1 false)",
    ]


def _apart(out: Output, n: int, j: str, w: int) -> list[str]:
    """Instances stopped at different places: report the barrier that one of them has not reached."""
    out.declare(abi.FAULT, f"declare void @{abi.FAULT}(ptr, i32, i64, i32, i32, i32, i32) cold")
    return [
        *_number(out, f"%got{n}", f"%one{n}"),
        *_number(out, f"%seen{n}", f"%other{n}"),
        f"  %ahead{n} = icmp ugt i32 %one{n}, %other{n}",
        f"  %which{n} = select i1 %ahead{n}, i32 %one{n}, i32 %other{n}",
        f"  %barrier{n} = zext i32 %which{n} to i64",
        f"  %thread{n} = mul i32 {j}, {w}",
        f"  %site{n} = sub i32 %which{n}, 1",
        f"  call void @{abi.FAULT}(ptr %launch, i32 %site{n}, i64 %barrier{n}, i32 %thread{n}, "
        f"i32 %gx, i32 %gy, i32 %gz)",
        "  br label %stopped",
    ]


def _number(out: Output, told: str, name: str) -> list[str]:
    """The barrier's number out of what a segment told."""
    return [f"  {name} = trunc i64 {told} to i32" if out.rounds else f"  {name} = add i32 {told}, 0"]


def _module_text(out: Output, texts: list[str], driver: str) -> str:
    constants = []
    for g in out.module.globals:
        if g.space in (1, 4) and g.constant and g.initializer is not None:
            plain = replace(g, space=0, prefix="internal", suffix="", metadata=())
            constants.append(
                f'@"{g.name}" = internal constant {plain.type} {_initial(g.initializer)}, align {max(g.align, 16)}'
            )
    types = [f"{quote('%', t.name)} = type {t.body}" for t in out.module.types]
    if abi.OUTSIDE in out.declared:
        constants.append(_constant_ranges(out))
    parts = [*types, *constants, *out.declared.values(), *out.helpers.values(), *texts, driver]
    meta = [
        "!0 = !{}",
        '!1 = !{!"branch_weights", i32 100000, i32 1}',
        '!2 = !{!"branch_weights", i32 1, i32 100000}',
        "!3 = !{i32 1}",
    ]
    return "\n".join([*parts, *meta]) + "\n"


def _constant_ranges(out: Output) -> str:
    """Where the constant tables lie, for pointers that may point into one; the last entry is empty."""
    found = [
        f'{{ ptr, i64 }} {{ ptr @"{g.name}", i64 {out.layout.size(g.type)} }}'
        for g in out.module.globals
        if g.space in (1, 4) and g.constant and g.initializer is not None
    ]
    entries = ", ".join([*found, "{ ptr, i64 } zeroinitializer"])
    return f"@{abi.CONSTANTS} = constant [{len(found) + 1} x {{ ptr, i64 }}] [{entries}]"


def _initial(value: object) -> str:
    return write_value(value)  # type: ignore[arg-type]


Pass = Callable[[Function], Function]
