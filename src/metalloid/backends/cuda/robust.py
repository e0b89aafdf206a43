"""Accesses that are left out where they are outside: reads find zeros, writes go where nobody reads.

A GPU stops for good at a wrong address, so the address is exchanged before the access; there is no branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from metalloid.backends.cuda.guards import I1, Guards
from metalloid.backends.cuda.record import LAUNCH, SPARE
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import matrix_access, short
from metalloid.ir.types import I8, I32, I64, VOID, ArrayType, PointerType
from metalloid.ir.values import Int, Local, Named, Value

_SPARE = Local("mt.spare", PointerType(0))  # a thread's own, for its private arrays


class Robust(Guards):
    """The second half of a guard in a launch that goes on."""

    spares = False  # whether threadgroup memory has such a place
    private_spare = False

    def instead(self, i: Instruction, made: Iterable[Instruction]) -> Iterator[Instruction]:
        """An access whose guard came before, and the code for it: with another address where it is outside."""
        assert self.fine is not None
        if matrix_access(i.called) is not None:
            yield self.call(f"mtd_{short(i.called)}_where", i.type, *i.operands, self.fine, into=i.name)
            return
        pointer, write = (i.operands[1], True) if i.opcode == "store" else (i.operands[0], i.opcode != "load")
        yield from self._exchanged(pointer, write, made, i)

    def _exchanged(
        self, pointer: Value, write: bool, made: Iterable[Instruction], i: Instruction
    ) -> Iterator[Instruction]:
        assert self.fine is not None and isinstance(pointer.type, PointerType)
        type_ = LAUNCH.type if self.inlined(pointer) is not None else pointer.type
        assert isinstance(type_, PointerType)
        held: Value = Local(pointer.name, type_) if isinstance(pointer, Local) else pointer
        spare, chosen = Local(self.name("spare"), type_), Local(self.name("chosen"), type_)
        yield from self._place(spare, write)
        yield Instruction("select", type_, (self.fine, held, spare), chosen.name)
        returns = i.opcode in ("atomicrmw", "cmpxchg")
        for one in made:
            operands = tuple(chosen if o == held else o for o in one.operands)
            name = self.name("old") if returns and one.name == i.name else one.name
            yield replace(one, operands=operands, name=name)
            if name != one.name:
                zero = Named(i.type, "zeroinitializer")
                yield Instruction("select", i.type, (self.fine, Local(name, i.type), zero), i.name)

    def _place(self, spare: Local, write: bool) -> Iterator[Instruction]:
        """Where an access of an address space goes instead."""
        assert isinstance(spare.type, PointerType)
        where = Int(I1, int(write))
        match spare.type.space:
            case 1:
                yield self.call("mtd_spare_device", spare.type, where, LAUNCH, into=spare.name)
            case 3:
                self.spares = True
                yield self.call("mtd_spare_threadgroup", spare.type, where, into=spare.name)
            case 5:
                self.private_spare = True
                at = self.name("at")
                index = Int(I64, SPARE if write else 0)
                yield Instruction("getelementptr", _SPARE.type, (_SPARE, index), at, element=I8)
                yield Instruction("addrspacecast", spare.type, (Local(at, _SPARE.type),), spare.name)
            case _:  # an argument in the launch
                at = self.name("at")
                yield self.call("mtd_spare_device", PointerType(1), where, LAUNCH, into=at)
                yield Instruction("addrspacecast", spare.type, (Local(at, PointerType(1)),), spare.name)

    def private_place(self) -> Iterator[Instruction]:
        """The thread's own place, made at its start."""
        if self.private_spare:
            room = ArrayType(2 * SPARE, I8)
            yield Instruction("alloca", _SPARE.type, (), _SPARE.name, element=room, align=16)
            yield self.call("mtd_clear_private", VOID, _SPARE, Int(I32, 2 * SPARE))
