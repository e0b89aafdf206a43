"""Copies and fills of a known length become loads and stores: word by word where they are short, a loop where not.

A struct of 64 KiB in 16,384 loads and as many stores takes LLVM minutes; as a loop it is six instructions.
"""

from __future__ import annotations

from math import gcd

from metalloid.errors import NotVectorised
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.module import copy_alignments
from metalloid.ir.types import I1, I8, I32, I64, VOID, IntType, PointerType, Type
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass, replace

LONGEST_IN_WORDS = 128  # loads and stores; what is longer becomes a loop
_LONGEST = 1 << 31
_COPIES = ("llvm.memcpy", "llvm.memmove", "llvm.memset")


def expand_copies(function: Function) -> Function:
    """The function with loads and stores in place of copies and fills."""
    blocks: list[Block] = []
    moved: dict[str, str] = {}  # a block that was cut, and the block that has its end
    count = 0
    for block in function.blocks:
        name, made = block.name, []
        for i in block.instructions:
            if not i.called.startswith(_COPIES):
                made.append(i)
                continue
            count += 1
            copy = _Copy.of(i, f"mt.copy{count}")
            if copy.units <= LONGEST_IN_WORDS:
                made += copy.words(0)
                continue
            blocks += [Block(name, (*made, *copy.enter())), copy.loop(name)]
            name, made = copy.behind, copy.words(copy.units * copy.unit)
        blocks.append(Block(name, tuple(made)))
        if name != block.name:
            moved[block.name] = name
    return function.with_blocks(tuple(_come_from(b, moved) for b in blocks) if moved else tuple(blocks))


def _come_from(block: Block, moved: dict[str, str]) -> Block:
    """The block with the new names of those that its phis come from. Loops of copies have theirs already."""
    if not block.phis or block.name.startswith("mt.copy"):
        return block
    phis = tuple(i.relabel(moved) for i in block.phis)
    return Block(block.name, (*phis, *block.body))


@dataclass(frozen=True)
class _Copy:
    """One copy or fill: what, where, and in which units."""

    call: Instruction
    name: str
    length: int
    unit: int  # bytes

    @staticmethod
    def of(i: Instruction, name: str) -> _Copy:
        length = i.operands[2]
        if not isinstance(length, Int) or length.value >= _LONGEST:
            raise NotVectorised("[engine] a copy of a length that is only known at run time is not supported")
        fills = "memset" in i.called
        align = min(copy_alignments(i))
        # Of a move nothing may be left behind the loop: the loop may have written over it.
        whole = length.value if "memmove" in i.called else 0
        unit = next(n for n in (4, 2, 1) if align % n == 0 and whole % n == 0)
        if fills and not isinstance(i.operands[1], Int):
            unit = 1
        return _Copy(i, name, length.value, unit)

    @property
    def fills(self) -> bool:
        return "memset" in self.call.called

    @property
    def units(self) -> int:
        """Whole units; a rest of fewer bytes comes behind them."""
        return self.length // self.unit

    @property
    def behind(self) -> str:
        return f"{self.name}.rest"

    def words(self, at: int) -> list[Instruction]:
        """What lies from a place on: all loads, then all stores."""
        loads: list[Instruction] = []
        stores: list[Instruction] = []
        while at < self.length:
            size = self.unit
            while at + size > self.length:
                size //= 2
            target, *source = (gcd(align, at) or align for align in copy_alignments(self.call))
            load, value = self._value(Int(I32, at), str(at), IntType(8 * size), *source)
            loads += load
            stores += self._store(value, Int(I32, at), str(at), target)
            at += size
        return loads + stores

    # ---- as a loop --------------------------------------------------------------------------------------------

    def enter(self) -> list[Instruction]:
        """In front of the loop: which way to go, where the two may overlap."""
        made = []
        if self._overlaps:
            target, source = self.call.operands[:2]
            for side, pointer in (("to", target), ("from", source)):
                made.append(self._made("ptrtoint", I64, (pointer,), side))
            compared = self._made("icmp", I1, (made[0].value, made[1].value), "down")
            made.append(replace(compared, predicate="ugt"))
        return [*made, Instruction("br", VOID, labels=(f"{self.name}.loop",))]

    def loop(self, before: str) -> Block:
        """One unit in each iteration."""
        here, last = f"{self.name}.loop", self.unit * (self.units - 1)
        at = Local(f"{self.name}.at", I32)
        after = self._made("add", I32, (at, Int(I32, self.unit)), "next")
        phi = Instruction("phi", I32, (Int(I32, 0), after.value), at.name, labels=(before, here))
        code, place = [phi], at
        if self._overlaps:
            from_end = self._made("sub", I32, (Int(I32, last), at), "end")
            down = Local(f"{self.name}.down", I1)
            choice = self._made("select", I32, (down, from_end.value, at), "place")
            code, place = [phi, from_end, choice], choice.value
        load, value = self._value(place, "each", IntType(8 * self.unit))
        code += [*load, *self._store(value, place, "each"), after]
        more = self._made("icmp", I1, (at, Int(I32, last)), "more")
        branch = Instruction("br", VOID, (more.value,), labels=(here, self.behind))
        return Block(here, (*code, replace(more, predicate="ult"), branch))

    @property
    def _overlaps(self) -> bool:
        """Whether the two may share bytes: what is private shares none with a buffer."""
        target, source = self.call.operands[:2]
        if "memmove" not in self.call.called:
            return False
        assert isinstance(target.type, PointerType) and isinstance(source.type, PointerType)
        return target.type.space == source.type.space

    # ---- instructions -------------------------------------------------------------------------------------------

    def _value(self, at: Value, which: str, kind: Type, align: int = 1) -> tuple[list[Instruction], Value]:
        source = self.call.operands[1]
        if self.fills:
            if not isinstance(source, Int):
                return [], source
            assert isinstance(kind, IntType)
            size = kind.bits // 8
            return [], Int(kind, int.from_bytes(bytes([source.value & 255]) * size, "little"))
        place = self._address(source, at, f"s{which}")
        load = self._made("load", kind, (place.value,), f"v{which}")
        assert isinstance(kind, IntType)
        return [place, replace(load, align=max(align, kind.bits // 8))], load.value

    def _store(self, value: Value, at: Value, which: str, align: int = 1) -> list[Instruction]:
        place = self._address(self.call.operands[0], at, f"t{which}")
        assert isinstance(value.type, IntType)
        align = max(align, value.type.bits // 8)
        store = Instruction("store", self.call.type, (value, place.value), align=align)
        return [place, replace(store, metadata=self.call.debug_only)]

    def _address(self, base: Value, at: Value, which: str) -> Instruction:
        return replace(self._made("getelementptr", base.type, (base, at), which), element=I8)

    def _made(self, opcode: str, type: Type, operands: tuple[Value, ...], which: str) -> Instruction:
        name = f"{self.name}.{which}"
        return Instruction(opcode, type, operands, name, metadata=self.call.debug_only)
