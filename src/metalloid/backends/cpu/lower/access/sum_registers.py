"""Sums that a loop adds up side by side, as the registers that they stand in.

A thread that runs alone has sixteen sums for each register, and several registers (`lane_or_loop.py`). Written as
scalars they are left to LLVM to put together, which finds them in a loop with one sum; of three, or of the greatest
and the least of the same numbers, it makes shuffles. Here a register is one value from the start: it is carried as
such from time to time, and what it is made of (`packs.py`) is written once for all rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.backends.cpu.lower.access.in_turn import Writer, is_plain
from metalloid.backends.cpu.lower.access.packs import Pack, Packs, whole_only
from metalloid.backends.cpu.lower.access.round_loads import Rounds, rounds_of
from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.backends.cpu.lower.ops.partial_total import FEW
from metalloid.ir import Block, Instruction
from metalloid.ir.intrinsics import CHANGES, effect
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass
from metalloid.transforms.partial_sums import is_total


@dataclass(frozen=True)
class _Made:
    """What is written as registers in a block, and what of it nobody wants as numbers."""

    block: str
    packs: Packs
    gone: frozenset[str]


@dataclass(frozen=True)
class _Loop:
    """A loop of many rounds: the block that carries its sums, and the one that adds to them."""

    carried: str
    rounds: _Made
    starts: _Made | None  # what its registers are at first, where that is made of others
    first: Mapping[Pack, tuple[Value, ...]]  # of each register, what it is at first
    following: Mapping[Pack, Pack]  # and the next time
    totals: frozenset[str]

    def gone(self) -> frozenset[str]:
        return self.rounds.gone | (self.starts.gone if self.starts else frozenset())


class SumRegisters:
    """The registers of one function."""

    def __init__(self, e: Emitter, loops: list[_Loop]) -> None:
        self.e = e
        self._carried = {loop.carried: loop for loop in loops}
        self._rounds = {loop.rounds.block: loop for loop in loops}
        self._register = {name: pack for loop in loops for pack in loop.following for name in pack}
        self._gone: dict[str, frozenset[str]] = {}
        for made in (m for loop in loops for m in (loop.rounds, loop.starts) if m is not None):
            self._gone[made.block] = self._gone.get(made.block, frozenset()) | made.gone
        self._written: dict[Pack, str] = {}

    def __contains__(self, phi: str) -> bool:
        return phi in self._register

    def gone(self, block: str) -> frozenset[str]:
        """What is not written number by number."""
        return self._gone.get(block, frozenset())

    def whole(self, block: str) -> frozenset[Pack]:
        """The loads of all rounds that are wanted as registers alone."""
        if (loop := self._rounds.get(block)) is None:
            return frozenset()
        users, gone = self.e.function.users, loop.rounds.gone
        given = loop.rounds.packs.given
        return frozenset(p for p in given if all(u.name in gone for n in p for u in users.get(n, ())))

    def write(self, block: Block, rounds: Rounds | None) -> None:
        """What the registers of a block become."""
        if (loop := self._rounds.get(block.name)) is None:
            return
        loads = rounds.packs() if rounds is not None else []
        given = {p: v for p in loads if rounds is not None and (v := rounds.vector(p)) is not None}
        writer = self._writer(loop.rounds, given)
        self._written = {pack: writer.vectors[next] for pack, next in loop.following.items()}

    def bring(self, source: str, target: str) -> None:
        """What the registers that a block carries are, where it comes from there."""
        if (loop := self._carried.get(target)) is None:
            return
        if source == loop.rounds.block:
            made = self._written
        elif loop.starts is not None:
            writer = self._writer(loop.starts, {})
            made = {pack: writer.vectors[_names(first)] for pack, first in loop.first.items()}
        else:
            made = {pack: self._from(first) for pack, first in loop.first.items()}
        for pack in loop.following:
            self.e.do(f"store {self._type(pack)} {made[pack]}, ptr {self._slot(pack)}")

    def _writer(self, made: _Made, given: dict[Pack, str]) -> Writer:
        asked = {name for pack in made.packs.found for name in made.packs.made[pack[0]].uses}
        for pack in (p for p in made.packs.given - given.keys() if p[0] in asked):
            values = tuple(self.e.function.definitions[name].value for name in pack)
            given[pack] = self._now(pack) if pack[0] in self._register else self._from(values)
        writer = Writer(self.e, made.packs, given)
        writer.packs_written()
        return writer

    def of(self, total: Instruction) -> list[str] | None:
        """The registers that are folded into a total."""
        names = [o.name for o in total.operands if isinstance(o, Local)]
        if not names or names[0] not in self._register:
            return None
        return [self._now(pack) for pack in dict.fromkeys(self._register[name] for name in names)]

    def _now(self, pack: Pack) -> str:
        return self.e.put(f"load {self._type(pack)}, ptr {self._slot(pack)}")

    def _slot(self, pack: Pack) -> str:
        key = f"register:{pack[0]}"
        if key not in self.e.launch_values:
            self.e.launch_values[key] = self.e.alloca(self._type(pack), "register")
        return self.e.launch_values[key]

    def _type(self, pack: Pack) -> str:
        return f"<{len(pack)} x {lowered(self.e.function.definitions[pack[0]].type)}>"

    def _from(self, values: tuple[Value, ...]) -> str:
        e, n, kind = self.e, len(values), lowered(values[0].type)
        if all(v == values[0] for v in values):
            return e.splat(kind, e.scalar(values[0]), n)
        start = ", ".join(f"{kind} {'poison' if isinstance(v, Local) else e.constant(v)}" for v in values)
        made = f"<{start}>"
        for m, value in enumerate(values):
            if isinstance(value, Local):
                made = e.put(f"insertelement <{n} x {kind}> {made}, {kind} {e.scalar(value)}, i64 {m}")
        return made


def find(e: Emitter) -> SumRegisters | None:
    """The registers of a function of one lane; None where there are none."""
    if e.width > 1 or e.out.brief or e.out.check is not None:
        return None
    totals: dict[str, list[Instruction]] = {}
    for block in e.function.blocks:
        for i in block.body:
            if is_total(i) and (carried := _carried(e, i)):
                totals.setdefault(carried, []).append(i)
    shapes = [s for name, found in totals.items() if (s := _shape(e, name, found)) is not None]
    registers = frozenset(pack for shape in shapes for pack in shape.following)
    loops = [loop for shape in shapes if (loop := _loop(e, shape, registers)) is not None]
    while loops:
        kept = [loop for loop in loops if _is_closed(e, loop, loops)]
        if len(kept) == len(loops):
            return SumRegisters(e, loops)
        loops = kept
    return None


def _is_closed(e: Emitter, loop: _Loop, loops: list[_Loop]) -> bool:
    """Whether nobody wants a sum as a number before the end."""
    fine = {*loop.totals, *(name for other in loops for name in other.gone())}
    users = e.function.users
    return all(u.name in fine for pack in loop.following for name in pack for u in users.get(name, ()))


def _carried(e: Emitter, total: Instruction) -> str:
    """The block whose phis are folded into a total."""
    function = e.function
    homes = {function.home.get(o.name, "") if isinstance(o, Local) else "" for o in total.operands}
    block = homes.pop()
    if homes or not block or len(total.operands) < FEW or len({*total.operands}) < len(total.operands):
        return ""
    phis = {phi.name for phi in function.block[block].phis}
    return block if all(isinstance(o, Local) and o.name in phis for o in total.operands) else ""


@dataclass(frozen=True)
class _Shape:
    """Sums that could be registers."""

    carried: str
    rounds: str
    outside: str
    first: Mapping[Pack, tuple[Value, ...]]
    following: Mapping[Pack, Pack]
    totals: frozenset[str]


def _shape(e: Emitter, carried: str, totals: list[Instruction]) -> _Shape | None:
    function = e.function
    phis = [function.definitions[name] for total in totals for name in total.uses]
    labels = {phi.labels for phi in phis}
    if len(labels) > 1 or len(phis[0].labels) != 2 or len(set(phis)) < len(phis):
        return None
    above = e.u.flow.dominators.dominates
    rounds = [s for s in phis[0].labels if s != carried and above(carried, s)]
    if len(rounds) != 1 or function.block[rounds[0]].terminator.labels != (carried,):
        return None
    outside = next(s for s in phis[0].labels if s != rounds[0])
    first: dict[Pack, tuple[Value, ...]] = {}
    following: dict[Pack, Pack] = {}
    for total in totals:
        lanes = min(len(total.operands), e.out.target.vector_bytes // e.out.layout.size(total.type))
        if len(total.operands) % lanes:
            return None
        names = [o.name for o in total.operands if isinstance(o, Local)]
        for n in range(0, len(names), lanes):
            pack = tuple(names[n : n + lanes])
            made = [function.definitions[name] for name in pack]
            first[pack] = tuple(_from_block(phi, outside) for phi in made)
            following[pack] = _names(tuple(_from_block(phi, rounds[0]) for phi in made))
            if len(following[pack]) < lanes:
                return None
    return _Shape(carried, rounds[0], outside, first, following, frozenset(t.name for t in totals))


def _loop(e: Emitter, shape: _Shape, registers: frozenset[Pack]) -> _Loop | None:
    function, block = e.function, e.function.block[shape.rounds]
    if any(i.opcode == "store" or effect(i) & CHANGES for i in block.body):
        return None
    rounds = rounds_of(e, block)
    given = frozenset((*shape.following, *(rounds.packs() if rounds is not None else ())))
    phis = {name for pack in shape.following for name in pack}
    nexts = [tuple(function.definitions[name].value for name in pack) for pack in shape.following.values()]
    made = _made(e, block, given, nexts, phis)
    if made is None:
        return None
    starts = None
    if any(isinstance(v, Local) for first in shape.first.values() for v in first):
        starts = _made(e, function.block[shape.outside], registers, [*shape.first.values()], phis)
    return _Loop(shape.carried, made, starts, shape.first, shape.following, shape.totals)


def _made(
    e: Emitter, block: Block, given: frozenset[Pack], wanted: Sequence[tuple[Value, ...]], phis: set[str]
) -> _Made | None:
    """Registers as they are made in a block for phis; None where they are not, or somebody wants them as numbers."""
    packs = Packs(e.function, block, e.out.layout, e.shape, given)
    if not all(packs.collect(values) and _names(values) in packs.found for values in wanted):
        return None
    if not all(is_plain(e, i) for pack in packs.loads() for i in pack):
        return None
    gone = whole_only(e.function, [packs], lambda user: user.name in phis)
    if not gone.issuperset(name for values in wanted for name in _names(values)):
        return None
    return _Made(block.name, packs, gone)


def _names(values: tuple[Value, ...]) -> Pack:
    return tuple(v.name for v in values if isinstance(v, Local))


def _from_block(phi: Instruction, block: str) -> Value:
    return phi.operands[phi.labels.index(block)]
