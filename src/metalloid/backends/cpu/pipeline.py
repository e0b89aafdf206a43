"""The CPU's way from scalar IR to machine code:

    canonicalize -> prove -> share bases (checked runs: instrument) -> split at barriers -> vectorize -> codegen

`STAGES` has each text on the way by its name; `metalloid show --stage` prints them.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.barrier_arrival import Arrival, arrival
from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import is_fixed
from metalloid.analysis.intervals.prove import Proof
from metalloid.analysis.lane_layout import SIMD, LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.base import MAX_THREADS, Triple
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.code import Compiled, Details, Variant
from metalloid.backends.cpu.lower.driver import ENTRY_NAME
from metalloid.backends.cpu.lower.free_shape import is_free
from metalloid.backends.cpu.lower.gang_width import by_rows, choose
from metalloid.backends.cpu.lower.kept_values import regions
from metalloid.backends.cpu.lower.lane_or_loop import SUMS, Split, alone
from metalloid.backends.cpu.lower.part_sums import add_up_parts
from metalloid.backends.cpu.lower.row_gangs import row_gangs
from metalloid.backends.cpu.lower.sums_in_turn import NONE, TURNS, InTurn, in_turn, parts, sums_in_turn
from metalloid.backends.cpu.lower.vectorize import VectorCode, vectorize
from metalloid.backends.cpu.lower.walked_rows import LANES, by_fours, walked
from metalloid.backends.cpu.lower.written_rows import with_masked_rests
from metalloid.backends.line_table import LineTable, debug_info
from metalloid.backends.specialize import FAR, SHARED
from metalloid.errors import NotVectorised
from metalloid.ir import Module, write
from metalloid.ir.intrinsics import BARRIER, ENTRY
from metalloid.ir.layout import data_layout
from metalloid.ir.lines import Lined
from metalloid.ir.name_privates import name_privates
from metalloid.records import replace
from metalloid.targets import TargetInfo
from metalloid.transforms.byte_dots import byte_dots
from metalloid.transforms.call_notes import without_notes
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.check_sites import Options
from metalloid.transforms.common_gep_base import share
from metalloid.transforms.cut_off import may_cut
from metalloid.transforms.exact_sums import with_exact_sums
from metalloid.transforms.fold_sizes import asks_for_size, folded
from metalloid.transforms.folds import SUM
from metalloid.transforms.fuse_products import fuse_products
from metalloid.transforms.hoist_rows import hoist_rows, may_hoist
from metalloid.transforms.join_blocks import joined
from metalloid.transforms.lane_sums import lane_sums
from metalloid.transforms.merge_fixed import merge_fixed
from metalloid.transforms.one_row import DIVISIONS, in_one_row
from metalloid.transforms.partial_sums import Row
from metalloid.transforms.prune_edges import prune
from metalloid.transforms.reroll import rerolled
from metalloid.transforms.short_rows import with_short
from metalloid.transforms.split_sums import split, splits
from metalloid.transforms.stage_rows import stage_rows, stageable
from metalloid.transforms.sum_trees import split_trees

MAX_LINES = 400_000  # of vector code; the longest of known kernels, a checked flash attention, has half of it


def vector_code(
    module: Module,
    variant: Variant,
    width: int,
    target: codegen.Target,
    check: Options | None = None,
    table: LineTable | None = None,
    plain: Module | None = None,
    brief: bool = False,
) -> VectorCode:
    """Vector code of a canonical module. `width` forces a number of lanes. `plain` is the module for threadgroups of
    any size, where this one is for one. `brief`: code for LLVM to be done with soon, of the same results."""
    size, ragged, tables, guard, backwards, proof = variant
    free = check is None and not width
    turns = sums_in_turn(plain or module, target.info) if free else NONE
    rows = alone(plain or module, target.info) if free else None
    parts = check is None and rows is None
    short = turns.if_short(rows, proof.short, proof.apart) if rows and isinstance(proof, Proof) else None
    if short is not None:
        rows, turns = None, short
    if isinstance(proof, Proof):
        module = _proved(module, proof, size, check is not None, free and rows is None)
    if not guard and check is None:
        module = without_notes(module)
    loops = proof.loops if isinstance(proof, Proof) else frozenset()
    if check is None and not (width or ragged or tables or backwards or brief):
        module, loops = _staged(module, size, bool(guard), loops)
    dots = _dots(module, target, bool(guard)) if check is None else module
    wide = width or choose(dots, size, target.info, check is not None, rows, True)
    lanes = LaneLayout(
        min(wide, TURNS) if turns.rows else wide, *(size, ragged, tables, proof in (FAR, SHARED))
    )
    lanes, way = _gangs(module, lanes, bool(width), check)
    module = module if lanes.width % target.info.lanes32 else dots
    walks: tuple[str, ...] = ()
    if isinstance(proof, Proof) and free and lanes.width > 1 and not (backwards or brief):
        walks = walked(module, lanes, target.info, proof.apart)
        lanes = replace(lanes, width=min(lanes.width, LANES)) if walks and not lanes.rows else lanes
    if rows is not None and lanes.width == 1:
        module, loops = _alone(module, rows, turns, target, loops)
    elif lanes.width > 1:
        module, loops = _in_turn(module, turns, walks, target, bool(guard), loops)
    module = add_up_parts(module) if parts else module
    module = _fused(module, check is None)
    if lanes.width == 1 and isinstance(proof, Proof):
        rests = proof.apart and target.info.masks_memory and check is None and not brief
        module = with_masked_rests(module, loops, target.info) if rests else module
    if check is None and lanes.width > 1 and not brief:  # it writes code twice
        module, loops = _in_one_row(module, lanes, variant, loops, target.info)
    module = module.with_function(with_exact_sums(module.function[ENTRY], lanes.width > 1))
    made = vectorize(
        *(module, lanes, guard, backwards, target.info, loops, check, way, table, brief, proof != SHARED),
        isinstance(proof, Proof) and proof.apart,
    )
    if (lines := made.text.count("\n")) > MAX_LINES:
        raise NotVectorised(
            f"[engine] the kernel becomes {lines:,} lines of vector code, which LLVM would work on for minutes.\n"
            "  hint: write repeated code as a loop, and a switch of many cases as a table"
        )
    return made


def _proved(module: Module, proof: Proof, size: Triple, checked: bool, wide: bool) -> Module:
    """The module with what is known of a launch: marked accesses, no sides of branches that nobody takes. `wide`: its
    threads run side by side."""
    module = proof.mark(module)
    function = prune(module.function[ENTRY], proof.dead)
    if checked:  # tests of indices that hold are gone: loads of a row stand in one block again
        function, _ = joined(function, closed=True)
    else:
        layout = data_layout(module.datalayout)
        function = merge_fixed(function, layout, is_fixed)
        if wide and may_hoist(function):
            known = Uniformity(Flow(function), UnderlyingObjects(function), LaneLayout(SIMD, size), layout)
            function = hoist_rows(function, known, layout)
    return module.with_function(function)


def _alone(
    module: Module,
    rows: dict[Row, Split],
    turns: InTurn,
    target: codegen.Target,
    loops: frozenset[str],
) -> tuple[Module, frozenset[str]]:
    """For threads that run one after the other: with sums that fill registers. Where lanes may take turns instead, all
    code adds up as they do; the least and the greatest are the same in any order."""
    short, full = turns.may_be_short(rows), SUMS * target.info.lanes32
    most, chosen = (parts(target.info), turns.sums) if short else (full, None)
    function = split_trees(rerolled(module.function[ENTRY]), most, chosen)
    layout = data_layout(module.datalayout)
    for row, (counts, ways) in rows.items():
        new = splits(row, counts)
        if short and SUM in row.kinds and (two := with_short(function, row)) is not None:
            function, row, few = two
            function = split(function, few, counts[-1:], "in turn", layout=layout)
            new += [few.header, *splits(few, counts[-1:])]
        function = split(function, row, counts, *ways, layout=layout)
        if row.header in loops:
            loops |= {*new}
    return module.with_function(function), loops


def _fused(module: Module, shared: bool) -> Module:
    module = module.with_function(fuse_products(module.function[ENTRY]))
    return module.with_function(share(module.function[ENTRY])) if shared else module


def _in_turn(
    module: Module,
    turns: InTurn,
    walks: tuple[str, ...],
    target: codegen.Target,
    guard: bool,
    loops: frozenset[str],
) -> tuple[Module, frozenset[str]]:
    """For lanes that each have a row of their own: with sums of neighbours, and several rounds at once."""
    module = in_turn(module, turns, target.info, guard)
    loops |= {n for row, counts in turns.rows.items() if row.header in loops for n in splits(row, counts)}
    module, new = by_fours(module, walks)
    loops |= {name for header, names in new.items() if header in loops for name in names}
    return module, loops


def _staged(
    module: Module, size: Triple, guard: bool, loops: frozenset[str]
) -> tuple[Module, frozenset[str]]:
    """With a loop down rows of memory in pieces, where the threadgroup is one of ours that is tall."""
    across, height, deep = size
    if across * height * deep <= MAX_THREADS or height == 1 or not is_free(module):
        return module, loops
    found = stageable(module, across, height, guard)
    if found is None:
        return module, loops
    module, new = stage_rows(module, found, across, height)
    return module, loops | new if found.loop.header in loops else loops


def _in_one_row(
    module: Module, lanes: LaneLayout, variant: Variant, loops: frozenset[str], target: TargetInfo
) -> tuple[Module, frozenset[str]]:
    function, layout = module.function[ENTRY], data_layout(module.datalayout)
    *_, guard, backwards, _ = variant
    if not backwards and row_gangs(function, lanes, layout, guard, target) is not None:
        return module, loops
    if not any(i.opcode in DIVISIONS or may_cut(function, i) for i in function.instructions()):
        return module, loops
    known = Uniformity(Flow(function), UnderlyingObjects(function), lanes, layout)
    function, loops = in_one_row(function, known, loops, target.masks_memory)
    return module.with_function(function), loops


def _dots(module: Module, target: codegen.Target, guard: bool) -> Module:
    """The module with products of bytes as the processor has them."""
    known = target.info.dot_signs
    if not known:
        return module
    layout = data_layout(module.datalayout)
    return module.with_function(byte_dots(module.function[ENTRY], known, layout, guard))


def _gangs(
    module: Module, lanes: LaneLayout, forced: bool, check: Options | None
) -> tuple[LaneLayout, Arrival]:
    """Which threads a gang is, and how they come to barriers."""
    if check is not None:  # every barrier that not all threads reach is reported, and nobody goes on
        return lanes, "together"
    way = arrival(module.function[ENTRY], lanes.size)
    lanes = lanes if forced else by_rows(module, lanes)
    return (replace(lanes, width=SIMD, rows=False) if way == "parted" else lanes), way


def compiled(code: VectorCode, target: codegen.Target, level: int, baseline: bool = False) -> Compiled:
    """Machine code, and what a program has to know of it."""
    details = Details(
        code.sites, code.barriers, code.checks, dict(code.check_lengths), dict(code.local_places)
    )
    key, made = codegen.to_object(code.text, target, level, baseline=baseline)
    return Compiled(
        key,
        made,
        ENTRY_NAME,
        code.formats,
        code.local,
        code.scratch,
        tables=code.tables,
        searches=code.searches,
        own_copies=code.own_copies,
        watches=code.watches,
        straight=code.straight,
        look_up=lambda: details,
        baseline=baseline,
    )


# ---- stages to look at ----------------------------------------------------------------------------------------------


def _canonical(ir: str, size: Triple, target: codegen.Target) -> str:
    return write(canonical(ir))


def _regions(ir: str, size: Triple, target: codegen.Target) -> str:
    module = sized(ir, size)
    lanes, way = _gangs(module, LaneLayout(choose(module, size, target.info), size), False, None)
    module, _ = name_privates(module.with_function(share(module.function[ENTRY])))
    function = module.function[ENTRY]
    if lanes.single_gang or way == "parted" or not any(i.called == BARRIER for i in function.instructions()):
        return write(module)  # in one piece
    return write(regions(module, UnderlyingObjects(function), lanes)[1])


def vector_stage(ir: str, size: Triple, target: codegen.Target | None = None, brief: bool = False) -> str:
    """The guarded vector code of a kernel for threadgroups of one size, as text. May raise NotVectorised."""
    variant = (size, False, False, True, False, None)
    return vector_code(sized(ir, size), variant, 0, target or codegen.host(), brief=brief).text


def sized(ir: str, size: Triple) -> Module:
    """The canonical module, with the size of whole threadgroups as a number where it is asked for."""
    module = canonical(ir)
    return lane_sums(folded(ir, size) if asks_for_size(module) else module)


def _stage_code(ir: str, size: Triple, target: codegen.Target, table: LineTable) -> str:
    return vector_code(sized(ir, size), (size, False, False, True, False, None), 0, target, table=table).text


def _vector_lines(ir: str, size: Triple, target: codegen.Target) -> Lined:
    table = LineTable()
    return table.comments(_stage_code(ir, size, target, table))


def _assembly_lines(ir: str, size: Triple, target: codegen.Target) -> Lined:
    table = LineTable()
    return table.machine_code(
        codegen.to_assembly(_stage_code(ir, size, target, table), target, finish=debug_info)
    )


def _assembly(ir: str, size: Triple, target: codegen.Target) -> str:
    return codegen.to_assembly(vector_stage(ir, size, target), target)


STAGES: dict[str, Callable[[str, Triple, codegen.Target], str]] = {
    "canon.ll": _canonical,
    "regions.ll": _regions,
    "vec.ll": vector_stage,
    "asm": _assembly,
}
# The same with the place of each line, where the text itself does not say it.
LINED: dict[str, Callable[[str, Triple, codegen.Target], Lined]] = {
    "vec.ll": _vector_lines,
    "asm": _assembly_lines,
}
