"""Elements of matrices that lanes read from memory, where they may as well read those of other lanes.

Tensor cores want elements in other lanes than Metal has them in. Where every lane may read what any lane reads, an
address goes to another lane once, before a loop, instead of each element in every round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metalloid.backends.cuda.tiles import Pair
from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import MATRIX_LOADS, pure
from metalloid.ir.layout import scalar_bytes
from metalloid.ir.types import I32, PointerType
from metalloid.ir.values import Int, Local, Value

THREADGROUP = PointerType(3)


@dataclass(frozen=True)
class Elements:
    """Two elements at constant distances from an address."""

    base: Local
    offsets: tuple[Int, Int]
    last: str  # the load that comes second


class OtherLanes:
    """`full` knows blocks that all lanes come to, `inside` accesses that every lane may make."""

    def __init__(
        self, function: Function, full: Callable[[str], bool], inside: Callable[[Instruction], bool]
    ) -> None:
        self._function, self._full, self._inside = function, full, inside

    def last(self, pair: Pair) -> str:
        """Which of two values of one block is made last."""
        return self._in_order(pair)[-1]

    def first(self, pair: Pair) -> str:
        return self._in_order(pair)[0]

    def _in_order(self, pair: Pair) -> list[str]:
        names = {v.name for v in pair if isinstance(v, Local)}
        block = self._function.block[self._function.home[next(iter(names))]]
        return [i.name for i in block.instructions if i.name in names]

    def matrix(self, pair: Pair) -> Instruction | None:
        """The load of a matrix that two elements are the halves of a word of."""
        low, high = (self._word(v) for v in pair)
        shifted = self._made(high) if high is not None else None
        if low is None or shifted is None or shifted.opcode != "lshr" or shifted.operands[0] != low:
            return None
        load = self._made(low)
        if load is None or not load.called.startswith(f"{MATRIX_LOADS}b16_"):
            return None
        whole = isinstance(shifted.operands[1], Int) and self._full(self._function.home[load.name])
        return load if whole and self._inside(load) else None

    def elements(self, pair: Pair) -> Elements | None:
        """Two loads from threadgroup memory, next to each other in time."""
        loads = [self._made(v) for v in pair]
        found = [self.address(i.operands[0]) for i in loads if i is not None and self._plain(i)]
        if (
            len(found) != 2
            or found[0][0] != found[1][0]
            or not self._full(self._function.home[found[0][0].name])
        ):
            return None
        last = self.last(pair)
        return Elements(found[0][0], (found[0][1], found[1][1]), last) if self._unchanged(pair) else None

    def _plain(self, i: Instruction) -> bool:
        here = i.opcode == "load" and i.operands[0].type == THREADGROUP and scalar_bytes(i.type) == 2
        return here and not i.ordering and "volatile" not in i.flags and self._inside(i)

    def address(self, pointer: Value) -> tuple[Local, Int]:
        """An address as one that is none at a constant distance, and the distance in bytes."""
        offset = 0
        while (made := self._made(pointer)) is not None and made.opcode == "getelementptr":
            if len(made.operands) != 2 or not isinstance(made.operands[1], Int) or made.element is None:
                break
            if not isinstance(made.operands[0], Local):
                break
            offset += made.operands[1].signed * scalar_bytes(made.element)
            pointer = made.operands[0]
        assert isinstance(pointer, Local)
        return pointer, Int(I32, offset)

    def _unchanged(self, pair: Pair) -> bool:
        """Whether nobody writes memory between two loads."""
        names = {v.name for v in pair if isinstance(v, Local)}
        block = self._function.block[self._function.home[next(iter(names))]]
        places = [n for n, i in enumerate(block.instructions) if i.name in names]
        return not any(writes(i) for i in block.instructions[places[0] : places[1]])

    def _made(self, value: Value) -> Instruction | None:
        return self._function.definitions.get(value.name) if isinstance(value, Local) else None

    def _word(self, value: Value) -> Value | None:
        """The word whose low half a number is."""
        for opcode in ("bitcast", "trunc"):
            made = self._made(value)
            if made is None or made.opcode != opcode:
                return None
            value = made.operands[0]
        return value if value.type == I32 else None


def writes(i: Instruction) -> bool:
    """Whether memory may be another after an instruction: it writes, or others may have written meanwhile."""
    return i.opcode in ("store", "atomicrmw", "cmpxchg", "fence") or (i.opcode == "call" and not pure(i))
