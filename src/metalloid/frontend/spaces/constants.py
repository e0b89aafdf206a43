"""Constants with generic pointers in them, and pointers that were numbers in between.

`(threadgroup float*)(ulong)&pool[n]` is a pointer into `pool` all the same. What has to be computed from the address of
a variable is computed once, at the start of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.frontend.spaces.generic import DEVICE, GENERIC, NOTHING, WIDE, mentions, without_generic
from metalloid.frontend.spaces.numbers import Parts, Writer, as_number
from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import I32, IntType, PointerType
from metalloid.ir.values import Expression, Int, Local, Named, Value
from metalloid.records import replace

_RESIZED = frozenset(("trunc", "zext", "sext"))


class Constants:
    """`w` writes what has to be computed, for the head of the kernel."""

    def __init__(self, function: Function, of: Callable[[Value], Parts], w: Writer) -> None:
        self.made, self.of, self.w = function.definitions, of, w
        self._computed: dict[Value, Value] = {}

    def parts(self, value: Expression) -> Parts:
        """Of a constant generic pointer."""
        if value.opcode == "addrspacecast":
            return self.cast(value.operands[0])
        if value.opcode == "getelementptr":
            base = self.of(value.operands[0])
            rest = tuple(self.plain(o) for o in value.operands[1:])
            of: dict[int, Value] = {
                s: self._expression(replace(value, type=PointerType(s)), (p, *rest))
                for s, p in base.of.items()
            }
            return Parts(base.tag, of)
        number = tuple(self.plain(o) for o in value.operands)
        return Parts(
            Int(I32, DEVICE), {DEVICE: self._expression(replace(value, type=PointerType(DEVICE)), number)}
        )

    def cast(self, value: Value) -> Parts:
        """Of a pointer whose space is known."""
        assert isinstance(value.type, PointerType)
        return Parts(Int(I32, value.type.space), {value.type.space: self.plain(value)})

    def narrowed(self, value: Value, space: int) -> Value:
        """A generic pointer as one of a space that it is known to be of."""
        parts = self.of(value)
        if space in parts.of and not isinstance(parts.of[space], Named):
            return parts.of[space]
        if space in WIDE:
            return Named(PointerType(space), "null")
        nothing = Expression("inttoptr", PointerType(space), (Int(I32, NOTHING),))
        return self._compute(nothing, nothing.operands)

    def round_trip(self, i: Instruction | Expression) -> Value | None:
        """The pointer that a number was made from, if this makes a pointer to the same space of it again."""
        assert isinstance(i.type, PointerType)
        wide = 64 if i.type.space in WIDE else 32
        here = i.operands[0]
        while (before := self._operation(here)) is not None and before[0] in _RESIZED:
            if not isinstance(here.type, IntType) or here.type.bits < wide:
                return None
            here = before[1]
        if before is None or before[0] not in ("ptrtoint", "ptrtoaddr"):
            return None
        if not isinstance(here.type, IntType) or here.type.bits < wide:
            return None
        pointer = before[1]
        if pointer.type == GENERIC:
            return self.of(pointer).of.get(i.type.space)
        return pointer if pointer.type == i.type else None

    def _operation(self, value: Value) -> tuple[str, Value] | None:
        i = self.made.get(value.name) if isinstance(value, Local) else value
        return (i.opcode, i.operands[0]) if isinstance(i, Instruction | Expression) and i.operands else None

    def plain(self, value: Value) -> Value:
        """A value that is not a generic pointer itself, without those in it."""
        if not mentions(value):
            return value
        match value:
            case Local(name, type):
                return Local(name, without_generic(type))
            case Named(type, word):
                return Named(without_generic(type), word)
            case Expression("inttoptr") if (known := self.round_trip(value)) is not None:
                return known
            case Expression("addrspacecast", PointerType(space), (operand,)) if operand.type == GENERIC:
                return self.narrowed(operand, space)
            case Expression("ptrtoint", IntType(bits), (operand,)) if operand.type == GENERIC:
                return self._address(self.of(operand), bits)
            case Expression():
                return self._expression(value, tuple(self.plain(o) for o in value.operands))
        return value

    def _address(self, parts: Parts, bits: int) -> Value:
        (space, pointer), *_ = parts.of.items()
        if not isinstance(pointer, Local) and (space in WIDE or bits <= 32):
            return Expression("ptrtoint", IntType(bits), (pointer,))  # type: ignore[arg-type]
        number = as_number(self.w, parts)
        if bits == 64:
            return number
        return self.w.put("trunc" if bits < 64 else "zext", IntType(bits), (number,))

    def _expression(self, value: Expression, operands: tuple[Value, ...]) -> Value:
        if any(isinstance(o, Local) for o in operands):
            return self._compute(value, operands)
        return replace(value, operands=operands)  # type: ignore[arg-type]

    def _compute(self, value: Expression, operands: tuple[Value, ...]) -> Value:
        key = replace(value, operands=operands)  # type: ignore[arg-type]
        if key not in self._computed:
            made = Instruction(
                value.opcode,
                value.type,
                operands,
                self.w.names.fresh("start"),
                value.flags,
                element=value.element,
            )
            self.w.code.append(made)
            self._computed[key] = made.value
        return self._computed[key]
