"""Split a kernel at its barriers.

A segment is the code from the start, or from a barrier, to the next barriers or the end. All instances of a
threadgroup run one segment before any runs the next; each says where it stopped, and they must agree. That holds
for barriers in loops and branches of any shape, and finds out where not all threads get to the same one.

Values that live across a barrier are kept in slots; addresses and the like are computed again instead. Where lanes
differ by multiples of a uniform value (a row's length, say), that value is kept as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.cfg import graph
from metalloid.ir.reducible import reducible
from metalloid.ir.types import I32, VOID, PointerType, Type
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.passes.meetings import Varies, before, meetings, with_meetings
from metalloid.passes.rounds import count_rounds

BARRIER = "__mt_threadgroup_barrier"
EXIT = "mt.exit"
STATE = "__mt_state"
_PURE = frozenset(
    "add sub mul shl lshr ashr and or xor trunc zext sext getelementptr icmp select freeze".split()
)
MAX_CHAIN = 12


@dataclass(frozen=True)
class Slot:
    """A value that is kept."""

    number: int
    value: Local


@dataclass(frozen=True)
class State:
    """Where a segment can end: the barrier's number, the block before it, the iteration."""

    number: int
    block: str
    round: Value


@dataclass(frozen=True)
class Split:
    """The segments, the first from the entry; segment n+1 starts behind barrier n, the last ones at meetings."""

    functions: tuple[Function, ...]
    barriers: tuple[Instruction, ...]
    slots: tuple[Slot, ...]
    rounds: bool = False  # whether barriers tell the iteration too


Coefficients = Callable[[Local], frozenset[str]]


def split(
    function: Function,
    coefficients: Coefficients = lambda value: frozenset(),
    varies: Varies = lambda value: True,
) -> Split:
    """All segments of a function. State 0 is the end; state n, the start of segment n.

    `coefficients` names the uniform values that a value's differences between lanes are multiples of.
    """
    cut, barriers = _cut_blocks(function)
    starts = [cut.entry.name, *(after for after, _ in barriers)]
    stops = {before: n + 1 for n, (after, _) in enumerate(barriers) for before in [_before(cut, after)]}
    cut, rounds = count_rounds(cut, stops)
    met = meetings(cut, starts, stops, varies)
    cut = with_meetings(cut, met)
    for name in met:
        stops[before(name)] = len(starts)
        starts.append(name)
    work = _Splitter(cut, starts, stops, rounds, coefficients)
    functions = tuple(work.segment(n) for n in range(len(starts)))
    return Split(functions, tuple(i for _, i in barriers), tuple(work.slots.values()), bool(rounds))


def _cut_blocks(function: Function) -> tuple[Function, list[tuple[str, Instruction]]]:
    """Blocks end at barriers. Returns (name of the block behind, barrier) for each."""
    blocks: list[Block] = []
    last: dict[str, str] = {}
    barriers: list[tuple[str, Instruction]] = []
    for block in function.blocks:
        name, code = block.name, []
        for i in block.instructions:
            code.append(i)
            if i.called == BARRIER:
                after = f"{block.name}.after{len(barriers)}"
                blocks.append(Block(name, (*code[:-1], Instruction("br", VOID, labels=(after,)))))
                barriers.append((after, i))
                name, code = after, []
        blocks.append(Block(name, tuple(code)))
        last[block.name] = name
    moved = {old: new for old, new in last.items() if old != new}

    def repair(i: Instruction) -> Instruction:
        return i.relabel(moved) if i.opcode == "phi" else i

    return function.with_blocks(tuple(blocks)).map_instructions(repair), barriers


def _before(function: Function, after: str) -> str:
    return next(b.name for b in function.blocks if b.terminator.labels == (after,))


def kept_name(segment: int, name: str) -> str:
    """What a kept coefficient is called in a segment."""
    return f"mt.{segment}.{name}.kept"


