"""From scalar IR to vector IR: the passes of the CPU, in order.

    canonical -> split at barriers -> for each region: shapes, divergence, masks -> vector code

The result is one function that runs one threadgroup: for each region, a loop over the gangs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from metalloid.analysis.barrier_arrival import Arrival
from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.base import Guard
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower import row_gangs, sliding_gangs
from metalloid.backends.cpu.lower.carried import carried_sums
from metalloid.backends.cpu.lower.driver import Driver
from metalloid.backends.cpu.lower.elide_zero_init import to_clear
from metalloid.backends.cpu.lower.held_arrays import held_arrays
from metalloid.backends.cpu.lower.kept_values import Part, split_kernel
from metalloid.backends.cpu.lower.module_text import module_text
from metalloid.backends.cpu.lower.ops.memory_orders import only_counts, watches
from metalloid.backends.cpu.lower.ops.own_copies import own_copies
from metalloid.backends.cpu.lower.output import Output
from metalloid.backends.cpu.lower.private_arrays import Scratch, place_privates
from metalloid.backends.cpu.lower.region_text import arguments_of, region_texts, without_mask
from metalloid.backends.cpu.own_copy import OwnCopy
from metalloid.backends.line_table import LineTable
from metalloid.backends.sites import Site
from metalloid.ir import Function, Instruction, Module
from metalloid.ir.intrinsics import BARRIER, ENTRY, among_lanes
from metalloid.ir.layout import data_layout
from metalloid.ir.name_privates import name_privates
from metalloid.records import dataclass, field, replace
from metalloid.targets import TargetInfo
from metalloid.transforms.barriers.outline import only_state
from metalloid.transforms.stage_rows import TILE

if TYPE_CHECKING:
    from metalloid.transforms.instrument import Checks, Options


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
    own_copies: tuple[OwnCopy, ...]  # of buffers, for each thread of the processor
    watches: bool  # a thread may wait for what other threadgroups do
    straight: bool  # without loops and barriers: a thread is done soon
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
    copies: bool = True,
    apart: bool = False,
) -> VectorCode:
    """Vector code for a canonical module; `way`: how its threads come to barriers. Loops that end soon need not look
    whether they should. With a `table`, lines say where they come from. `brief`: no copies for gangs without idle
    lanes, so that machine code is there sooner. `copies`: buffers may have one for each thread; `apart`: none
    is bound twice."""
    module, privates = name_privates(module)
    module, checks = _instrumented(module, check)
    together = way == "together" and check is None
    module, lone = _with_gang_barriers(module, lanes) if together else (module, frozenset[str]())
    function = module.function[ENTRY]
    whole = UnderlyingObjects(function)
    barriers = tuple(i for i in function.instructions() if i.called == BARRIER)
    layout, parted, scratch = data_layout(module.datalayout), way == "parted", Scratch()
    out = Output(
        module, layout, lanes, guard, target, short_loops, check=checks, barriers=barriers, suspends=parted
    )
    out.table, out.brief, out.counts, out.lone = table, brief, only_counts(function), lone
    out.apart = apart and check is None
    local = out.layout_locals()
    if copies and not (parted or check is not None):
        out.own_copies = own_copies(function, whole, layout, lanes.size)
        out.carried = carried_sums(function, whole, out.own_copies, lanes, target, out.counts)
    barrier_sites = tuple(Site(s.location, None, 0, False, "M204") for s in _sites_of(out, barriers))
    place_privates(out, function, whole, privates, scratch)
    if parted:
        out.nowhere = scratch.take(16, 16)
    parts = _parts(out, module, whole, scratch, way)
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
        tuple(out.own_copies.values()),
        watches(function),
        len(parts) == 1 and not (barriers or parts[0].uniformity.flow.forest.loops),
        checks,
        out.check_lengths,
        {name: (at, out.local_sizes[name]) for name, at in out.local_offsets.items()},
    )


def _parts(
    out: Output, module: Module, whole: UnderlyingObjects, scratch: Scratch, way: Arrival
) -> list[Part]:
    """What runs between barriers; the whole kernel where gangs need not wait for each other."""
    function, lanes = module.function[ENTRY], out.lanes
    if not out.barriers or lanes.single_gang or way == "parted":
        return [Part(module, function, whole, Uniformity(Flow(function), whole, lanes, out.layout))]
    if way == "returned":
        out.remaining = scratch.take(max(8, lanes.width) // 8, 64)
    return split_kernel(out, module, whole, scratch)


def _with_gang_barriers(module: Module, lanes: LaneLayout) -> tuple[Module, frozenset[str]]:
    """The module with barriers that are the first gang's own, and the blocks that only it runs."""
    if not any(i.called == BARRIER for i in module.function[ENTRY].instructions()):
        return module, frozenset()
    from metalloid.transforms.barriers.gang_barriers import gang_barriers

    function, lone = gang_barriers(module.function[ENTRY], lanes, data_layout(module.datalayout))
    return module.with_function(function), lone


