"""Sums of a lane's own numbers, lane after lane, each in one register: see `sums_in_turn.py`. A lane that runs alone
(`lane_or_loop.py`) has them in the same way.

What a sum is made of (`packs.py`) is written once, for one lane, in a loop over the lanes that are there: loads of
neighbours, the operations on them, and their total.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from metalloid.analysis.intervals import is_proved
from metalloid.backends.cpu.lower.access import held
from metalloid.backends.cpu.lower.access.alike_lanes import as_lanes
from metalloid.backends.cpu.lower.access.load_groups import space_of
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address, alignment, memory_type, resolve
from metalloid.backends.cpu.lower.access.packs import MEMORY, Pack, Packs, distance, whole_only
from metalloid.backends.cpu.lower.access.totals import STRAIGHT, fits, of_all, written
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops.lanes_in_memory import Lanes
from metalloid.backends.cpu.lower.ops.partial_total import total
from metalloid.ir import Block, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import CHANGES, effect
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass
from metalloid.transforms.partial_sums import is_total, kind_of


@dataclass(frozen=True)
class Found:
    """What each total of a block is made of, and the names that nobody else wants."""

    totals: Mapping[str, Packs]
    gone: frozenset[str]

    def write(self, e: Emitter, sum: Instruction) -> None:
        packs = self.totals[sum.name]
        Writer(e, packs, together=fits(e, packs)).write(sum)


# Instructions, of one lane: an element that is loaded for itself; one of a register that is turned round; what a lane
# costs that has its turn, with the total of a register.
FOUND = 1.5
TURNED = 0.5
TURN = 12
WORD = 4  # bytes of an element of such a register
NOTHING = Found({}, frozenset())


def find(e: Emitter, block: Block, beside: frozenset[str] = frozenset()) -> Found:
    """`beside`: totals that are written otherwise."""
    if e.out.check is not None:
        return NOTHING
    totals = {}
    for n, i in enumerate(block.body):
        if is_total(i) and i.name not in beside and (e.width == 1 or e.shape(i.value) is None):
            packs = Packs(e.function, block, e.out.layout, e.shape)
            if packs.collect(i.operands) and packs.found and _may_wait(e, packs, block.body[:n], i):
                totals[i.name] = packs
    if totals and _turns_round(e, totals.values()):
        return NOTHING
    return Found(totals, whole_only(e.function, totals.values(), lambda user: user.name in totals))


def _turns_round(e: Emitter, totals: Collection[Packs]) -> bool:
    """Whether all lanes add up at once for less, what each has loaded turned round in registers: of what several totals
    are made of, that is turned once, while each total has its turns."""
    if e.width == 1 or e.mask is not None:
        return False
    every = {tuple(i.name for i in pack): pack for packs in totals for pack in packs.loads()}
    turns = sum(TURN + len(packs.loads()) for packs in totals)
    return sum(turned(e, loads) for loads in every.values()) < turns


def turned(e: Emitter, loads: list[Instruction]) -> float:
    """What it costs a lane to have numbers side by side with those of other lanes."""
    if (shape := e.shape(loads[0].operands[0])) is not None and shape.uniform:
        return 0
    if abs(distance(e.function, loads, e.out.layout)) != 1:
        return FOUND * len(loads)
    return TURNED * len(loads) * memory_type(loads[0].type)[1] / WORD


def _may_wait(e: Emitter, packs: Packs, before: tuple[Instruction, ...], sum: Instruction) -> bool:
    """Whether all that a sum is made of can be done where its total stands: nobody else wants more of it than what is
    loaded, nobody has to look at bounds, and nothing that is loaded changes before."""
    inside = {sum.name, *(name for pack in packs.found for name in pack)}
    loads = [i for pack in packs.loads() for i in pack]
    users = e.function.users
    names = {i.name for i in loads}
    if any(u.name not in inside for name in inside - names - {sum.name} for u in users.get(name, ())):
        return False
    return may_load_late(e, loads, before)


def may_load_late(e: Emitter, loads: list[Instruction], before: tuple[Instruction, ...]) -> bool:
    """Whether what is loaded can be loaded behind these instructions: nobody has to look at bounds, and nothing of it
    changes meanwhile."""
    if not loads or not all(is_plain(e, i) for i in loads):
        return False
    names = {i.name for i in loads}
    spaces, started = {space_of(i.operands[0]) for i in loads}, False
    for i in before:
        started = started or i.name in names
        if started and (space_of(i.operands[1]) in spaces if i.opcode == "store" else effect(i) & CHANGES):
            return False
    return True


def is_plain(e: Emitter, load: Instruction) -> bool:
    base, _ = constant_base(e.function, load.operands[0], e.out.layout)
    root, shape = e.roots.root(base), e.shape(base)
    if root is None or root.kind not in MEMORY or memory_type(load.type)[0] != lowered(load.type):
        return False
    if shape is not None and not shape.exact and any(c for c, _ in shape.terms):
        return False
    if held.is_held(e, load.operands[0]):
        return False
    return is_proved(load) or not e.out.guard


def stepped(e: Emitter, place: MemRef, offset: str, loads: list[Instruction], low: int, step: int) -> str:
    """Elements of one lane at equal distances, as a vector."""
    (kind, size), n = memory_type(loads[0].type), len(loads)
    align = min(alignment(i, size) for i in loads)

    def vector(start: int, align: int) -> str:
        at = address(e, place.ptr, e.put(f"add i64 {offset}, {start}") if start else offset)
        return e.put(f"load <{n} x {kind}>, ptr {at}, align {align}")

    if step == 1:
        return vector(low, align)
    ups = [m * abs(step) for m in range(n)][:: 1 if step > 0 else -1]  # elements above the lowest
    made, low = "poison", low + min(0, (n - 1) * step * size)
    for k in range(abs(step)):  # none goes past the last element
        begin = min(k * n, max(ups) + 1 - n)
        own = (n + up - begin if min(up // n, abs(step) - 1) == k else m for m, up in enumerate(ups))
        picks = ", ".join(f"i32 {x}" for x in own)
        type, found = f"<{n} x {kind}>", vector(low + begin * size, min(align, size))
        made = e.put(f"shufflevector {type} {made}, {type} {found}, <{n} x i32> <{picks}>")
    return made


class Writer:
    """Writes one sum. What all lanes need is there before their turns."""

    def __init__(
        self, e: Emitter, packs: Packs, given: Mapping[Pack, str] | None = None, together: bool = False
    ) -> None:
        """`given`: vectors that are there already. `together`: lanes do not take turns (`totals.py`)."""
        self.e, self.packs, self.together = e, packs, together
        numbered = together and e.width <= STRAIGHT
        self.places: dict[str, tuple[MemRef, Lanes]] = {}
        for loads in packs.loads():
            base, _ = self._base(loads)
            if str(base) not in self.places:
                e.proved = True
                place = resolve(e, base, memory_type(loads[0].type)[1])
                offset = of_all(e, place.offset) if together else place.offset
                self.places[str(base)] = place, Lanes(e, offset, numbered)
        self.shared = {name: Lanes(e, e.get(value), numbered) for name, value in packs.shared.items()}
        self.vectors: dict[Pack, str] = dict(given or {})
        self.lane = ""

    def write(self, sum: Instruction) -> None:
        e, kind, fold, values = self.e, lowered(sum.type), kind_of(sum), sum.operands

        def of_lane(lane: str) -> str:
            self.lane = lane
            return self._whole(values)

        if self.together:
            made = written(e, fold, kind, len(values), of_lane)
        else:
            made = self.each(kind, values, lambda whole: total(e, fold, kind, whole, len(values)))
        e.set(sum.name, made)

    def each(self, kind: str, values: tuple[Value, ...], one: Callable[[str], str]) -> Val:
        """What each lane makes `one` number of, by its values in a register."""
        e = self.e
        if e.width == 1:
            return Val(kind, one(self._whole(values)))
        results = e.alloca(e.vt(kind), "turns")
        if e.mask is not None:
            e.do(f"store {e.vt(kind)} zeroinitializer, ptr {results}")
        for self.lane in e.lanes_loop(e.mask):
            made = one(self._whole(values))
            place = e.put(f"getelementptr {kind}, ptr {results}, i32 {self.lane}")
            e.do(f"store {kind} {made}, ptr {place}")
        return Val(kind, vec=e.put(f"load {e.vt(kind)}, ptr {results}"))

    def _whole(self, values: tuple[Value, ...]) -> str:
        """Of one lane."""
        self.packs_written()
        whole = self._operand(values).vec
        assert whole is not None
        return whole

    def packs_written(self) -> None:
        for pack in self.packs.found:
            made = [self.packs.made[name] for name in pack]
            load = made[0].opcode == "load"
            self.vectors[pack] = (
                self._load(made) if load else as_lanes(self.e, made, len(made), self._operand)
            )

    def vector(self, values: tuple[Value, ...]) -> str:
        """Values of a pack, or one for all."""
        made = self._operand(values)
        if made.vec is not None:
            return made.vec
        assert made.base is not None
        return self.e.splat(made.type, made.base, len(values))

    def _base(self, loads: list[Instruction]) -> tuple[Value, int]:
        return constant_base(self.e.function, loads[0].operands[0], self.e.out.layout)

    def _load(self, loads: list[Instruction]) -> str:
        base, low = self._base(loads)
        place, lanes = self.places[str(base)]
        return stepped(
            self.e, place, lanes[self.lane], loads, low, self.packs.steps[tuple(i.name for i in loads)]
        )

    def _operand(self, given: tuple[Value, ...]) -> Val:
        e, kind = self.e, lowered(given[0].type)
        names = tuple(v.name for v in given if isinstance(v, Local))
        if not names:
            numbers = ", ".join(f"{kind} {e.constant(v)}" for v in given)
            return Val(kind, vec=f"<{numbers}>")
        if names in self.vectors:
            return Val(kind, vec=self.vectors[names])
        return Val(kind, self.shared[names[0]][self.lane])