class _Splitter:
    def __init__(
        self,
        function: Function,
        starts: list[str],
        stops: dict[str, int],
        rounds: dict[str, Value],
        coefficients: Coefficients,
    ) -> None:
        self.function, self.starts, self.stops, self.rounds = function, starts, stops, rounds
        self.coefficients = coefficients
        self.slots: dict[str, Slot] = {}
        self._whole: dict[str, bool] = {}
        self.regions = [self._region(start) for start in starts]
        self.live = [self._live_in(n) for n in range(len(starts))]
        needed: set[str] = set()
        for names in self.live:
            for name in sorted(names):
                needed |= self._leaves(name)
        for name in sorted(needed):
            needed |= coefficients(function.definitions[name].value)
        for name in (i.name for i in function.instructions() if i.name in needed):
            self.slots[name] = Slot(len(self.slots), function.definitions[name].value)

    def _stops(self, block: str, start: str) -> bool:
        """Whether the segment from `start` ends at a block: its own start it may come back to."""
        return block in self.stops and block != before(start)

    def _successors(self, block: Block, start: str) -> tuple[str, ...]:
        return () if self._stops(block.name, start) else block.successors

    def _region(self, start: str) -> list[str]:
        seen, work = {start}, [start]
        while work:
            for target in self._successors(self.function.block[work.pop()], start):
                if target not in seen:
                    seen.add(target)
                    work.append(target)
        return [b.name for b in self.function.blocks if b.name in seen]

    def _live_in(self, number: int) -> set[str]:
        """What a segment reads before it makes it."""
        region = set(self.regions[number])
        reads: dict[str, set[str]] = {}
        makes: dict[str, set[str]] = {}
        for name in region:
            block = self.function.block[name]
            made: set[str] = set()
            read: set[str] = set()
            for i in block.instructions:
                if i.opcode != "phi":
                    read |= {u for u in i.uses if u not in made}
                if i.name:
                    made.add(i.name)
            reads[name], makes[name] = read, made
        live: dict[str, set[str]] = {name: set() for name in region}
        changed = True
        while changed:
            changed = False
            for name in reversed(self.regions[number]):
                block = self.function.block[name]
                out: set[str] = set()
                for target in self._successors(block, self.starts[number]):
                    out |= live[target]
                    for phi in self.function.block[target].phis:
                        out |= {v.name for v, source in phi.cases if source == name and isinstance(v, Local)}
                new = reads[name] | (out - makes[name])
                if new != live[name]:
                    live[name], changed = new, True
        return live[self.starts[number]]

    def _chain(self, name: str) -> list[str] | None:
        """The names to compute again, in order, where that is cheap; leaves are kept values."""
        if self._kept_whole(name):
            return None
        found: dict[str, None] = {}

        def visit(one: str) -> None:
            if not self._kept_whole(one):
                for use in self.function.definitions[one].uses:
                    visit(use)
                found[one] = None

        visit(name)
        return list(found)

    def _kept_whole(self, name: str) -> bool:
        """Whether a value is kept: it cannot be computed again, or not cheaply. What is one step from another
        value is computed from that one, so that addresses with a common base still have it."""
        if name not in self._whole:
            i = self.function.definitions[name]
            step = len(i.uses) == 1
            self._whole[name] = not self._pure(i) or (not step and self._length(name) > MAX_CHAIN)
        return self._whole[name]

    def _length(self, name: str) -> int:
        """How many instructions it takes to compute a value from what cannot be computed."""
        found: set[str] = set()
        work = [name]
        while work and len(found) <= MAX_CHAIN:
            one = work.pop()
            i = self.function.definitions[one]
            if one not in found and self._pure(i):
                found.add(one)
                work += i.uses
        return len(found)

    def _pure(self, i: Instruction) -> bool:
        if i.opcode == "call":
            return i.called.startswith("__mt_") and not i.called.startswith(
                ("__mt_simd_", "__mt_quad_", "__mt_matrix")
            )
        return i.opcode in _PURE or i.opcode == "alloca"

    def _leaves(self, name: str) -> set[str]:
        """What has to be kept so that `name` is known behind a barrier."""
        chain = self._chain(name)
        if chain is None:
            return {name}
        found: set[str] = set()
        for one in chain:
            found |= {u for u in self.function.definitions[one].uses if u not in chain}
        return found

    def segment(self, number: int) -> Function:
        start, region = self.starts[number], set(self.regions[number])
        made_here = {i.name for n in region for i in self.function.block[n].instructions if i.name}
        code: list[Instruction] = []
        known: dict[str, Value] = {}
        kept: set[str] = set()
        demoted: dict[str, Local] = {}

        def bring(name: str) -> Value:
            """The value of a name as it was at the barrier."""
            if name in known:
                return known[name]
            i = self.function.definitions[name]
            chain = self._chain(name)
            if chain is None:
                for one in sorted(self.coefficients(i.value)):
                    if one not in kept:
                        kept.add(one)
                        code.append(_reload(self.slots[one], kept_name(number, one)))
                code.append(_reload(self.slots[name], f"mt.{number}.{name}"))
                known[name] = Local(f"mt.{number}.{name}", i.type)
                return known[name]
            for one in chain:
                if one in known:
                    continue
                definition = self.function.definitions[one]
                values = {u: bring(u) for u in definition.uses}
                code.append(replace(definition.substitute(values), name=f"mt.{number}.{one}"))
                known[one] = Local(f"mt.{number}.{one}", definition.type)
            return known[name]

        for name in sorted(self.live[number]):
            value = bring(name)
            if name in made_here:
                place = Local(f"mt.{number}.{name}.var", PointerType(5))
                demoted[name] = place
                code.insert(
                    0, Instruction("alloca", place.type, (Int(I32, 1),), place.name, element=value.type)
                )
                code.append(Instruction("store", VOID, (value, place)))
        direct = {n: v for n, v in known.items() if n in self.live[number] and n not in made_here}
        entry = Block("mt.start", (*code, Instruction("br", VOID, labels=(start,))))
        blocks = [entry]
        states: list[State] = []
        for name in self.regions[number]:
            blocks.append(self._block(name, region, direct, demoted, states, start))
        blocks.append(_exit(states, bool(self.rounds)))
        made = Function(f"segment{number}", VOID, (), tuple(blocks))
        return _without_unreachable(made)

    def _block(
        self,
        name: str,
        region: set[str],
        direct: dict[str, Value],
        demoted: dict[str, Local],
        states: list[State],
        start: str,
    ) -> Block:
        block = self.function.block[name]
        phis: list[Instruction] = []
        code: list[Instruction] = []
        count = 0

        def reader(i: Instruction) -> Instruction:
            nonlocal count
            values: dict[str, Value] = {u: direct[u] for u in i.uses if u in direct}
            for use in i.uses:
                if use in demoted:
                    count += 1
                    loaded = f"{name}.r{count}.{use}"
                    type = self.function.definitions[use].type
                    code.append(Instruction("load", type, (demoted[use],), loaded))
                    values[use] = Local(loaded, type)
            return i.substitute(values)

        for phi in block.phis:
            cases = [(v, b) for v, b in phi.cases if b in region and not self._stops(b, start)]
            operands = tuple(direct.get(v.name, v) if isinstance(v, Local) else v for v, _ in cases)
            # A demoted value is read at the end of the block it comes from: see the edges below.
            operands = tuple(
                Local(f"{b}.e.{v.name}", v.type) if isinstance(v, Local) and v.name in demoted else o
                for o, (v, b) in zip(operands, cases, strict=True)
            )
            phis.append(replace(phi, operands=operands, labels=tuple(b for _, b in cases)))
        after: list[Instruction] = []
        for phi in block.phis:
            after += self._kept(phi, demoted)
        for i in block.body[:-1]:
            code.append(reader(i))
            if i.name:
                code += self._kept(i, demoted)
        end = block.terminator
        if self._stops(name, start):
            states.append(State(self.stops[name], name, self.rounds.get(name, Int(I32, 0))))
            last = Instruction("br", VOID, labels=(EXIT,))
        elif end.opcode == "ret":
            states.append(State(0, name, Int(I32, 0)))
            last = Instruction("br", VOID, labels=(EXIT,))
        else:
            last = reader(end)
        seen: set[str] = set()
        for target in self._successors(block, start):
            for phi in self.function.block[target].phis:
                for value, source in phi.cases:
                    if (
                        source == name
                        and isinstance(value, Local)
                        and value.name in demoted
                        and value.name not in seen
                    ):
                        seen.add(value.name)
                        code.append(
                            Instruction("load", value.type, (demoted[value.name],), f"{name}.e.{value.name}")
                        )
        return Block(name, (*phis, *after, *code, last))

    def _kept(self, i: Instruction, demoted: dict[str, Local]) -> list[Instruction]:
        found: list[Instruction] = []
        if i.name in demoted:
            found.append(Instruction("store", VOID, (i.value, demoted[i.name])))
        if i.name in self.slots:
            found.append(_spill(self.slots[i.name]))
        return found


