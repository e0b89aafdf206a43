"""Rows of a matrix that many threads read, put side by side in threadgroup memory a piece at a time.

A thread for each element of a product walks down a column of one matrix. Its lines lie a row apart: rows a power of two
apart share few places of a cache, and what the threads below read again has to come from farther out each time. Where
no thread can tell its threadgroup (`lower/free_shape`), one of ours is up to 256 rows high, and the loop runs in
pieces. All threads together copy what their columns read in a piece, each element once; then each goes on with its own
sum, from memory that lies side by side in a near cache.

    piece:  copy: as many rows of the piece as there are rows of threads, then the next, ...
    ready:  barrier
    loop:   the old loop, as many rounds as the piece has, with its loads from the copy
    leave:  at the end of all? else a barrier, and the next piece (a barrier in any case where the loop is in a loop)

The sums have the same order and the same bits.
"""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import EXACT, is_proved
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.loop_stride import Strides
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Block, Function, GlobalVariable, Instruction, Module
from metalloid.ir.intrinsics import BARRIER, ENTRY, Effect, effect, full
from metalloid.ir.layout import DataLayout, data_layout
from metalloid.ir.loops import Loop
from metalloid.ir.types import I1, I32, PTR, VOID, ArrayType, FloatType, IntType, PointerType, Type
from metalloid.ir.values import Global, Int, Local, Value, poison
from metalloid.records import dataclass, replace
from metalloid.transforms.partial_sums import counted

# Of a piece, at most. With fewer, the other matrix is read in pieces that are too short to be fetched ahead.
ROUNDS = 1024
ELEMENTS = 1 << 16  # of all copies of a piece: 256 KiB of floats
TILE = "mt.rows."  # how the names of copies begin; what is read of them was written before
MOST = 2  # loads of a loop that are copied
POSITION = full("thread_position_in_threadgroup")
_X, _Y = Local("mt.rows.x", I32), Local("mt.rows.y", I32)  # a thread's place in its threadgroup
_SPACE = 3  # threadgroup memory
_CARRIED = frozenset(("add", "sub", "mul", "shl", "or", "zext", "sext", "getelementptr"))
_SMALL = ((EXACT, "nsw nuw"),)  # sums that end at the size of a tile
_CHANGES = Effect.WRITES | Effect.ORDERS | Effect.TELLS


@dataclass(frozen=True)
class Staged:
    """A loop of one block, and its loads that all rows of a threadgroup share."""

    loop: Loop
    outside: str  # the block before it
    counter: str
    limit: Value
    loads: tuple[str, ...]


def stageable(
    module: Module, across: int, height: int, guard: bool = False, perhaps: bool = False
) -> Staged | None:
    """The first loop that would gain in threadgroups of so many threads and rows, of loads that need no guard where
    there are guards. All threads have to come to it, and all rows to read the same; `perhaps`: as far as can be said
    before a proof, which leaves tests out that hold for all, and for the first rows, which is soon found out."""
    function, layout = module.function[ENTRY], data_layout(module.datalayout)
    if any(i.opcode == "alloca" for i in function.instructions()):
        return None  # each thread has memory of its own, which would have to be kept for all
    flow, roots = Flow(function), UnderlyingObjects(function)
    found = None
    for rows in (2,) if perhaps else (2, height):
        known = Uniformity(flow, roots, LaneLayout(rows * across, (across, rows, 1)), layout)
        if not perhaps and known.divergence.branches:
            return None
        ways = (_staged(function, loop, known, layout, guard) for loop in flow.forest.loops.values())
        found = next((way for way in ways if way is not None), None)
        if found is None:
            return None
    return found


def _staged(
    function: Function, loop: Loop, known: Uniformity, layout: DataLayout, guard: bool
) -> Staged | None:
    found = counted(function, loop)
    if found is None:
        return None
    outside, counter, limit = found
    start = next(v for v, source in function.definitions[counter].cases if source == outside)
    if known.varies(start) or known.varies(limit) or limit.type != I32:
        return None
    body = function.block[loop.header].instructions
    (test,) = body[-1].operands
    if not isinstance(test, Local) or len(function.users[test.name]) != 1:
        return None
    if any(effect(i) & _CHANGES for i in body):
        return None
    strides = Strides(function, loop, layout)
    loads = [i for i in body if i.opcode == "load" and _is_shared(i, known, layout, strides)]
    loads = [i for i in loads if _carried(function, loop.header, counter, i) is not None]
    loads = [i for i in loads if is_proved(i) or not guard][:MOST]
    return Staged(loop, outside, counter, limit, tuple(i.name for i in loads)) if loads else None


def _is_shared(i: Instruction, known: Uniformity, layout: DataLayout, strides: Strides) -> bool:
    """Whether threads of a row read side by side, those of all rows the same, and in each round the next row of
    memory."""
    if i.flags or i.ordering or not isinstance(i.type, FloatType | IntType) or i.type.bits > 32:
        return False
    shape, size = known.shape(i.operands[0]), layout.size(i.type)
    across = known.lanes.size[0]
    if shape is None or shape.pattern != tuple(size * (n % across) for n in range(known.lanes.width)):
        return False
    stride = strides.of(i.operands[0])
    return stride is not None and any(stride)


