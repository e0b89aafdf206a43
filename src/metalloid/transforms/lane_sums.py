"""`total = simd_sum(x); if (lane == 0) atomic_fetch_add(out, total)` as an addition by all lanes: of `x`.

A kernel for a GPU adds up a SIMD-group first, since atomics are dear there. Here the lanes of a gang are folded where
they go to one address, and handed on from gang to gang (`cpu/lower/carried.py`); and without an operation among lanes
a gang is as wide as it had better be. The least and the greatest, and bits, likewise. All lanes have to be there, and
the address has to be the same for the whole threadgroup. The order of such a sum is open; floats are left alone where
the author does not leave it so.
"""

from __future__ import annotations

from metalloid.analysis.fixed_address import fixed_address, stays, written_buffers
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.cfg import graph
from metalloid.ir.dominance import post_dominators
from metalloid.ir.intrinsics import ENTRY, Effect, collective, effect, short
from metalloid.ir.loops import loops
from metalloid.ir.types import FloatType, PointerType
from metalloid.ir.unreachable import drop_unreachable
from metalloid.ir.values import Int, Local, Value
from metalloid.records import replace
from metalloid.transforms.drop_dead import drop_dead

# By what lanes are folded to, and of which numbers: the atomics that do the same.
ATOMICS = {
    ("sum", "f"): "fadd",
    ("sum", "i"): "add",
    ("sum", "u"): "add",
    ("max", "i"): "max",
    ("max", "u"): "umax",
    ("min", "i"): "min",
    ("min", "u"): "umin",
    **{(what, letter): what for what in ("and", "or", "xor") for letter in "iu"},
}
_DEVICE = 1
LANES = 32
_ADDRESS = frozenset("getelementptr zext sext".split())


def lane_sums(module: Module) -> Module:
    """The module with such additions by all lanes; itself where it has none."""
    function = module.function[ENTRY]
    if not any(i.opcode == "atomicrmw" for i in function.instructions()):
        return module
    made = _Lanes(function).run()
    return module if made is function else module.with_function(made)


class _Lanes:
    def __init__(self, function: Function) -> None:
        self.function, self.roots = function, UnderlyingObjects(function)
        self.written = written_buffers(function, self.roots)
        self.graph, self.forest = graph(function), loops(function)

    def run(self) -> Function:
        function = self.function
        everywhere = post_dominators(function)
        for block in function.blocks:
            sources = self.graph.predecessors.get(block.name, ())
            if len(sources) != 1 or self.forest.depth(block.name):
                continue
            (above,) = sources
            if everywhere.dominates(above, self.graph.root) and self._first_lane(above, block.name):
                function = self._moved(function, above, block.name)
        if function is self.function:
            return function
        return drop_dead(drop_unreachable(_without_empty(function)))

    def _first_lane(self, above: str, block: str) -> bool:
        """Whether the first lane of each SIMD-group, and no other, goes on to a block."""
        end = self.function.block[above].terminator
        if end.opcode != "br" or len(set(end.labels)) != 2 or not isinstance(end.operands[0], Local):
            return False
        test = self.function.definitions[end.operands[0].name]
        if short(test.called) == "simd_is_first":
            return end.labels[0] == block
        if test.opcode != "icmp" or test.predicate not in ("eq", "ne"):
            return False
        lane, number = test.operands
        zero = isinstance(number, Int) and number.value == 0 and isinstance(lane, Local)
        return zero and self._is_lane(lane) and end.labels[test.predicate == "ne"] == block

    def _is_lane(self, value: Value) -> bool:
        """Whether a number is a thread's place in its SIMD-group."""
        i, bits = self._source(value), -1
        if i.opcode == "and":
            number, mask = i.operands
            i, bits = self._source(number), mask.value if isinstance(mask, Int) else 0
        if short(i.called) == "thread_index_in_simdgroup":
            return bits % LANES == LANES - 1
        return short(i.called) == "thread_index_in_threadgroup" and bits == LANES - 1

    def _source(self, value: Value) -> Instruction:
        """What makes a number, whatever its width."""
        assert isinstance(value, Local)
        i = self.function.definitions[value.name]
        while i.opcode in ("zext", "trunc") and isinstance(i.operands[0], Local):
            i = self.function.definitions[i.operands[0].name]
        return i

    def _moved(self, function: Function, above: str, block: str) -> Function:
        """The atomics of a block that can be all lanes', at the end of the block that all lanes run."""
        moved: dict[str, Instruction] = {}
        for i in self.function.block[block].instructions:
            value = self._of_lanes(i)
            if value is not None:
                moved |= {a.name: a for a in self._address(i.operands[0], block)}
                moved[i.name] = replace(i, operands=(i.operands[0], value))
            elif effect(i) is not Effect.NONE and not stays(i, self.roots, self.written):
                # What comes behind it stays there.
                break
        if not moved:
            return function
        code = function.block[above].instructions
        blocks = {above: (*code[:-1], *moved.values(), code[-1])}
        blocks[block] = tuple(i for i in function.block[block].instructions if i.name not in moved)
        return function.with_blocks(
            tuple(Block(b.name, blocks.get(b.name, b.instructions)) for b in function.blocks)
        )

    def _of_lanes(self, i: Instruction) -> Value | None:
        """What all lanes would add, where an atomic adds what they have folded for nothing else."""
        if i.opcode != "atomicrmw" or self.function.users.get(i.name) or not isinstance(i.operands[1], Local):
            return None
        pointer, total = i.operands[0], self.function.definitions[i.operands[1].name]
        found = collective(total.called)
        if found is None or found.group != "simd" or len(self.function.users[total.name]) != 1:
            return None
        assert isinstance(pointer.type, PointerType)
        if ATOMICS.get((found.what, found.letter)) != i.predicate or pointer.type.space != _DEVICE:
            return None
        if isinstance(i.type, FloatType) and "reassoc" not in total.flags:
            return None
        home = self.function.home[total.name]
        if self.forest.depth(home) or not post_dominators(self.function).dominates(home, self.graph.root):
            return None
        return total.operands[0] if fixed_address(self.function, pointer, self.roots, self.written) else None

    def _address(self, pointer: Value, block: str) -> list[Instruction]:
        """What a block computes of an address, in order."""
        if not isinstance(pointer, Local) or self.function.home[pointer.name] != block:
            return []
        i = self.function.definitions[pointer.name]
        return [*(j for o in i.operands for j in self._address(o, block)), i]


def _without_empty(function: Function) -> Function:
    """Branches round nothing are jumps."""
    alone = [b for b in function.blocks if len(b.instructions) == 1 and len(b.successors) == 1]
    empty = {b.name: b.successors[0] for b in alone}

    def led(block: Block) -> Block:
        end = block.terminator
        ways = tuple({empty.get(label, label) for label in end.labels})
        if end.opcode != "br" or len(end.labels) < 2 or len(ways) > 1 or function.block[ways[0]].phis:
            return block
        jump = replace(end, operands=(), labels=ways, metadata=end.debug_only)
        return Block(block.name, (*block.instructions[:-1], jump))

    return function.with_blocks(tuple(led(block) for block in function.blocks))
