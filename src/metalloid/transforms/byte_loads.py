"""Neighbouring bytes of a block that are loaded one by one, as bytes of words that can be loaded instead.

A char4 comes as four loads of a byte. Where nothing is written between them and the place where their word is wanted,
and no guard has to look at each byte, one load of four bytes is the same. Of device memory only: lanes may share out
other memory in their own way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from metalloid.analysis.intervals import PROVED, is_proved
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import Effect, effect
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import I8, I32, PointerType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass, replace

BYTES, DEVICE = 4, 1  # of a word; the space of buffers


@dataclass(frozen=True)
class ByteLoads:
    """The loads of bytes of one block; `guard`: only those that are proved to be inside."""

    function: Function
    block: Block
    layout: DataLayout
    guard: bool

    @cached_property
    def _places(self) -> Mapping[str, tuple[str, int]]:
        """For each load, what it starts from and how far it is from there."""
        found = {}
        for i in self.block.instructions:
            if i.opcode == "load" and i.type == I8 and _plain(i):
                base, offset = constant_base(self.function, i.operands[0], self.layout)
                if isinstance(base, Local) and (is_proved(i) or not self.guard):
                    found[i.name] = base.name, offset
        return found

    @cached_property
    def _starts(self) -> Mapping[str, int]:
        """The first byte of all that start from one address: words are counted from there."""
        found: dict[str, int] = {}
        for base, offset in self._places.values():
            found[base] = min(offset, found.get(base, offset))
        return found

    @cached_property
    def _words(self) -> Mapping[str, Mapping[int, Instruction]]:
        """The loads of a word's bytes, by its name."""
        found: dict[str, dict[int, Instruction]] = {}
        for name in self._places:
            word, byte = self._word(name)
            found.setdefault(word, {}).setdefault(byte, self.function.definitions[name])
        return found

    def _word(self, load: str) -> tuple[str, int]:
        base, offset = self._places[load]
        word, byte = divmod(offset - self._starts[base], BYTES)
        return f"{base}.word{word}", byte

    def place(self, value: Value) -> tuple[Local, int] | None:
        """The word that a loaded byte would be of, and which of its bytes it would be; None for other values."""
        if not isinstance(value, Local) or value.name not in self._places:
            return None
        word, byte = self._word(value.name)
        return Local(word, I32), byte

    def load(self, word: Value, name: str) -> Instruction | None:
        """A load of such a word; None for other values."""
        first = self._words.get(word.name, {}).get(0) if isinstance(word, Local) else None
        if first is None:
            return None
        kept = tuple(m for m in first.metadata if m[0] in (PROVED, "dbg"))
        return replace(first, type=I32, name=name, metadata=kept)

    def may_move(self, word: Value, to: Instruction) -> bool:
        """Whether the word can be loaded where another instruction stands; other values are there anyway."""
        loads = self._words.get(word.name) if isinstance(word, Local) else None
        if loads is None:
            return True
        if len(loads) != BYTES:
            return False
        code = self.block.instructions
        first = min(code.index(i) for i in loads.values())
        return not any(effect(i) & (Effect.WRITES | Effect.ORDERS) for i in code[first : code.index(to)])


def _plain(i: Instruction) -> bool:
    pointer = i.operands[0].type
    device = isinstance(pointer, PointerType) and pointer.space == DEVICE
    return device and not i.ordering and "volatile" not in i.flags
