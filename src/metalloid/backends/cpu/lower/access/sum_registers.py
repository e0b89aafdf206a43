"""Sums that a loop adds up side by side, as the registers that they stand in.

A thread that runs alone has sixteen sums for each register, and several registers (`lane_or_loop.py`). Written as
scalars they are left to LLVM to put together, which finds them in a loop with one sum; of three, or of the greatest
and the least of the same numbers, it makes shuffles. Here a register is one value from the start: it is carried as
such from time to time, and what it is made of (`packs.py`) is written once for all rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from metalloid.backends.cpu.lower.access.in_turn import Writer, is_plain
from metalloid.backends.cpu.lower.access.packs import Pack, Packs
from metalloid.backends.cpu.lower.access.round_loads import Rounds, rounds_of
from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.backends.cpu.lower.ops.partial_total import FEW
from metalloid.ir import Block, Instruction
from metalloid.ir.intrinsics import CHANGES, effect
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass
from metalloid.transforms.partial_sums import is_total


@dataclass(frozen=True)
class _Loop:
    """A loop of many rounds: the block that carries its sums, and the one that adds to them."""

    carried: str
    rounds: str
    following: Mapping[Pack, Pack]  # of each register what it is the next time
    packs: Packs  # what that is made of
    gone: frozenset[str]  # what nobody wants as numbers


class SumRegisters:
    """The registers of one function."""

    def __init__(self, e: Emitter, loops: list[_Loop]) -> None:
        self.e = e
        self._carried = {loop.carried: loop for loop in loops}
        self._rounds = {loop.rounds: loop for loop in loops}
        self._register = {name: pack for loop in loops for pack in loop.following for name in pack}
        self._written: dict[Pack, str] = {}

    def __contains__(self, phi: str) -> bool:
        return phi in self._register

    def gone(self, block: str) -> frozenset[str]:
        """What is not written number by number."""
        loop = self._rounds.get(block)
        return loop.gone if loop is not None else frozenset()

    def whole(self, block: str) -> frozenset[Pack]:
        """The loads of all rounds that are wanted as registers alone."""
        loop = self._rounds.get(block)
        if loop is None:
            return frozenset()
        users = self.e.function.users
        return frozenset(
            pack
            for pack in loop.packs.given
            if all(u.name in loop.gone for n in pack for u in users.get(n, ()))
        )

    def write(self, block: Block, rounds: Rounds | None) -> None:
        """What the registers of a block become."""
        loop = self._rounds.get(block.name)
        if loop is None:
            return
        given = {pack: self._now(pack) for pack in loop.following}
        if rounds is not None:
            given |= {pack: made for pack in rounds.packs() if (made := rounds.vector(pack)) is not None}
        given |= {pack: self._together(pack) for pack in loop.packs.given - given.keys()}
        writer = Writer(self.e, loop.packs, given)
        writer.packs_written()
        self._written = {pack: writer.vectors[next] for pack, next in loop.following.items()}

    def bring(self, source: str, target: str) -> None:
        """What the registers that a block carries are, where it comes from there."""
        if (loop := self._carried.get(target)) is None:
            return
        for pack in loop.following:
            if source == loop.rounds:
                made = self._written[pack]
            else:
                phis = [self.e.function.definitions[name] for name in pack]
                made = self._from([phi.operands[phi.labels.index(source)] for phi in phis])
            self.e.do(f"store {self._type(pack)} {made}, ptr {self._slot(pack)}")

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

    def _together(self, pack: Pack) -> str:
        return self._from([self.e.function.definitions[name].value for name in pack])

    def _from(self, values: list[Value]) -> str:
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
    loops = [loop for name, found in totals.items() if (loop := _loop(e, name, found)) is not None]
    return SumRegisters(e, loops) if loops else None


def _carried(e: Emitter, total: Instruction) -> str:
    """The block whose phis are folded into a total."""
    function = e.function
    homes = {function.home.get(o.name, "") if isinstance(o, Local) else "" for o in total.operands}
    block = homes.pop()
    if homes or not block or len(total.operands) < FEW or len({*total.operands}) < len(total.operands):
        return ""
    phis = {phi.name for phi in function.block[block].phis}
    return block if all(isinstance(o, Local) and o.name in phis for o in total.operands) else ""


def _loop(e: Emitter, carried: str, totals: list[Instruction]) -> _Loop | None:
    function = e.function
    phis = [function.definitions[name] for total in totals for name in total.uses]
    sources = {frozenset(phi.labels) for phi in phis}
    back = [s for s in phis[0].labels if function.block[s].terminator.labels == (carried,) and s != carried]
    inside = [s for s in back if e.u.flow.dominators.dominates(carried, s)]
    if len(sources) > 1 or len(phis[0].labels) != 2 or len(inside) != 1 or len(set(phis)) < len(phis):
        return None
    block = function.block[inside[0]]
    if any(i.opcode == "store" or effect(i) & CHANGES for i in block.body):
        return None
    following: dict[Pack, Pack] = {}
    for total in totals:
        lanes = min(len(total.operands), e.out.target.vector_bytes // e.out.layout.size(total.type))
        if len(total.operands) % lanes:
            return None
        names = [o.name for o in total.operands if isinstance(o, Local)]
        for n in range(0, len(names), lanes):
            values = [_from_block(function.definitions[name], block.name) for name in names[n : n + lanes]]
            made = tuple(v.name for v in values if isinstance(v, Local))
            if len(made) < lanes:
                return None
            following[tuple(names[n : n + lanes])] = made
    rounds = rounds_of(e, block)
    given = frozenset((*following, *(rounds.packs() if rounds is not None else ())))
    packs = Packs(function, block, e.out.layout, e.shape, given)
    types = {name: function.definitions[name].value for pack in following.values() for name in pack}
    if not all(packs.collect(tuple(types[name] for name in pack)) for pack in following.values()):
        return None
    if not all(is_plain(e, i) for pack in packs.loads() for i in pack):
        return None
    gone = _gone(e, packs, following, {total.name for total in totals})
    return _Loop(carried, block.name, following, packs, gone) if gone is not None else None


def _from_block(phi: Instruction, block: str) -> Value:
    return phi.operands[phi.labels.index(block)]


def _gone(
    e: Emitter, packs: Packs, following: Mapping[Pack, Pack], totals: Iterable[str]
) -> frozenset[str] | None:
    """What nobody wants as numbers; None where somebody wants a sum as one before the end."""
    users, made = e.function.users, e.function.definitions
    phis = {name for pack in following for name in pack}
    gone = {name for pack in packs.found for name in pack}
    folded = {*phis, *totals}
    work = [*packs.shared]
    work += [n for n in gone if any(u.name not in gone and u.name not in phis for u in users.get(n, ()))]
    while work:
        name = work.pop()
        if name in gone:
            gone.remove(name)
            work += made[name].uses
    if not gone.issuperset(name for pack in following.values() for name in pack):
        return None
    if any(u.name not in gone and u.name not in folded for name in phis for u in users.get(name, ())):
        return None
    return frozenset(gone)
