"""Whether a kernel runs faster one thread after the other, its loops in vectors.

A gang wants neighbouring lanes at neighbouring addresses. A thread for each row of a matrix has it the other way round:
lanes lie a row apart, and each walks along its own. Then lanes cost a load each, share no cache line, and where rows
lie a power of two apart they share few places of the first cache; while the loop itself is what a register wants. The
same holds for rows of their own length, where most lanes wait for the longest. So: count what an
iteration of the innermost loops loads, both ways. Sums in such loops become several (`transforms/partial_sums.py`),
in an order of their own: so the choice is made from a kernel's text alone, before anything is proved of a launch, and
for any threadgroup. Launches of a kernel that differ in their guard, or in what is known of them, add up alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals.prove import read_parameters
from metalloid.analysis.lane_layout import LaneLayout, Triple
from metalloid.analysis.loop_stride import Stride, Strides
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.packs import CALLS, MEMORY, SATURATING, STEPS
from metalloid.backends.cpu.lower.access.round_loads import WORD, lookup
from metalloid.backends.cpu.lower.free_shape import Accesses, access_of, footprint, vectors
from metalloid.backends.cpu.lower.vectorize import uses_lanes
from metalloid.backends.cpu.lower.written_blocks import writes_blocks
from metalloid.ir import Function, Instruction, Module
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import BARRIER, ENTRY, POSITIONS, is_ours, short
from metalloid.ir.layout import DataLayout, data_layout
from metalloid.ir.loops import Loop
from metalloid.ir.name_privates import name_privates
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Int, Value
from metalloid.targets import TargetInfo
from metalloid.transforms.masked_rounds import may_be_masked
from metalloid.transforms.merge_fixed import merge_fixed
from metalloid.transforms.partial_sums import Row, ends_by_count, rows, sum_kind
from metalloid.transforms.reroll import rerolled
from metalloid.transforms.split_sums import MOST, Way

LANES = 32  # that are looked at
ALONE = 2.0  # what a lane's own load costs: the load, and its place in the register
DENSE = 4  # of so many bytes that a loop passes by, one is loaded
COUNTER = 1  # what it takes to count rounds; addresses that go on by steps take nothing beside it
WAITING = 2.0  # lanes that leave a loop at different times are busy half of the time
_STIR = frozenset(("store", "atomicrmw", "cmpxchg", "switch"))
_CALM = (*CALLS, *SATURATING)  # LLVM has them for registers
_PLAIN = (
    "fadd",
    "fsub",
    "fmul",
    "fdiv",
    "fneg",
    "fcmp",
    "add",
    "sub",
    "mul",
    "and",
    "or",
    "xor",
    "shl",
    "lshr",
    "ashr",
)


# How many rounds a loop runs at once, then how many of what is left; in what ways, where that is said.
Split = tuple[tuple[int, ...], tuple[Way, ...]]
MASKED: tuple[Way, ...] = ("masked",)
ENDS: tuple[Way, ...] = ("side by side", "masked")
SUMS = 4  # registers of sums that a loop adds up at once: additions take so long
GATHERED = (
    4  # sums, where addresses are looked up: nothing fills a register, but nobody waits for the last addition
)


def alone(module: Module, target: TargetInfo) -> dict[Row, Split] | None:
    """Whether threads run one after the other: the rows whose sums are split, and how far; None where they do not."""
    module, _ = name_privates(module)
    function = rerolled(_with_parameters_once(module.function[ENTRY], data_layout(module.datalayout)))
    calls = [i for i in function.instructions() if i.opcode == "call"]
    if any(i.called == BARRIER for i in calls) or uses_lanes(module):
        return None
    flow = Flow(function)
    layout = data_layout(module.datalayout)
    if not flow.forest.loops:
        return {} if writes_blocks(function, layout, target) else None
    if not may_pay(flow, layout, target):
        return None
    lanes = LaneLayout(LANES, row_of_threads(calls))
    known = Uniformity(flow, UnderlyingObjects(function), lanes, layout)
    if not loops_in_vectors(flow, known, layout, target):
        return None
    # What is a loop along a row only once its parameters are, code without a proof does not add up in parts.
    plain = module.function[ENTRY]
    there = {row.header: row for row in rows(plain)}
    before = Flow(plain) if there else flow
    return {
        row: ((target.lanes32,), MASKED)
        if looks_up(before, there[row.header], layout, target)
        else (sums_of(flow, row, layout, target), _ways(before, there[row.header], layout, target))
        for row in rows(function)
        if row.header in there
    }


def _ways(flow: Flow, row: Row, layout: DataLayout, target: TargetInfo) -> tuple[Way, ...]:
    """What is left of a row, under a mask, where its rounds load neighbours: one by one it would take as long as the
    rest."""
    function, loop = flow.function, flow.forest.loops[row.header]
    strides = Strides(function, loop, layout, exact=True)
    loads = [i for i in function.block[row.header].instructions if i.opcode == "load"]
    beside = all(strides.of(i.operands[0]) == {(): layout.store_size(i.type)} for i in loads)
    return ENDS if target.masks_memory and beside and may_be_masked(function, row) else ()


def _with_parameters_once(function: Function, layout: DataLayout) -> Function:
    """With one load for each of the launch's parameters: code mostly has them as numbers that stay."""
    roots = UnderlyingObjects(function)
    parameters = read_parameters(function, roots)

    def fixed(load: Instruction) -> bool:
        root = roots.root(load.operands[0])
        return root is not None and root.kind == "buffer" and root.index in parameters

    return merge_fixed(function, layout, fixed)