def _instrumented(module: Module, check: Options | None) -> tuple[Module, Checks | None]:
    if check is None:
        return module, None
    from metalloid.transforms.instrument import instrument

    return instrument(module, check)


def _written(out: Output, parts: list[Part], scratch: Scratch, reverse: bool) -> tuple[str, bool]:
    """The module's text; whether each gang of a threadgroup has its own scratch."""
    function = out.module.function[ENTRY]
    synchronous = 1 + len(out.barriers) if len(parts) > 1 else 1
    looked = [(part.uniformity.flow, part.roots, part.uniformity) for part in parts]
    cleared = to_clear(looked, out.lanes, out.local_sizes, synchronous)
    cleared = {name: parts for name, parts in cleared.items() if not name.startswith(TILE)}
    if out.check is not None:
        cleared = {name: [(0, size)] for name, size in out.local_sizes.items()}
    alone = len(parts) == 1 and not reverse
    slide = sliding_gangs.sliding(out, function, parts[0].roots) if alone else None
    if alone and slide is None and out.barriers and not (out.brief or out.suspends or out.check is not None):
        out.held = held_arrays(parts[0].uniformity, parts[0].roots, out.local_sizes, out.target.vector_bytes)
        cleared = {name: ranges for name, ranges in cleared.items() if name not in out.held}
    rows = _row_gangs(out, function) if alone and slide is None else None
    if slide is not None:
        texts = [sliding_gangs.written(out, slide, arguments_of(out), partial(without_mask, parts[0]))]
        out = replace(out, lanes=slide.lanes)
    else:
        texts = region_texts(out, parts, synchronous)
    if rows is not None:
        write = partial(without_mask, parts[0])
        texts = [row_gangs.written(out, rows, arguments_of(out), texts[0], write)]
        out = replace(out, lanes=rows.lanes)
    if out.suspends:
        from metalloid.backends.cpu.lower.coroutine_driver import Turns

        main = Turns(out, function, list(out.barriers), scratch, reverse, cleared).write()
        return module_text(out, texts, main), True
    if out.carried.by_key:
        from metalloid.backends.cpu.lower.ops.carried_sums import functions

        texts += functions(out)
    ends = tuple(only_state(part.function) for part in parts[:synchronous])
    driver = Driver(out, synchronous, len(parts), scratch, reverse, cleared, list(out.barriers), ends)
    return module_text(out, texts, driver.write()), driver.many


def _row_gangs(out: Output, function: Function) -> row_gangs.RowGangs | None:
    if out.check is not None or out.brief or out.private or out.local_sizes:
        return None
    return row_gangs.row_gangs(function, out.lanes, out.layout, out.guard, out.target)


def _sites_of(out: Output, barriers: Sequence[Instruction]) -> list[Site]:
    return [out.sites[out.site(i, None, rule="M204")] for i in barriers]
