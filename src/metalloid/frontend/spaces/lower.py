"""Generic pointers become tags and pointers of known spaces, instruction by instruction.

An access through a pointer of several spaces keeps its generic operand: `split` writes it once for each space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metalloid.frontend.spaces.constants import Constants
from metalloid.frontend.spaces.generic import DEVICE, GENERIC, WORDLESS, mentions, without_generic
from metalloid.frontend.spaces.numbers import Parts, Writer
from metalloid.frontend.spaces.sets import Spaces
from metalloid.ir.build import FunctionBuilder
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.types import I32, PointerType
from metalloid.ir.values import Expression, Int, Local, Named, Value, poison
from metalloid.records import replace

Make = Callable[["Lowering", Instruction], None]


class Lowering:
    """A function on its way; `parts` are its generic pointers, `choices` the phis and selects made for them."""

    def __init__(self, function: Function, spaces: Spaces, makers: Mapping[str, Make]) -> None:
        self.before, self.spaces, self.makers = function, spaces, makers
        taken = [i.name for i in function.instructions() if i.name] + [b.name for b in function.blocks]
        self.names = FunctionBuilder("", taken=taken)
        self.parts: dict[str, Parts] = {}
        self.choices: set[str] = set()
        self.values: dict[str, Value] = {}  # what stands for a name
        self.w = Writer(self.names)
        self.constants = Constants(function, self.of, Writer(self.names))

    def function(self) -> Function:
        blocks = []
        for block in self.before.blocks:
            self.w.code = []
            for i in block.instructions:
                self._lower(i)
            blocks.append(Block(block.name, tuple(self.w.code)))
        first = blocks[0].instructions
        start = next((n for n, i in enumerate(first) if i.opcode != "alloca"), 0)
        head = (*first[:start], *self.constants.w.code, *first[start:])
        blocks[0] = Block(blocks[0].name, head)
        self.parts = {name: self._final(parts) for name, parts in self.parts.items()}
        made = self.before.with_blocks(tuple(blocks))
        return made.map_instructions(lambda i: i.map_operands(self._valued))

    def _valued(self, value: Value) -> Value:
        while isinstance(value, Local) and value.name in self.values:
            value = self.values[value.name]
        return value

    def _final(self, parts: Parts) -> Parts:
        return Parts(self._valued(parts.tag), {s: self._valued(v) for s, v in parts.of.items()})

    def of(self, value: Value) -> Parts:
        """The parts of a generic pointer; of one that is made later, under the names they will have."""
        match value:
            case Local(name):
                if name not in self.parts:
                    self.parts[name] = self._named(self.before.definitions[name])
                return self.parts[name]
            case Named(_, "undef" | "poison"):
                return Parts(poison(I32), {})
            case Expression():
                return self.constants.parts(value)
            case _:
                return Parts(Int(I32, DEVICE), {DEVICE: Named(PointerType(DEVICE), "null")})

    def _named(self, i: Instruction) -> Parts:
        if i.opcode == "addrspacecast":
            return self.constants.cast(i.operands[0])
        spaces = sorted(self.spaces.of[i.name])
        of: dict[int, Value] = {s: Local(self.names.fresh(f"{i.name}.{s}"), PointerType(s)) for s in spaces}
        if len(spaces) == 1:
            return Parts(Int(I32, spaces[0]), of)
        if i.opcode == "getelementptr":
            return Parts(self.of(i.operands[0]).tag, of)
        return Parts(Local(self.names.fresh(f"{i.name}.space"), I32), of)

    def _lower(self, i: Instruction) -> None:
        self.w.metadata = i.debug_only
        if i.called.startswith(WORDLESS) and any(mentions(o) for o in i.operands):
            return
        make = self.makers.get(i.opcode)
        if make is not None and (i.type == GENERIC or any(o.type == GENERIC for o in i.operands)):
            make(self, replace(i, operands=tuple(self._plain(o) for o in i.operands)))
            return
        if i.opcode == "inttoptr" and (known := self.constants.round_trip(i)) is not None:
            self.values[i.name] = known
            return
        changed = i.map_operands(lambda o: self.operand(i, o))
        type = without_generic(changed.type)
        self.w.code.append(changed if type is changed.type else replace(changed, type=type))

    def _plain(self, value: Value) -> Value:
        return value if value.type == GENERIC else self.constants.plain(value)

    def operand(self, i: Instruction, value: Value) -> Value:
        """An address that is of one space is that pointer; of several, it waits for `split`."""
        if value is i.callee or not mentions(value):
            return value
        if value.type != GENERIC:
            return self.constants.plain(value)
        parts = self.of(value)
        return next(iter(parts.of.values()), poison(PointerType(DEVICE))) if len(parts.of) < 2 else value

    def defined(self, i: Instruction, made: Parts) -> None:
        """What was made stands for the names that were promised."""
        promised = self.of(i.value)
        pairs = [(promised.tag, made.tag), *((p, made.of[s]) for s, p in promised.of.items())]
        self.values |= {name.name: value for name, value in pairs if isinstance(name, Local)}

    def append(self, i: Instruction, value: Value, operands: tuple[Value, ...]) -> None:
        """The instruction again, for a tag or a part."""
        if isinstance(value, Local):
            self.w.code.append(replace(i, type=value.type, operands=operands, name=value.name))
            self.choices.add(value.name)
