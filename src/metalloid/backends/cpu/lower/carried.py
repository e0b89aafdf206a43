"""Which numbers all gangs add to, so that sums of them are handed on from gang to gang: `ops/carried_sums.py`."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.analysis.fixed_address import Key, Per, fixed_address, written_buffers
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.cpu.lower.ops.memory_orders import order
from metalloid.backends.cpu.own_copy import OwnCopy
from metalloid.ir import Function, Instruction
from metalloid.ir.layout import scalar_bytes
from metalloid.records import dataclass, replace
from metalloid.targets import TargetInfo

MOST = 4  # addresses
REGISTERS = 4  # of all of them
ADDS = ("add", "fadd")
LINE = 64


@dataclass(frozen=True)
class CarriedSum:
    """The sums of one address: a vector of them, behind it one number that lanes alone add to, the place in the
    buffer, and whether anything was added."""

    at: int  # in the memory of all of them
    kind: str
    size: int  # bytes of a number
    lanes: int
    buffer: int
    per: Per
    order: str  # of the addition to memory, in LLVM's words

    @property
    def one(self) -> int:
        return self.at + -(-self.lanes * self.size // LINE) * LINE

    @property
    def place(self) -> int:
        return self.one + 8

    @property
    def any(self) -> int:
        return self.one + 16

    @property
    def end(self) -> int:
        return self.one + LINE

    @property
    def row(self) -> str:
        return f"<{self.lanes} x {self.kind}>"

    @property
    def add(self) -> str:
        return "fadd" if self.kind == "float" else "add"


@dataclass(frozen=True)
class CarriedSums:
    """Of a kernel, by the keys of their addresses."""

    by_key: dict[Key, CarriedSum]
    written: frozenset[int]

    @property
    def size(self) -> int:
        """Bytes of all."""
        return max((s.end for s in self.by_key.values()), default=0)

    def per(self, whose: Per) -> list[CarriedSum]:
        return [s for s in self.by_key.values() if s.per == whose]

    def of(self, function: Function, roots: UnderlyingObjects, i: Instruction) -> CarriedSum | None:
        """Where an atomic addition adds to; None where it goes to memory."""
        if i.predicate not in ADDS or not self.by_key:
            return None
        found = fixed_address(function, i.operands[0], roots, self.written)
        return self.by_key.get(found.key) if found is not None else None


NONE = CarriedSums({}, frozenset())


def carried_sums(
    function: Function,
    roots: UnderlyingObjects,
    copies: Mapping[int, OwnCopy],
    lanes: LaneLayout,
    target: TargetInfo,
    counts: bool,
) -> CarriedSums:
    """The sums of a kernel that gangs hand on: of buffers that threads may have copies of. `counts`: it does nothing
    else to the device's memory."""
    written = written_buffers(function, roots) if copies else None
    if written is None:
        return NONE
    found: dict[Key, CarriedSum] = {}
    for i in function.instructions():
        root = roots.root(i.operands[0]) if i.opcode == "atomicrmw" and i.predicate in ADDS else None
        if root is None or root.kind != "buffer" or root.index not in copies:
            continue
        made = fixed_address(function, i.operands[0], roots, written)
        if made is None or (made.per == "threadgroup" and lanes.single_gang):
            continue
        kind, size = copies[root.index].kind, scalar_bytes(i.operands[1].type)
        tail = order("atomicrmw", i.operands[0], counts)
        found.setdefault(made.key, CarriedSum(0, kind, size, 0, root.index, made.per, tail))
    if len(found) > MOST:
        return NONE
    at = 0
    for key, one in found.items():
        room = max(1, REGISTERS // 2 // len(found)) * target.vector_bytes
        found[key] = replace(one, at=at, lanes=min(lanes.width, room // one.size))
        at = found[key].end
    return CarriedSums(found, written)
