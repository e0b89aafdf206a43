"""Several neighbouring threadgroups as one: what all of them compute is computed once, so tiles of products grow.

The code of a threadgroup is written as often as there are members, instruction by instruction; what does not depend on
which member it is for stays single. That holds for threadgroup memory as well: where every member stores the same, one
copy is enough for all, and matrices are loaded from there once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from metalloid.backends.base import Triple
from metalloid.backends.cuda.regions import Regions
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.intrinsics import ENTRY, PRIVATE, Effect, effect, family, short
from metalloid.ir.intrinsics.names import PREFIX
from metalloid.ir.types import I32, ArrayType, IntType, PointerType
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.transforms.join_blocks import joined
from metalloid.transforms.prune_edges import prune

Place = tuple[str, int]
_POSITIONS = ("threadgroup_position_in_grid", "thread_position_in_grid")
_HARMLESS = (
    "barrier",
    "simd barrier",
    "position",
    "memory",
    "collective",
    "matrix load",
    "matrix store",
    "matrix product",
)


@dataclass(frozen=True)
class Coarsened:
    module: Module
    places: Mapping[Place, Place]  # of an instruction, and of the one it was made from


def varying(
    function: Function, axis: int, regions: Regions, known: Mapping[str, int]
) -> set[str | int] | None:
    """Names of values, and numbers of regions, that differ between members along an axis; None where the members
    would not go the same way."""
    found: set[str | int] = set()
    changed = True
    while changed:
        before = len(found)
        for block in function.blocks:
            for n, i in enumerate(block.instructions):
                if i.name in known or not _differs(i, (block.name, n), axis, regions, found):
                    continue
                if i.name:
                    found.add(i.name)
                region = regions.of.get((block.name, n))
                if region is not None and effect(i) & Effect.WRITES:
                    found.add(region)
        changed = len(found) != before
    for block in function.blocks:
        if any(isinstance(o, Local) and o.name in found for o in block.terminator.operands):
            return None
    return found


def _differs(i: Instruction, place: Place, axis: int, regions: Regions, found: set[str | int]) -> bool:
    if i.opcode == "call" and short(i.called) in _POSITIONS:
        return isinstance(i.operands[0], Int) and i.operands[0].value == axis
    if any(isinstance(o, Local) and o.name in found for o in i.operands):
        return True
    return regions.of.get(place) in found and bool(effect(i) & Effect.READS)


def possible(function: Function, quiet: frozenset[int], regions: Regions) -> bool:
    """Whether threadgroups may run in step: they meet in no memory that they write, and do nothing in order."""
    for block in function.blocks:
        for n, i in enumerate(block.instructions):
            if i.called == PRIVATE or i.ordering or "volatile" in i.flags or i.opcode in ("alloca", "switch"):
                return False
            if i.opcode == "call" and not i.called.startswith("llvm.") and family(i.called) not in _HARMLESS:
                return False
            touched = any(isinstance(o.type, PointerType) for o in i.operands)
            reads = (
                effect(i) & Effect.READS and touched and family(i.called) not in ("barrier", "simd barrier")
            )
            if reads and (block.name, n) not in regions.of:
                root = regions.roots.root(i.operands[0])
                if (
                    root is None
                    or root.kind not in ("buffer", "constant")
                    or (root.kind == "buffer" and root.index not in quiet)
                ):
                    return False
    return True


def straight(module: Module, dead: frozenset[tuple[str, str]]) -> Coarsened:
    """The kernel without ways that no thread goes."""
    function = module.function[ENTRY]
    homes = {id(i): (b.name, n) for b in function.blocks for n, i in enumerate(b.instructions)}
    pruned, origins = joined(prune(function, dead))
    places = {place: homes[id(i)] for place, i in origins.items() if id(i) in homes}
    return Coarsened(module.with_function(pruned), places)


def coarsened(
    made: Coarsened, size: Triple, factors: Triple, local: int, known: Mapping[str, int]
) -> Coarsened:
    """The kernel for `factors` threadgroups along each axis. `local` is the threadgroup memory that hosts give one."""
    copies = 1
    for axis, count in enumerate(factors):
        if count > 1:
            made = _along(made, size, axis, count, copies * local, known)
            copies *= count
    return made


def _along(
    of: Coarsened, size: Triple, axis: int, count: int, local: int, known: Mapping[str, int]
) -> Coarsened:
    function = of.module.function[ENTRY]
    regions = Regions(of.module, function, size)
    found = varying(function, axis, regions, known)
    assert found is not None
    members = _Members(size, axis, count, regions, found, local, known)
    places: dict[Place, Place] = {}
    blocks = []
    for block in function.blocks:
        code = list(members.block(block))
        places |= {(block.name, n): of.places[old] for n, (_, old) in enumerate(code) if old in of.places}
        blocks.append(Block(block.name, tuple(i for i, _ in code)))
    module = of.module.with_function(function.with_blocks(tuple(blocks)))
    grown = {name for name, parts in regions.variables.items() if parts & found}
    variables = tuple(
        replace(g, type=ArrayType(count * regions.room(g.name), IntType(8))) if g.name in grown else g
        for g in module.globals
    )
    return Coarsened(replace(module, globals=variables), places)


@dataclass(frozen=True)
class _Members:
    """Writes blocks for `count` members along an axis."""

    size: Triple
    axis: int
    count: int
    regions: Regions
    found: set[str | int]
    local: int
    known: Mapping[str, int]

    def block(self, block: Block) -> Iterator[tuple[Instruction, Place]]:
        """Instructions with their places of before. One member follows the other, up to where all do something once
        that others may see: stores that were side by side stay so."""
        run: list[tuple[Instruction, Place]] = []
        for n, i in enumerate(block.instructions):
            place = block.name, n
            if i.opcode != "phi" and n and block.instructions[n - 1].opcode == "phi":
                yield from self._each(run)
                run = []
            if i.name in self.known:
                continue  # its number stands wherever it was used
            if i.name in self.found and i.opcode == "call" and short(i.called) in _POSITIONS:
                yield from ((made, place) for made in self._positions(i))
            elif self._differs(i, place):
                run.append((self._settled(i), place))
            else:
                if i.is_terminator or effect(i) & (Effect.WRITES | Effect.ORDERS):
                    yield from self._each(run)
                    run = []
                yield self._settled(i), place

    def _differs(self, i: Instruction, place: Place) -> bool:
        named = i.name in self.found or self.regions.of.get(place) in self.found
        return named or any(isinstance(o, Local) and o.name in self.found for o in i.operands)

    def _each(self, run: list[tuple[Instruction, Place]]) -> Iterator[tuple[Instruction, Place]]:
        for member in range(self.count):
            for i, place in run:
                yield from ((made, place) for made in self._copy(i, place, member))

    def _copy(self, i: Instruction, place: Place, member: int) -> Iterator[Instruction]:
        if not member:
            yield i
            return
        names: dict[str, Value] = {
            o.name: Local(self._named(o.name, member), o.type)
            for o in i.operands
            if isinstance(o, Local) and o.name in self.found
        }
        made = i.substitute(names)
        if i.name:
            made = replace(made, name=self._named(i.name, member))
        region = self.regions.of.get(place)
        if region in self.found:
            at = 1 if i.opcode == "store" else 0
            pointer = made.operands[at]
            into = Local(self._named(f"{place[0]}.{place[1]}.at", member), pointer.type)
            apart = Int(I32, member * (self.regions.length(region) or self.local))
            yield Instruction("getelementptr", pointer.type, (pointer, apart), into.name, element=IntType(8))
            made = replace(made, operands=tuple(into if n == at else o for n, o in enumerate(made.operands)))
        yield made

    def _named(self, name: str, member: int) -> str:
        return f"{name}.{'xyz'[self.axis]}{member}" if member else name

    def _settled(self, i: Instruction) -> Instruction:
        """With numbers for values that are the same in the whole launch."""
        values: dict[str, Value] = {
            o.name: Int(o.type, self.known[o.name] & ((1 << o.type.bits) - 1))
            for o in i.operands
            if isinstance(o, Local) and o.name in self.known and isinstance(o.type, IntType)
        }
        return i.substitute(values) if values else i

    def _positions(self, i: Instruction) -> Iterator[Instruction]:
        """Where members are: the position of a block is that of the first of them."""
        thread = short(i.called) == "thread_position_in_grid"
        step = self.size[self.axis] if thread else 1
        assert isinstance(i.type, IntType)
        kind = i.type
        group, first, own, start = (
            Local(f"{i.name}.{w}", i.type) for w in ("group", "first", "own", "start")
        )

        def called(what: str, into: Local) -> Instruction:
            return replace(i, name=into.name, callee=Global(f"{PREFIX}{what}", PointerType()))

        yield called("threadgroup_position_in_grid", group)
        yield Instruction("mul", i.type, (group, Int(kind, step)), first.name)
        if thread:
            yield called("thread_position_in_threadgroup", own)
            yield Instruction("add", i.type, (first, own), start.name)
        for member in range(self.count):
            at = start if thread else first
            yield Instruction("add", i.type, (at, Int(kind, member * step)), self._named(i.name, member))