def _carried(function: Function, header: str, counter: str, load: Instruction) -> list[Instruction] | None:
    """What a loop computes for an address, of its counter and what stays; None where that takes more."""
    needed: dict[str, Instruction] = {}
    todo = [load]
    while todo:
        for name in todo.pop().uses:
            if name == counter or name in needed or function.home.get(name) != header:
                continue
            made = function.definitions[name]
            if made.opcode not in _CARRIED:
                return None
            needed[name] = made
            todo.append(made)
    return [i for i in function.block[header].instructions if i.name in needed]


def stage_rows(module: Module, found: Staged, across: int, height: int) -> tuple[Module, frozenset[str]]:
    """The module with the loop in pieces, for threadgroups of so many threads and rows, and the names of the new
    loops."""
    made = _Writer(module, found, across, height)
    function = module.function[ENTRY].with_blocks(made.blocks())
    module = replace(module, globals=(*module.globals, *made.tiles.values())).with_function(function)
    module = module.declare(BARRIER, VOID, (I32,)).declare(POSITION, I32, (I32,))
    return module, frozenset((made.piece, made.copy))


class _Writer:
    """Writes the blocks of one loop."""

    def __init__(self, module: Module, found: Staged, across: int, height: int) -> None:
        self.function, self.found, self.across, self.height = module.function[ENTRY], found, across, height
        self.rounds = min(ROUNDS, ELEMENTS // (across * len(found.loads)))
        self.header, self.body = found.loop.header, self.function.block[found.loop.header]
        names = ("piece", "copy", "put", "copied", "ready", "leave", "again")
        self.piece, self.copy, self.put, self.copied, self.ready, self.leave, self.again = (
            f"{self.header}.{name}" for name in names
        )
        self.tiles = {name: self._tile(name) for name in found.loads}
        self.debug = self.function.definitions[found.loads[0]].debug_only

    def _tile(self, name: str) -> GlobalVariable:
        type = ArrayType(self.rounds * self.across, self.function.definitions[name].type)
        return GlobalVariable(f"{TILE}{name}", type, poison(type), _SPACE, prefix="internal", align=64)

    def blocks(self) -> tuple[Block, ...]:
        found, made = self.found, list[Block]()
        for block in self.function.blocks:
            if block.name == self.function.entry.name:
                block = replace(
                    block, instructions=(*block.instructions[:-1], *self._positions(), block.terminator)
                )
            if block.name == found.outside:
                end = block.terminator.relabel({self.header: self.piece})
                block = replace(block, instructions=(*block.instructions[:-1], end))
            if block.name == self.header:
                made += [*self._copy(), self._loop(), *self._behind()]
            elif any(phi.opcode == "phi" and self.header in phi.labels for phi in block.instructions):
                made.append(
                    Block(block.name, tuple(i.relabel({self.header: self.leave}) for i in block.instructions))
                )
            else:
                made.append(block)
        return tuple(made)

    def _positions(self) -> list[Instruction]:
        return [self._call(I32, POSITION, Int(I32, n), axis.name) for n, axis in enumerate((_X, _Y))]

    def _call(self, result: Type, name: str, argument: Value, made: str = "") -> Instruction:
        return Instruction("call", result, (argument,), made, callee=Global(name, PTR), metadata=self.debug)

    def _copy(self) -> list[Block]:
        """From `piece` to `ready`."""
        at, limit = self._at(self.found.counter), self.found.limit
        left, few, rounds = (
            self._local(name, type) for name, type in (("left", I32), ("few", I1), ("rounds", I32))
        )
        last, first, row, here = (self._local(name, I32) for name in ("last", "first", "row", "here"))
        has, following, more = self._local("has", I1), self._local("next", I32), self._local("more", I1)
        phis = [self._piece_phi(phi) for phi in self.body.phis]
        piece = [
            *phis,
            self._make("sub", left, limit, at),
            self._make("sub", last, left, Int(I32, 1)),  # none left is all numbers of 32 bits
            self._make("icmp", few, last, Int(I32, self.rounds), predicate="ult"),
            self._make("select", rounds, few, left, Int(I32, self.rounds)),
            self._jump(self.copy),
        ]
        start = Instruction(
            "phi", I32, (Int(I32, 0), following), first.name, labels=(self.piece, self.copied)
        )
        copy = [
            start,
            self._make("add", row, first, _Y, flags=("nuw",)),
            self._make("icmp", has, row, rounds, predicate="ult"),
            self._jump(self.put, self.copied, has),
        ]
        put = [self._make("add", here, at, row)]
        for name in self.found.loads:
            put += self._moved(name, here, self._place(name, row, "put"))
        put.append(self._jump(self.copied))
        copied = [
            self._make("add", following, first, Int(I32, self.height), flags=("nuw",)),
            self._make("icmp", more, following, rounds, predicate="ult"),
            self._jump(self.copy, self.ready, more),
        ]
        ready = [
            self._make("add", self._local("end", I32), at, rounds),
            self._call(VOID, BARRIER, Int(I32, 2)),
            self._jump(self.header),
        ]
        named = (
            (self.piece, piece),
            (self.copy, copy),
            (self.put, put),
            (self.copied, copied),
            (self.ready, ready),
        )
        return [Block(name, tuple(code)) for name, code in named]

    def _moved(self, name: str, counter: Local, place: list[Instruction]) -> list[Instruction]:
        """A load once more, for one round, and a store of what it loads."""
        load = self.function.definitions[name]
        needed = _carried(self.function, self.header, self.found.counter, load) or []
        values: dict[str, Value] = {self.found.counter: counter}
        code: list[Instruction] = []
        for i in (*needed, load):
            copied = replace(i.substitute(values), name=f"{i.name}.{name}.put")
            values[i.name] = copied.value
            code.append(copied)
        given = values[name], place[-1].value
        return [*code, *place, Instruction("store", VOID, given, align=load.align, metadata=self.debug)]

    def _place(self, name: str, row: Value, tag: str) -> list[Instruction]:
        """The address of a row's element in a tile."""
        tile, pointer = self.tiles[name], PointerType(_SPACE)
        assert isinstance(tile.type, ArrayType)
        start, index, place = (f"{name}.{part}.{tag}" for part in ("start", "index", "place"))
        return [
            Instruction("mul", I32, (row, Int(I32, self.across)), start, metadata=_SMALL),
            Instruction("add", I32, (Local(start, I32), _X), index, metadata=_SMALL),
            Instruction(
                "getelementptr",
                pointer,
                (Global(tile.name, pointer), Local(index, I32)),
                place,
                flags=("inbounds",),
                element=tile.type.element,
            ),
        ]

    def _loop(self) -> Block:
        """The old loop, to the end of a piece."""
        code: list[Instruction] = []
        row, end = self._local("round", I32), self._local("end", I32)
        for i in self.body.instructions:
            if i.opcode == "phi":
                code.append(self._inner_phi(i))
            elif i.name in self.tiles:
                if not any(made.name == row.name for made in code):
                    counter = Local(self.found.counter, I32)
                    sub = self._make("sub", row, counter, self._at(self.found.counter))
                    code.append(replace(sub, metadata=(*sub.metadata, *_SMALL)))
                place = self._place(i.name, row, "get")
                said = tuple(m for m in i.metadata if m[0] != "tbaa")
                code += [*place, replace(i, operands=(place[-1].value,), metadata=said)]
            elif i.name == self._test().name:
                code.append(i.map_operands(lambda o: end if o == self.found.limit else o))
            elif i.is_terminator:
                code.append(i.relabel(dict.fromkeys(set(i.labels) - {self.header}, self.leave)))
            else:
                code.append(i)
        return Block(self.header, tuple(code))

    def _behind(self) -> list[Block]:
        """At the end of a piece. Where the loop itself comes again, nobody copies before all have read."""
        over, end = self._local("over", I1), self._local("end", I32)
        behind, wait = self.found.loop.exits[0][1], self._call(VOID, BARRIER, Int(I32, 2))
        inside = bool(self.found.loop.parent)
        leave = [
            self._make("icmp", over, end, self.found.limit, predicate="eq"),
            *((wait,) if inside else ()),
            self._jump(behind, self.again, over),
        ]
        again = [*(() if inside else (wait,)), self._jump(self.piece)]
        return [Block(self.leave, tuple(leave)), Block(self.again, tuple(again))]

    def _test(self) -> Instruction:
        test = self.body.terminator.operands[0]
        assert isinstance(test, Local)
        return self.function.definitions[test.name]

    def _piece_phi(self, phi: Instruction) -> Instruction:
        """What a phi is at the beginning of a piece."""
        sources = {self.found.outside: self.found.outside, self.header: self.again}
        labels = tuple(sources[label] for label in phi.labels)
        return replace(phi, name=f"{phi.name}.piece", labels=labels)

    def _inner_phi(self, phi: Instruction) -> Instruction:
        ways = [
            (value, source) if source == self.header else (self._at(phi.name), self.ready)
            for value, source in phi.cases
        ]
        return replace(phi, operands=tuple(v for v, _ in ways), labels=tuple(s for _, s in ways))

    def _at(self, name: str) -> Local:
        return Local(f"{name}.piece", self.function.definitions[name].type)

    def _local(self, name: str, type: Type) -> Local:
        return Local(f"{self.header}.{name}", type)

    def _make(
        self, opcode: str, to: Local, *operands: Value, predicate: str = "", flags: tuple[str, ...] = ()
    ) -> Instruction:
        return Instruction(
            opcode, to.type, operands, to.name, flags, predicate=predicate, metadata=self.debug
        )

    def _jump(self, label: str, other: str = "", test: Value | None = None) -> Instruction:
        labels = (label, other) if other else (label,)
        return Instruction("br", VOID, (test,) if test else (), labels=labels, metadata=self.debug)
