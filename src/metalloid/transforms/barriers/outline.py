"""One region as a function of its own.

It begins with what it needs from before: kept values, and those computed again from them. A value that is both brought
and made here lives in a variable, which LLVM takes apart. It ends by telling where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.cfg import graph
from metalloid.ir.intrinsics import STATE, reload_name, spill_name
from metalloid.ir.types import I32, VOID, PointerType
from metalloid.ir.values import Global, Int, Local, Value
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
        self.variables: dict[str, Local] = {}  # those that are made here as well
        self.states: list[State] = []

    def write(self) -> Function:
        for name in sorted(self.regions.live[self.number]):
            value = self._bring(name)
            if name in self.made_here:
                self._begin_variable(name, value)
            else:
                self.direct[name] = value
        entry = Block("mt.start", (*self.before, Instruction("br", VOID, labels=(self.start,))))
        blocks = [entry, *map(self._block, self.names)]
        blocks.append(_exit(self.states, bool(self.plan.rounds)))
        return _without_unreachable(Function(f"segment{self.number}", VOID, (), tuple(blocks)))

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

    def _begin_variable(self, name: str, value: Value) -> None:
        place = Local(f"{self._name(name)}.var", PointerType(5))
        self.variables[name] = place
        made = Instruction("alloca", place.type, (Int(I32, 1),), place.name, element=value.type)
        self.before.insert(0, made)
        self.before.append(Instruction("store", VOID, (value, place)))

    # ---- blocks ----------------------------------------------------------------------------------------------

    def _block(self, name: str) -> Block:
        block = self.function.block[name]
        code = [made for phi in block.phis for made in self._kept(phi)]
        count = 0

        def read(i: Instruction) -> Instruction:
            nonlocal count
            values = {use: self.direct[use] for use in i.uses if use in self.direct}
            for use in (u for u in i.uses if u in self.variables):
                count += 1
                code.append(self._variable(use, f"{name}.r{count}.{use}"))
                values[use] = code[-1].value
            return i.substitute(values)

        for i in block.body[:-1]:
            code.append(read(i))
            code += self._kept(i)
        stop = self._stop(block)
        last = read(block.terminator) if stop is None else Instruction("br", VOID, labels=(EXIT,))
        self.states += [stop] if stop is not None else []
        for value in self._given(block):
            code.append(self._variable(value.name, f"{name}.e.{value.name}"))
        return Block(name, (*map(self._phi, block.phis), *code, last))

    def _stop(self, block: Block) -> State | None:
        if self.regions.stops_at(block.name, self.start):
            round = self.plan.rounds.get(block.name, Int(I32, 0))
            return State(self.regions.stops[block.name], block.name, round)
        return State(0, block.name, Int(I32, 0)) if block.terminator.opcode == "ret" else None

    def _phi(self, phi: Instruction) -> Instruction:
        """A variable is read at the end of the block it comes from."""
        cases = [
            (v, b) for v, b in phi.cases if b in self.region and not self.regions.stops_at(b, self.start)
        ]

        def given(value: Value, source: str) -> Value:
            if not isinstance(value, Local):
                return value
            if value.name in self.variables:
                return Local(f"{source}.e.{value.name}", value.type)
            return self.direct.get(value.name, value)

        return replace(phi, operands=tuple(given(v, b) for v, b in cases), labels=tuple(b for _, b in cases))

    def _given(self, block: Block) -> Iterator[Local]:
        """The variables that phis get from a block."""
        found: dict[str, Local] = {}
        for target in self.regions.successors(block, self.start):
            for phi in self.function.block[target].phis:
                for value, source in phi.cases:
                    if source == block.name and isinstance(value, Local) and value.name in self.variables:
                        found[value.name] = value
        yield from found.values()

    def _variable(self, name: str, called: str) -> Instruction:
        return Instruction("load", self.function.definitions[name].type, (self.variables[name],), called)

    def _kept(self, i: Instruction) -> Iterator[Instruction]:
        if i.name in self.variables:
            yield Instruction("store", VOID, (i.value, self.variables[i.name]))
        if i.name in self.plan.slots:
            slot = self.plan.slots[i.name]
            callee = Global(spill_name(slot.value.type), PointerType())
            yield Instruction("call", VOID, (Int(I32, slot.number), slot.value), callee=callee)


def kept_name(segment: int, name: str) -> str:
    """What a kept coefficient is called in a region."""
    return f"mt.{segment}.{name}.kept"


def _exit(states: list[State], rounds: bool) -> Block:
    labels = tuple(s.block for s in states)
    phis = [Instruction("phi", I32, tuple(Int(I32, s.number) for s in states), "mt.state", labels=labels)]
    if rounds:
        phis.append(Instruction("phi", I32, tuple(s.round for s in states), "mt.round", labels=labels))
    tell = Instruction("call", VOID, tuple(p.value for p in phis), callee=Global(STATE, PointerType()))
    return Block(EXIT, (*phis, tell, Instruction("ret", VOID)))


def _without_unreachable(function: Function) -> Function:
    reachable = set(graph(function).reverse_postorder)
    kept = tuple(b for b in function.blocks if b.name in reachable)

    def prune(i: Instruction) -> Instruction:
        if i.opcode != "phi":
            return i
        cases = [(v, b) for v, b in i.cases if b in reachable]
        return replace(i, operands=tuple(v for v, _ in cases), labels=tuple(b for _, b in cases))

    return function.with_blocks(kept).map_instructions(prune)
