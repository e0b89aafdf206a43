"""One region as a function of its own.

It begins with what it needs from before: kept values, and those computed again from them. A value that is both brought
and made here is joined by phis. It ends by telling where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import STATE, reload_name, spill_name
from metalloid.ir.ssa import Rewriter
from metalloid.ir.types import I32, VOID, PointerType
from metalloid.ir.unreachable import drop_unreachable
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.records import dataclass, replace
from metalloid.transforms.barriers.live_in import Regions
from metalloid.transforms.barriers.rematerialize import Rematerializer

EXIT = "mt.exit"
Coefficients = Callable[[Local], frozenset[str]]


@dataclass(frozen=True)
class Slot:
    """A value that is kept."""

    number: int
    value: Local


@dataclass(frozen=True)
class State:
    """Where a region can end: the number of the region to go on with, the block before it, the iteration."""

    number: int
    block: str
    round: Value


class Plan:
    """What all regions of a function have in common: above all, the values that are kept."""

    def __init__(self, regions: Regions, rounds: Mapping[str, Value], coefficients: Coefficients) -> None:
        self.regions, self.rounds, self.coefficients = regions, rounds, coefficients
        self.function, self.again = regions.function, Rematerializer(regions.function)
        needed: set[str] = set()
        for live in regions.live:
            for name in live:
                needed |= self.again.leaves(name)
        for name in sorted(needed):
            needed |= coefficients(self.function.definitions[name].value)
        kept = (i for i in self.function.instructions() if i.name in needed)
        self.slots = {i.name: Slot(n, i.value) for n, i in enumerate(kept)}


class Writer:
    def __init__(self, plan: Plan, number: int) -> None:
        self.plan, self.number, self.function, self.regions = plan, number, plan.function, plan.regions
        self.start, self.names = self.regions.starts[number], self.regions.blocks[number]
        self.region = frozenset(self.names)
        self.made_here = {i.name for n in self.names for i in self.function.block[n].instructions if i.name}
        self.before: list[Instruction] = []  # what brings values
        self.known: dict[str, Value] = {}  # values brought
        self.direct: dict[str, Value] = {}  # those that are used as they are
        self.variables: dict[str, Value] = {}  # those that are made here as well
        self.states: list[State] = []

    def write(self) -> Function:
        for name in sorted(self.regions.live[self.number]):
            value = self._bring(name)
            if name in self.made_here:
                self.variables[name] = value
            else:
                self.direct[name] = value
        entry = Block("mt.start", (*self.before, Instruction("br", VOID, labels=(self.start,))))
        blocks = [entry, *map(self._block, self.names)]
        blocks.append(_exit(self.states, bool(self.plan.rounds)))
        made = drop_unreachable(Function(f"segment{self.number}", VOID, (), tuple(blocks)))
        return self._joined(made) if self.variables else made

    def _joined(self, function: Function) -> Function:
        """Each use of a value that was brought, and is made here as well, gets the one that reaches it."""
        rewriter = Rewriter(function, self.variables)
        for name, brought in self.variables.items():
            made: dict[str, Value] = {"mt.start": brought}
            late: dict[str, int] = {}
            if name in function.home:
                home = function.home[name]
                made[home] = function.definitions[name].value
                late[home] = [i.name for i in function.block[home].instructions].index(name)
            rewriter.join(f"{self._name(name)}.var", brought.type, made, list(rewriter.uses[name]), late)
        return rewriter.function()

    # ---- what comes from before ---------------------------------------------------------------------------

    def _bring(self, name: str) -> Value:
        """The value of a name as it was where the region starts."""
        if name in self.known:
            return self.known[name]
        chain = self.plan.again.chain(name)
        if chain is None:
            self._reload(name)
        for one in chain or ():
            if one not in self.known:
                i = self.function.definitions[one]
                values = {use: self._bring(use) for use in i.uses}
                self.before.append(replace(i.substitute(values), name=self._name(one)))
                self.known[one] = Local(self._name(one), i.type)
        return self.known[name]

    def _reload(self, name: str) -> None:
        value = self.function.definitions[name].value
        for one in sorted(self.plan.coefficients(value)):
            if (kept := kept_name(self.number, one)) not in self.known:
                self.known[kept] = self._reloaded(one, kept)
        self.known[name] = self._reloaded(name, self._name(name))

    def _reloaded(self, name: str, called: str) -> Value:
        slot = self.plan.slots[name]
        callee = Global(reload_name(slot.value.type), PointerType())
        made = Instruction("call", slot.value.type, (Int(I32, slot.number),), called, callee=callee)
        self.before.append(made)
        return made.value

    def _name(self, name: str) -> str:
        return f"mt.{self.number}.{name}"

    # ---- blocks ----------------------------------------------------------------------------------------------

    def _block(self, name: str) -> Block:
        block = self.function.block[name]
        code = [made for phi in block.phis for made in self._kept(phi)]
        for i in block.body[:-1]:
            code += [i.substitute(self.direct), *self._kept(i)]
        stop = self._stop(block)
        if stop is None:
            last = block.terminator.substitute(self.direct)
        else:
            last = Instruction("br", VOID, labels=(EXIT,))
            self.states.append(stop)
        return Block(name, (*map(self._phi, block.phis), *code, last))

    def _stop(self, block: Block) -> State | None:
        if self.regions.stops_at(block.name, self.start):
            round = self.plan.rounds.get(block.name, Int(I32, 0))
            return State(self.regions.stops[block.name], block.name, round)
        return State(0, block.name, Int(I32, 0)) if block.terminator.opcode == "ret" else None

    def _phi(self, phi: Instruction) -> Instruction:
        """With the cases of edges that the region has."""
        kept = [
            n
            for n, b in enumerate(phi.labels)
            if b in self.region and not self.regions.stops_at(b, self.start)
        ]
        operands, labels = tuple(phi.operands[n] for n in kept), tuple(phi.labels[n] for n in kept)
        return replace(phi, operands=operands, labels=labels).substitute(self.direct)

    def _kept(self, i: Instruction) -> Iterator[Instruction]:
        if i.name in self.plan.slots:
            slot = self.plan.slots[i.name]
            callee = Global(spill_name(slot.value.type), PointerType())
            yield Instruction("call", VOID, (Int(I32, slot.number), slot.value), callee=callee)


def kept_name(segment: int, name: str) -> str:
    """What a kept coefficient is called in a region."""
    return f"mt.{segment}.{name}.kept"


def only_state(function: Function) -> int | None:
    """The state that a region ends in, where there is one on all ways."""
    told = [i for i in function.instructions() if i.called == STATE]
    if len(told) != 1 or len(told[0].operands) != 1:  # with rounds, gangs may be in different ones
        return None
    value = told[0].operands[0]
    ends = [value]
    if isinstance(value, Local):
        made = next(i for i in function.instructions() if i.name == value.name)
        ends = list(made.operands) if made.opcode == "phi" else []
    states = {end.value if isinstance(end, Int) else None for end in ends}
    return states.pop() if len(states) == 1 else None


def _exit(states: list[State], rounds: bool) -> Block:
    labels = tuple(s.block for s in states)
    phis = [Instruction("phi", I32, tuple(Int(I32, s.number) for s in states), "mt.state", labels=labels)]
    if rounds:
        phis.append(Instruction("phi", I32, tuple(s.round for s in states), "mt.round", labels=labels))
    tell = Instruction("call", VOID, tuple(p.value for p in phis), callee=Global(STATE, PointerType()))
    return Block(EXIT, (*phis, tell, Instruction("ret", VOID)))
