"""How many threads a gang runs side by side.

Wide is good: addresses, loop counters and barriers are paid once per gang, and values that all lanes share are
loaded once. The limit is registers: a loop's own values must stay in them. So: count the values that differ
from lane to lane and live at the same time, and take as many lanes as fill the registers with them; fewer where lanes
leave loops at different times (they wait for the slowest), where the code is long (it has to be compiled), and where
nothing is gained, in straight code or where lanes count in memory one by one; those of one row of threads where
addresses are regular in a row only; one where they part at hundreds of places, or where each walks along a row of its
own (`lane_or_loop`). The registers that are otherwise left free are filled too where that makes one gang of a
threadgroup with barriers, none of them in a loop, and one value at a time lives: regions keep nothing then. SIMD-group
operations need whole SIMD-groups of 32, and are best with one.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout, Triple
from metalloid.analysis.lane_sets import running
from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.held_arrays import all_held
from metalloid.backends.cpu.lower.lane_or_loop import alone
from metalloid.backends.cpu.lower.ops.owned_atomics import MOST_LANES
from metalloid.backends.cpu.lower.vectorize import uses_lanes
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.intrinsics import BARRIER, ENTRY, THREADGROUP
from metalloid.ir.layout import DataLayout, data_layout
from metalloid.ir.name_privates import name_privates
from metalloid.ir.types import FloatType, IntType, PointerType
from metalloid.records import replace
from metalloid.targets import TargetInfo
from metalloid.transforms.partial_sums import Row

WIDEST = 256
STRAIGHT = 4  # registers per value where there is no loop
TILE = 64  # lanes of a tile that is turned round: rows of both sides are as long as they can be
DIVERGENT = 4  # where lanes leave a loop at different times
CODE = 5000  # vector instructions, counted in registers
GANG = 12  # instructions that a gang takes by itself: addresses, bounds, the way from one to the next
HELD = 64  # registers of a value where all threadgroup memory lives in registers: LLVM spills some, and takes longer
LEVELS = 3  # barriers of a kernel whose gang may be wider than its values' registers are
MOST_HELD = 1500  # instructions of it
SHORTEST = 4  # threads of a row that gets a gang of its own
# Registers of a value in checked code: on 128-bit registers an unrolled tree of 128 threads takes LLVM 20 s with 16 of
# them and 3 s with 4, and runs no slower.
CHECKED = 4
# Masks that a kernel may need in several lanes. A switch of 2,000 cases has one for each: with 16 lanes LLVM works on
# its code for minutes, with one lane, where a branch is a branch, for 6 s; and lanes that part so often gain nothing.
MAX_MASKS = 256
_DEAR = ("fdiv", "frem", "udiv", "sdiv", "urem", "srem")  # registers of it, one behind the other
_CHEAP = tuple(
    f"llvm.{name}."
    for name in "fma fmuladd minnum maxnum minimumnum maximumnum fabs smin smax umin umax abs".split()
)
_BY_LANE = (
    "atomicrmw",
    "cmpxchg",
)  # at addresses of their own lanes go one by one: more of them gain nothing


def choose(
    module: Module,
    size: Triple,
    target: TargetInfo,
    checked: bool = False,
    rows: Mapping[Row, object] | None = None,
    asked: bool = False,
) -> int:
    """Lanes per gang, for a threadgroup of this size. `checked`: every access is watched, and code is long. `rows`:
    what `lane_or_loop.alone` has said, where it was `asked`."""
    count = size[0] * size[1] * size[2]
    if uses_lanes(module):
        return 32
    rows = rows if asked or checked else alone(module, target)
    if count == 1 or rows is not None:
        return 1
    lanes, registers = target.lanes32, target.vector_registers
    module, privates = name_privates(module)
    function = module.function[ENTRY]
    flow = Flow(function)
    trial = Uniformity(
        flow, UnderlyingObjects(function), LaneLayout(32, size), data_layout(module.datalayout)
    )
    if len(set(trial.divergence.mask_head.values())) > MAX_MASKS // (2 if checked else 1):
        return 1
    barriers = any(i.called == BARRIER for i in function.instructions())
    live = max(pressure(flow, trial), 1)
    most = lanes
    while most < WIDEST and 2 * most * live <= lanes * registers:
        most *= 2
    room = lanes * (registers + target.spare_registers)
    if barriers and live == 1 and most < count <= min(room, WIDEST) and not flow.forest.loops:
        most = count if count & (count - 1) == 0 else most  # one gang: nothing is kept across barriers
    if trial.divergence.loops:
        most = min(most, DIVERGENT * lanes)
    elif not flow.forest.loops and not barriers and not _folds(function, trial):
        most = min(most, TILE if _turns(function, trial) else STRAIGHT * lanes * _narrow(function, trial))
    work = sum(1 for i in function.instructions() if i.name and trial.varies(i.value))
    while most > lanes and work * most // lanes > CODE:
        most //= 2
    if privates:
        most = min(most, 2 * lanes)
    most = _within_row(flow, size, most, data_layout(module.datalayout))
    if any(i.opcode in _BY_LANE and trial.shape(i.operands[0]) is None for i in function.instructions()):
        most = min(most, MOST_LANES)
    if checked:
        most = min(most, CHECKED * lanes)
    elif most < count <= HELD * lanes and _held(
        module, flow, size, target.vector_bytes, count > lanes * (registers + target.spare_registers)
    ):
        most = count
    return _fit(max(8, most), size, count, lanes, work)


def _held(module: Module, flow: Flow, size: Triple, register: int, spills: bool) -> bool:
    """Whether, with one gang for the threadgroup, all threadgroup memory lives in registers from barrier to barrier.
    `spills`: one value takes more registers than there are."""
    count, layout = size[0] * size[1] * size[2], data_layout(module.datalayout)
    code = list(flow.function.instructions())
    barriers = sum(i.called == BARRIER for i in code)
    if count & (count - 1) or flow.forest.loops or barriers < LEVELS or len(code) > MOST_HELD:
        return False
    if any(i.called == THREADGROUP for i in code):
        return False
    objects = UnderlyingObjects(flow.function)
    known = Uniformity(flow, objects, LaneLayout(count, size), layout)
    sizes = {g.name: layout.size(g.type) for g in module.globals if g.space == 3}
    if _dear_for_some(known) or (spills and _read_for_some(known)):
        return False
    return all_held(known, objects, sizes, register)


def _dear_for_some(known: Uniformity) -> bool:
    """Whether some threads do what takes long, as exp: a wide gang would do it for all of them, where narrow ones
    without such threads are passed by (softmax of 256 numbers by 1,024 threads: three times as long)."""
    every = frozenset(range(known.lanes.count))
    for block in known.flow.function.blocks:
        dear = [i for i in block.body if _is_dear(i) and known.varies(i.value)]
        if dear and running(known, block.name, every) != (every, True):
            return True
    return False


def _read_for_some(known: Uniformity) -> bool:
    """Whether the device's memory is read more than once by threads that are not known, as `for (c = t; c < width;
    c += n)` does: a gang of all keeps for all what some do not have, and spills it, where narrow gangs are passed by
    (LayerNorm of 100 to 1,000 numbers by 1,024 threads: 1.6 times as long)."""
    every = frozenset(range(known.lanes.count))
    reads = (
        any(i.opcode == "load" and _is_of_device(i) and known.varies(i.operands[0]) for i in block.body)
        and not running(known, block.name, every)[1]
        for block in known.flow.function.blocks
    )
    return sum(reads) > 1


def _is_of_device(i: Instruction) -> bool:
    return isinstance(i.operands[0].type, PointerType) and i.operands[0].type.space == 1


def _is_dear(i: Instruction) -> bool:
    if i.opcode == "call":
        return bool(i.name) and i.called.startswith("llvm.") and not i.called.startswith(_CHEAP)
    return i.opcode in _DEAR


def _within_row(flow: Flow, size: Triple, most: int, layout: DataLayout) -> int:
    """The lanes of one row of threads, where addresses are regular in it and not across rows: each row of threads
    looks up where its row of memory is."""
    x, y, z = size
    row = min(most, x & -x)  # rows are filled by gangs
    if y * z == 1 or not SHORTEST < row < most:
        return most
    objects = UnderlyingObjects(flow.function)

    def irregular(width: int) -> int:
        known = Uniformity(flow, objects, LaneLayout(width, size), layout)
        code = (i for i in flow.function.instructions() if i.opcode in ("load", "store"))
        return sum(known.shape(i.operands[-1]) is None for i in code)

    return row if irregular(row) < irregular(most) else most


def _folds(function: Function, known: Uniformity) -> bool:
    """Whether what all lanes add goes to one place: it is folded to one number, and added, once for each gang."""
    return any(
        i.opcode == "atomicrmw" and not known.varies(i.operands[0]) and not function.users.get(i.name)
        for i in function.instructions()
    )


def _turns(function: Function, known: Uniformity) -> bool:
    """Whether lanes of several rows all run, and some access goes down where others go along: a transpose."""
    if known.divergence.branches or known.lanes.size[0] >= known.lanes.width:
        return False
    shapes = [known.shape(i.operands[-1]) for i in function.instructions() if i.opcode in ("load", "store")]
    down = [s is not None and _first_step(s) for s in shapes if s is None or s.terms]
    return len(set(down)) > 1 and all(s is not None for s in shapes)


def _first_step(shape: LaneShape) -> bool:
    """Whether the second lane lies next to the first: as far as is known before the launch."""
    return all(pattern[1] == 0 for coefficient, pattern in shape.terms if coefficient)


def by_rows(module: Module, lanes: LaneLayout) -> LaneLayout:
    """A row of the threadgroup per gang, where lanes would lie in no pattern, or those that run would not: at
    the edge of a grid, and where x is odd. Positions and addresses are as regular as in whole threadgroups then, for
    some idle lanes. SIMD-groups go by the index in the threadgroup, so a kernel with operations among them cannot."""
    x, y, z = lanes.size
    parted = not lanes.static_size and lanes.width > x
    if (
        y * z == 1
        or not SHORTEST <= x <= WIDEST
        or not (lanes.places[0].table or parted)
        or uses_lanes(module)
    ):
        return lanes
    return replace(lanes, width=max(8, 1 << (x - 1).bit_length()), rows=True)


def _fit(most: int, size: Triple, count: int, lanes: int, work: int) -> int:
    """The widest that leaves no lane idle and keeps positions regular. Else, in one dimension, where only the last gang
    has idle lanes, the one that costs least: `work` for each register, and what a gang costs by itself. Else one that
    wastes little."""
    exact = [w for w in _widths(most, 8) if count % w == 0 and not LaneLayout(w, size).places[0].table]
    if exact and (exact[0] >= lanes or count != size[0]):
        return exact[0]
    if count == size[0] and count > lanes:
        gangs = {w: -(-count // w) for w in _widths(most, max(8, lanes))}
        return min(gangs, key=lambda w: gangs[w] * (work * w // lanes + GANG))
    if exact:
        return exact[0]
    width = most
    while width > 8 and width >= 2 * count:
        width //= 2
    return min(width, 32)


def _widths(most: int, least: int) -> list[int]:
    """Powers of two, from the widest."""
    return [1 << n for n in range(most.bit_length() - 1, -1, -1) if 1 << n >= least]


def pressure(flow: Flow, u: Uniformity) -> int:
    """The most values that differ from lane to lane and live at once, in units of 32 bits per lane, in any loop;
    without loops, in any block."""
    function = flow.function
    worst = 0
    for block in function.blocks:
        if flow.forest.loops and flow.forest.depth(block.name) == 0:
            continue
        carried = sum(
            _units(phi.type)
            for header in flow.forest.nest(block.name)
            for phi in function.block[header].phis
            if u.shape(phi.value) is None
        )
        worst = max(
            worst, carried + max(0, _local(function, block, u) - 1)
        )  # one replaces what it grows from
    return worst


def _local(function: Function, block: Block, u: Uniformity) -> int:
    """The most values of a block that live at once inside it, less those that are only loaded to be used once."""
    last: dict[str, int] = {}
    for n, i in enumerate(block.body):
        for use in i.uses:
            last[use] = n
    now = worst = 0
    ends: dict[int, int] = {}
    for n, i in enumerate(block.body):
        now -= ends.pop(n, 0)
        if i.name and i.opcode != "load" and u.shape(i.value) is None and last.get(i.name, n) > n:
            size = _units(i.type)
            now += size
            ends[last[i.name]] = ends.get(last[i.name], 0) + size
        worst = max(worst, now)
    return worst


def _narrow(function: Function, u: Uniformity) -> int:
    """How many of a kernel's values are as long as 32 bits, where all are short."""
    code = (i for i in function.instructions() if i.name and u.shape(i.value) is None)
    bits = [i.type.bits if isinstance(i.type, IntType | FloatType) else 64 for i in code]
    return 32 // min(32, max([8, *bits]))


def _units(type: object) -> int:
    bits = type.bits if isinstance(type, IntType | FloatType) else 64
    return max(1, bits // 32)