def dense(function: Function, loop: Loop, row: Row, layout: DataLayout) -> list[Instruction]:
    """What a loop loads from round to round, where that lies side by side, or nearly so."""
    body, strides = list(function.block[row.header].instructions), Strides(function, loop, layout)
    if row.step != 1 or not straight(function, loop, body, strides):
        return []
    loads = [i for i in body if i.opcode == "load" and strides.of(i.operands[0]) != {}]
    fits = all(strides.of(i.operands[0]) in _near(layout.store_size(i.type)) for i in loads)
    return loads if fits else []


def _near(size: int) -> list[Stride]:
    return [{(): step * size} for step in STEPS]


def walks(loads: list[Instruction], known: Uniformity, target: TargetInfo) -> bool:
    """Whether some of what a loop loads lies far apart from lane to lane; all of it in memory that is known."""
    roots = [known.roots.root(i.operands[0]) for i in loads]
    if not all(root is not None and root.kind in MEMORY for root in roots):
        return False
    return any(is_far(known, i, target) for i in loads)


def is_far(known: Uniformity, load: Instruction, target: TargetInfo) -> bool:
    """Whether every lane has a load of its own."""
    size, lanes = known.layout.store_size(load.type), min(LANES, known.lanes.width)
    return footprint(known.shape(load.operands[0]), size, target, lanes)[0] >= lanes


def row_of_threads(calls: list[Instruction]) -> Triple:
    """A threadgroup along the first axis that the kernel asks for."""
    asked = {
        a.value
        for i in calls
        if is_ours(i.called) and short(i.called) in POSITIONS
        for a in i.operands
        if isinstance(a, Int)
    }
    axis = min(asked, default=0)
    x, y, z = (LANES if n == axis else 1 for n in range(3))
    return x, y, z