def suffix(type: Type) -> str:
    return str(type).replace("ptr addrspace(", "p").replace(")", "").replace("ptr", "p0")


def _reload(slot: Slot, name: str) -> Instruction:
    type = slot.value.type
    return Instruction(
        "call",
        type,
        (Int(I32, slot.number),),
        name,
        callee=Global(f"__mt_reload_{suffix(type)}", PointerType()),
    )


def _spill(slot: Slot) -> Instruction:
    callee = Global(f"__mt_spill_{suffix(slot.value.type)}", PointerType())
    return Instruction("call", VOID, (Int(I32, slot.number), slot.value), callee=callee)


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


def as_module(module: Module, made: Split) -> Module:
    """A module of the segments, ready to be brought into canonical form."""
    functions: list[Function] = [f for f in module.functions if not f.blocks]
    functions += (reducible(f) for f in made.functions)  # a loop may have been entered at a barrier
    whole = replace(module, functions=tuple(functions))
    whole = whole.declare(STATE, VOID, (I32, I32) if made.rounds else (I32,))
    for type in _types(made.slots):
        whole = whole.declare(f"__mt_reload_{suffix(type)}", type, (I32,))
        whole = whole.declare(f"__mt_spill_{suffix(type)}", VOID, (I32, type))
    return whole


def _types(slots: Iterable[Slot]) -> set[Type]:
    return {s.value.type for s in slots}


__all__ = ["BARRIER", "STATE", "Slot", "Split", "as_module", "kept_name", "split"]
