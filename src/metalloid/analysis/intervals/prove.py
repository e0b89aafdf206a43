"""Which accesses of a kernel cannot miss their memory in a launch, and which loops end soon.

`parameters` are small buffers that the kernel never writes and takes sizes, strides or counts from. A launch copies
them before it starts, proves with the copy and runs with the copy: what they hold cannot change in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import EARLY, FIXED, NO_WRAP, PROVED, SHORT, STREAMED
from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.dead_edges import dead_edges
from metalloid.analysis.intervals.evaluate import BUDGET, Evaluator
from metalloid.analysis.intervals.no_wrap import is_no_wrap
from metalloid.analysis.intervals.values import Facts, TooLong
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.intrinsics import ENTRY, Effect, between_threadgroups, effect, is_matrix, matrix_access
from metalloid.ir.layout import DataLayout, data_layout, scalar_bytes
from metalloid.ir.loops import Loop
from metalloid.ir.name_privates import name_privates
from metalloid.ir.types import FLOAT, HALF, IntType, PointerType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass, replace

MAX_WORK = 1 << 20  # instructions of a loop that runs without asking whether it should stop
MAX_EARLY = 10  # instructions of a block whose loads may be worth doing before the branch that leads to it
MAX_SIZE = 6000  # instructions; larger kernels are guarded


@dataclass(frozen=True)
class Proof:
    """What need not be watched: accesses by block and place in it, loops by header; and what goes past the caches."""

    accesses: frozenset[tuple[str, int]] = frozenset()
    loops: frozenset[str] = frozenset()
    whole: frozenset[tuple[str, int]] = frozenset()  # widenings of numbers that have not wrapped
    streams: frozenset[tuple[str, int, int]] = frozenset()  # with the alignment of the buffer
    dead: frozenset[tuple[str, str]] = frozenset()  # ways from block to block that no thread goes
    size: tuple[int, int, int] | None = (
        None  # of the threadgroups that its module was made for, where it was for one
    )
    fixed: frozenset[tuple[str, int]] = frozenset()  # loads of numbers that the launch has its own copy of
    short: frozenset[str] = (
        frozenset()
    )  # loops of one block, by header, with few rounds for the sums of a thread, or for what it writes
    # loads behind branches, and a block before from which on they are inside as well
    early: frozenset[tuple[str, int, str]] = frozenset()
    apart: bool = False  # no memory is bound twice

    def mark(self, module: Module) -> Module:
        """The module, with what is proved written on its instructions."""
        function = module.function[ENTRY]
        blocks = []
        aligned = {(block, n): align for block, n, align in self.streams}
        sooner: dict[tuple[str, int], list[str]] = {}
        for name, n, before in sorted(self.early):
            sooner.setdefault((name, n), []).append(before)
        for block in function.blocks:
            code = []
            for n, i in enumerate(block.instructions):
                said = [(PROVED, "!{}")] if (block.name, n) in self.accesses else []
                if (block.name, n) in self.whole:
                    said.append((NO_WRAP, "!{}"))
                if (block.name, n) in self.fixed:
                    said.append((FIXED, "!{}"))
                if (block.name, n) in sooner:
                    said.append((EARLY, " ".join(sooner[block.name, n])))
                if (block.name, n) in aligned:
                    said.append((f"{STREAMED}{aligned[block.name, n]}", "!{}"))
                code.append(replace(i, metadata=(*i.metadata, *said)) if said else i)
            blocks.append(replace(block, instructions=tuple(code)))
        return module.with_function(function.with_blocks(tuple(blocks)))


class Prover:
    """One kernel, in canonical form, made ready to be proved for one launch after the other."""

    def __init__(self, module: Module) -> None:
        named, privates = name_privates(module)
        self.module, self.function = named, named.function[ENTRY]
        self.layout: DataLayout = data_layout(module.datalayout)
        self.size = sum(1 for _ in self.function.instructions())
        self.privates = {n: p.size for n, p in enumerate(privates)}
        self.globals = {g.name: self.layout.size(g.type) for g in module.globals if g.space in (1, 3, 4)}
        self.flow = Flow(self.function)
        self.reached = frozenset(self.flow.graph.reverse_postorder)
        self.roots = UnderlyingObjects(self.function)
        self.parameters: tuple[int, ...] = read_parameters(self.function, self.roots)
        self.outputs: Mapping[int, frozenset[tuple[str, int]]] = _outputs(self.function, self.roots)

    @property
    def worthwhile(self) -> bool:
        return self.size <= MAX_SIZE

    def streams(self, buffers: Sequence[tuple[int, int]]) -> frozenset[tuple[str, int, int]]:
        """The stores to these outputs, with their alignments."""
        return frozenset((*place, align) for index, align in buffers for place in self.outputs.get(index, ()))

    def prove(self, launch: Facts, budget: int = BUDGET) -> Proof:
        e = Evaluator(self.flow, self.roots, self.layout, launch, budget)
        proved: set[tuple[str, int]] = set()
        whole: set[tuple[str, int]] = set()
        loops: set[str] = set()
        dead: set[tuple[str, str]] = set()
        short: set[str] = set()
        early: set[tuple[str, int, str]] = set()
        try:
            for block in self.function.blocks:
                if block.name not in self.reached:
                    continue
                for n, i in enumerate(block.instructions):
                    if self._inside(e, i, block.name):
                        proved.add((block.name, n))
                        early.update((block.name, n, before) for before in self._sooner(e, i, block))
                    if is_no_wrap(e, i, block.name):
                        whole.add((block.name, n))
            for loop in self.flow.forest.loops.values():
                if self._work(e, loop) <= MAX_WORK:
                    loops.add(loop.header)
                if self._is_short(e, loop):
                    short.add(loop.header)
            for name in self.reached:
                dead.update(dead_edges(e, name))
        except (TooLong, RecursionError):
            pass
        return Proof(
            frozenset(proved),
            frozenset(loops),
            frozenset(whole),
            dead=frozenset(dead),
            fixed=self._fixed(launch, proved),
            short=frozenset(short),
            early=frozenset(early),
        )

    def _sooner(self, e: Evaluator, i: Instruction, block: Block) -> Iterator[str]:
        """The blocks on the only way to a load from which on it is inside as well, the nearest first."""
        if i.opcode != "load" or i.ordering or "volatile" in i.flags or len(block.instructions) > MAX_EARLY:
            return
        name, ways = block.name, self.flow.graph.predecessors
        while len(ways[name]) == 1 and self._inside(e, i, ways[name][0]):
            (name,) = ways[name]
            yield name
            if len(self.function.block[name].instructions) > MAX_EARLY:
                return

    def _fixed(self, launch: Facts, proved: set[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        """Loads inside parameters whose contents are known: nobody else has the copy that they read."""
        found = set()
        for name, n in proved:
            i = self.function.block[name].instructions[n]
            root = self.roots.root(i.operands[0]) if i.opcode == "load" and not i.ordering else None
            if root is not None and root.kind == "buffer" and launch.parameters.get(root.index):
                found.add((name, n))
        return frozenset(found)

    def _inside(self, e: Evaluator, i: Instruction, block: str) -> bool:
        found = access(i)
        if found is None:
            return False
        pointer, size = found
        root = self.roots.root(pointer)
        if root is None or root.kind == "unknown":
            return False
        at = e.at(pointer, block)
        if at is None:
            return True  # nobody gets here
        room = self.globals.get(root.name, 0) if root.name else e.room(root, self.privates)
        at = S.signed(at, 64)
        if is_matrix(i.called):
            stride = e.at(i.operands[1], block)
            if stride is None:
                return True
            rows = S.scaled(S.mul(S.Span(0, 7), S.signed(stride, 64), 64), size, 64)
            at = S.signed(S.add(at, S.add(rows, S.Span(0, 7 * size, size), 64), 64), 64)
        return at.lo >= 0 and at.hi + size <= room

    def _is_short(self, e: Evaluator, loop: Loop) -> bool:
        block = self.function.block[loop.header]
        sums = any(p.type in (FLOAT, HALF) for p in block.phis)
        if len(loop.blocks) > 1 or not (sums or any(i.opcode == "store" for i in block.body)):
            return False
        rounds = e.loops.rounds(loop)
        return rounds is not None and rounds + 1 < SHORT

    def _work(self, e: Evaluator, loop: Loop) -> float:
        """Instructions that a loop runs, each time it is entered, at most."""
        rounds = e.loops.rounds(loop)
        if rounds is None:
            return float("inf")
        total = 0.0
        for name in loop.blocks:
            inner = self.flow.forest.innermost[name]
            if inner is loop:
                total += len(self.function.block[name].instructions)
        for other in self.flow.forest.loops.values():
            if other.parent == loop.header:
                total += self._work(e, other)
        return total * (rounds + 1)


def access(i: Instruction) -> tuple[Value, int] | None:
    """The pointer and the bytes of an access."""
    if i.opcode == "load":
        return i.operands[0], scalar_bytes(i.type)
    if i.opcode == "store":
        return i.operands[1], scalar_bytes(i.operands[0].type)
    if i.opcode == "atomicrmw":
        return i.operands[0], scalar_bytes(i.operands[1].type)
    if i.opcode == "cmpxchg":
        return i.operands[0], scalar_bytes(i.operands[2].type)
    matrix = matrix_access(i.called) if i.opcode == "call" else None
    return (i.operands[0], matrix.size) if matrix else None


def _writes(i: Instruction) -> Value | None:
    found = access(i)
    return found[0] if found and effect(i) & Effect.WRITES else None


def _outputs(function: Function, roots: UnderlyingObjects) -> Mapping[int, frozenset[tuple[str, int]]]:
    """The stores of each buffer that is only stored to; none where threadgroups may talk to each other."""
    stores: dict[int, set[tuple[str, int]]] = {}
    read: set[int] = set()
    for block in function.blocks:
        for n, i in enumerate(block.instructions):
            if between_threadgroups(i):
                return {}
            found = access(i)
            root = roots.root(found[0]) if found else None
            if root is None or root.kind not in ("buffer", "unknown") or root.space != 1:
                continue
            if root.kind == "unknown":
                return {}
            if i.opcode == "store":
                stores.setdefault(root.index, set()).add((block.name, n))
            else:
                read.add(root.index)
    return {index: frozenset(places) for index, places in stores.items() if index not in read}


def read_parameters(function: Function, roots: UnderlyingObjects) -> tuple[int, ...]:
    """Buffers that nobody writes and whose whole numbers lead to addresses, conditions or rounds of loops."""
    written: set[int] = set()
    for i in function.instructions():
        target = _writes(i)
        if target is None:
            continue
        root = roots.root(target)
        if root is None or (root.kind == "unknown" and root.space not in (3, 5)):
            return ()  # it may be anywhere
        if root.kind == "buffer":
            written.add(root.index)
    found: set[int] = set()
    seen: set[str] = set()
    work = [name for i in _ends(function) for name in i]
    while work:
        name = work.pop()
        if name in seen:
            continue
        seen.add(name)
        i = function.definitions[name]
        if i.opcode == "load" and isinstance(i.type, IntType) and not i.ordering:
            root = roots.root(i.operands[0])
            if root is not None and root.kind == "buffer" and root.index not in written:
                found.add(root.index)
        work += i.uses
    return tuple(sorted(found))


def _ends(function: Function) -> Iterator[tuple[str, ...]]:
    """Names that addresses and branches are made from."""
    for i in function.instructions():
        if i.opcode == "br" or i.opcode == "getelementptr" or is_matrix(i.called):
            yield i.uses
        elif isinstance(i.type, PointerType) and i.opcode in ("phi", "select"):
            yield tuple(o.name for o in i.operands if isinstance(o, Local))