def sums_of(flow: Flow, row: Row, layout: DataLayout, target: TargetInfo) -> tuple[int, ...]:
    """As many as fill four registers; of what is left, one: a row of 250 would end in 58 rounds one by one."""
    loop = flow.forest.loops[row.header]
    body = list(flow.function.block[row.header].instructions)
    strides = Strides(flow.function, loop, layout)
    if not straight(flow.function, loop, body, strides):
        return (GATHERED,)
    sizes = [layout.size(flow.function.definitions[name].type) for name in row.sums]
    full = target.vector_bytes // max(sizes)
    most = next((n * full for n in (SUMS, SUMS // 2, 1) if n * full * len(body) <= MOST), 1)
    return (most, full) if most > full else (most,)


def looks_up(flow: Flow, row: Row, layout: DataLayout, target: TargetInfo) -> bool:
    """Whether a loop goes to where a row of indices leads, and a gather brings that sooner than loads do."""
    function, loop = flow.function, flow.forest.loops[row.header]
    body = list(function.block[row.header].instructions)
    strides = Strides(function, loop, layout, exact=True)
    if not target.quick_gathers or straight(function, loop, body, strides):
        return False
    return straight(function, loop, body, strides, lookups=True) and may_be_masked(function, row)


def may_pay(flow: Flow, layout: DataLayout, target: TargetInfo) -> bool:
    """Whether the innermost loops could cost less with one lane, whatever the lanes' values are: of many lanes the most
    that they can cost is taken, of one the work alone. Long loops without memory need no more than this look."""
    lanes = alone = 0.0
    for loop, body in _innermost(flow):
        work, accesses = _work(body), sum(access_of(i, layout) is not None for i in body)
        lanes += WAITING * (work / target.lanes32 + ALONE * accesses)
        quiet = [i for i in body if i.opcode != "store"]
        alone += work if not _calm(loop, quiet) else work / target.lanes32
    return alone < lanes


def _innermost(flow: Flow) -> Iterator[tuple[Loop, list[Instruction]]]:
    """Loops without others inside, and their instructions."""
    around = {loop.parent for loop in flow.forest.loops.values()}
    for loop in flow.forest.loops.values():
        if loop.header not in around:
            yield loop, [i for name in loop.blocks for i in flow.function.block[name].instructions]


def _work(body: list[Instruction]) -> int:
    return sum(isinstance(i.type, FloatType | IntType) and (i.opcode in _PLAIN or _is_calm(i)) for i in body)


def _is_calm(i: Instruction) -> bool:
    return i.opcode == "call" and i.called.startswith(_CALM)


def loops_in_vectors(flow: Flow, known: Uniformity, layout: DataLayout, target: TargetInfo) -> bool:
    """Whether the innermost loops cost less with one lane than with many."""
    function, register = flow.function, target.lanes32
    lanes = alone = 0.0
    for loop, body in _innermost(flow):
        strides = Strides(function, loop, layout)
        filled = straight(function, loop, body, strides) or writes_row(function, loop, body, strides, known)
        waits, counted = 1.0, [i for i in body if not i.name or strides.of(i.value) is None]
        if loop.header in known.divergence.loops:  # short for some: counters are not all that its end costs
            waits, counted = WAITING, body
        work = COUNTER + _work(counted)
        lanes += waits * work / register
        alone += work / (register if filled else 1)
        accesses = [found for i in body if (found := access_of(i, layout)) is not None]
        lanes += waits * sum(
            _by_lanes(known, vector, target) for vector in vectors(function, accesses, layout)
        )
        alone += _by_round(known, strides, accesses, filled, target)
    return alone < lanes


def straight(
    function: Function, loop: Loop, body: list[Instruction], strides: Strides, lookups: bool = False
) -> bool:
    """Whether several rounds can be taken at once: no branch inside, no call, nothing stored, nothing looked up, and
    nothing carried from round to round but counters and sums. `lookups`: of neighbours, or of what these lead to."""
    if not _calm(loop, body):
        return False
    if not ends_by_count(function, loop.header):
        return False
    carried = [i for i in body if i.opcode == "phi" and strides.of(i.value) is None]
    if not all(sum_kind(function, function.block[loop.header], phi) for phi in carried):
        return False
    loads = [i for i in body if i.opcode == "load"]
    if lookups:
        return all(_in_row(function, i, strides) for i in loads)
    return all(strides.of(i.operands[0]) is not None for i in loads)


def writes_row(
    function: Function, loop: Loop, body: list[Instruction], strides: Strides, known: Uniformity
) -> bool:
    """Whether LLVM takes several rounds at once that write a row: neighbours from neighbours, in either direction, each
    from what stood in its place before or stands in other memory."""
    quiet = [i for i in body if i.opcode != "store"]
    stores = [i for i in body if i.opcode == "store"]
    if not stores or not _calm(loop, quiet) or not ends_by_count(function, loop.header):
        return False
    if any(i.opcode == "phi" and strides.of(i.value) is None for i in body):
        return False
    places = [(i.operands[0], i.type) for i in body if i.opcode == "load"]
    written = [(i.operands[1], i.operands[0].type) for i in stores]
    steps = [(strides.of(pointer), strides.layout.store_size(type)) for pointer, type in places]
    if any(step not in ({}, {(): size}, {(): -size}) for step, size in steps):
        return False
    steps = [(strides.of(pointer), strides.layout.store_size(type)) for pointer, type in written]
    if any(step not in ({(): size}, {(): -size}) for step, size in steps):
        return False
    own = {
        known.roots.root(pointer): constant_base(function, pointer, strides.layout) for pointer, _ in written
    }
    if len(own) < len(written) or None in own or _reads_again(body, known):
        return False
    return all(
        (root := known.roots.root(pointer)) is not None
        and own.get(root) in (None, constant_base(function, pointer, strides.layout))
        for pointer, _ in places
    )


def _reads_again(body: list[Instruction], known: Uniformity) -> bool:
    """Whether a round loads from where it has stored: whoever has all rounds load first would get what was there
    before."""
    stored = set()
    for i in body:
        if i.opcode == "store":
            stored.add(known.roots.root(i.operands[1]))
        elif i.opcode == "load" and known.roots.root(i.operands[0]) in stored:
            return True
    return False


def _in_row(function: Function, i: Instruction, strides: Strides) -> bool:
    """Whether the rounds load neighbours, or are led by indices that are neighbours."""
    if (found := lookup(function, i)) is not None and strides.of(found.index.operands[0]) == {(): WORD}:
        return strides.of(found.base) == {}
    return strides.of(i.operands[0]) == {(): strides.layout.store_size(i.type)}


def _calm(loop: Loop, body: list[Instruction]) -> bool:
    """Whether a loop is one block without stores, and without calls but those of plain maths."""
    return len(loop.blocks) == 1 and not any(
        i.opcode in _STIR or (i.opcode == "call" and not _is_calm(i)) for i in body
    )


def _by_lanes(known: Uniformity, vector: Accesses, target: TargetInfo) -> float:
    """Of one lane. Vectors that lie one behind the other are loaded as such, and taken apart in registers."""
    whole = _by_lane(known, vector[0][0], sum(size for _, size in vector), target)
    if whole < ALONE:
        return whole + (len(vector) - 1) / target.lanes32
    return sum(_by_lane(known, pointer, size, target) for pointer, size in vector)


def _by_lane(known: Uniformity, pointer: Value, size: int, target: TargetInfo) -> float:
    """Of one lane: loads of a whole register, and of rows that several lanes are in, are shared."""
    width = known.lanes.width
    loads, _ = footprint(known.shape(pointer), size, target, width)
    return ALONE if loads >= width else loads / width


def _by_round(
    known: Uniformity, strides: Strides, accesses: list[tuple[Value, int]], straight: bool, target: TargetInfo
) -> float:
    """Of one round. Where several rounds may be taken at once, or a round loads all that lies between it and the next,
    loads are as wide as registers."""
    total = 0.0
    moving: dict[tuple[object, int], list[int]] = {}
    for pointer, size in accesses:
        stride = strides.of(pointer)
        if stride == {}:
            continue
        if stride is not None and set(stride) == {()}:
            moving.setdefault((known.roots.root(pointer), abs(stride[()])), []).append(size)
        else:
            total += 1.0
    for (_, apart), sizes in moving.items():
        dense = DENSE * sum(sizes) >= apart and (straight or len(sizes) > 1)
        total += sum(sizes) / target.vector_bytes if dense else len(sizes)
    return total
