"""Counters that a run of threadgroups keeps for itself.

A histogram adds to a few counters of device memory that nobody looks at meanwhile. An atomic addition takes as long as
a dozen plain ones, so one call, which runs several threadgroups of a row, counts in a table of its own beside its
threadgroup memory, and adds what it has counted at the end. Whole numbers come to the same in any order.
"""

from __future__ import annotations

from metalloid.analysis.counted import at_most
from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import is_proved
from metalloid.analysis.lane_layout import Triple
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.cpu import abi
from metalloid.ir import Function, Instruction
from metalloid.ir.gep import steps
from metalloid.ir.intrinsics import BUFFER
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import IntType, PointerType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass

MOST = 4096  # bytes of a table
EACH = 4  # counters for each addition of a threadgroup, at most: all are looked at in the end
ROUNDS = 8  # of a loop, as long as nobody knows


@dataclass(frozen=True)
class CountTable:
    """The counters of one buffer: where they stand in the threadgroup's memory, how many, and their bits."""

    buffer: int
    offset: int
    count: int
    bits: int

    @property
    def end(self) -> int:
        return self.offset + self.count * self.bits // 8


def count_tables(
    function: Function,
    roots: UnderlyingObjects,
    layout: DataLayout,
    size: Triple,
    guarded: bool,
    start: int,
) -> dict[int, CountTable]:
    """The tables of a kernel that only counts, by buffer, from the byte `start` on. `size`: of its threadgroups."""
    bytes_of: dict[int, int] = {}
    bits_of: dict[int, int] = {}
    rounds_of: dict[int, int] = {}
    left_out: set[int] = set()
    flow = Flow(function)
    for block, i in ((b.name, i) for b in function.blocks for i in b.instructions):
        for value in (o for o in i.operands if isinstance(o.type, PointerType)):
            root = roots.root(value)
            if root is None or root.kind == "unknown":
                return {}
            if root.kind != "buffer" or i.opcode == "getelementptr":
                continue
            bits = _adds(i, value, guarded)
            highest = _highest(flow, size, layout, value, block) if bits else None
            if highest is None or bits_of.setdefault(root.index, bits) != bits or highest % (bits // 8):
                left_out.add(root.index)
            else:
                bytes_of[root.index] = max(bytes_of.get(root.index, 0), highest + bits // 8)
                rounds = ROUNDS ** min(flow.forest.depth(block), 2)
                rounds_of[root.index] = rounds_of.get(root.index, 0) + rounds
    threads = size[0] * size[1] * size[2]
    found: dict[int, CountTable] = {}
    for index, length in sorted(bytes_of.items()):
        count = length // (bits_of[index] // 8)
        if index not in left_out and length <= MOST and count <= EACH * threads * rounds_of[index]:
            start = -(-start // 16) * 16
            found[index] = CountTable(index, start, count, bits_of[index])
            start = found[index].end
    return found


def _adds(i: Instruction, pointer: Value, guarded: bool) -> int:
    """The bits of what an instruction adds to memory atomically, if that is all it does; 0 where it is not."""
    if i.opcode != "atomicrmw" or i.predicate != "add" or i.operands[0] != pointer:
        return 0
    kind = i.operands[1].type
    whole = isinstance(kind, IntType) and kind.bits in (32, 64) and (is_proved(i) or not guarded)
    return kind.bits if isinstance(kind, IntType) and whole else 0


def _highest(flow: Flow, threads: Triple, layout: DataLayout, pointer: Value, block: str) -> int | None:
    """How far from the start of its buffer a pointer can be; None where that is not known."""
    if not isinstance(pointer, Local):
        return None
    i = flow.function.definitions[pointer.name]
    if i.called == BUFFER:
        return 0
    if i.opcode != "getelementptr" or i.element is None:
        return None
    total = _highest(flow, threads, layout, i.operands[0], block)
    for index, size in steps(layout, i.element, i.operands[1:]):
        most = 1 if index is None else at_most(flow, threads, index, block)
        if total is None or most is None or most * size > MOST:
            return None
        total += most * size
    return total


def cleared(tables: dict[int, CountTable]) -> list[str]:
    """Zeros, at the start of a call."""
    lines = []
    for n, t in tables.items():
        lines += [
            f"  %counts{n} = getelementptr i8, ptr %tg, i64 {t.offset}",
            f"  call void @llvm.memset.p0.i64(ptr align 16 %counts{n}, i8 0, i64 {t.end - t.offset}, i1 false)",
        ]
    return lines


def added(tables: dict[int, CountTable], before: str) -> list[str]:
    """At the end of a call, behind the block `before`: what was counted goes to the buffers. Ends in a return."""
    lines: list[str] = []
    for n, t in tables.items():
        kind, size = f"i{t.bits}", t.bits // 8
        lines += [
            f"  %bins.at{n} = getelementptr i8, ptr %launch, i64 {abi.BUFFERS + 8 * n}",
            f"  %bins{n} = load ptr, ptr %bins.at{n}",
            f"  br label %counted{n}",
            f"counted{n}:",
            f"  %k{n} = phi i64 [ 0, %{before} ], [ %k{n}.next, %counted{n}.next ]",
            f"  %own.at{n} = getelementptr {kind}, ptr %counts{n}, i64 %k{n}",
            f"  %own.count{n} = load {kind}, ptr %own.at{n}, align {size}",
            f"  %some{n} = icmp ne {kind} %own.count{n}, 0",
            f"  br i1 %some{n}, label %counted{n}.add, label %counted{n}.next",
            f"counted{n}.add:",
            f"  %bin{n} = getelementptr {kind}, ptr %bins{n}, i64 %k{n}",
            f"  %old.count{n} = atomicrmw add ptr %bin{n}, {kind} %own.count{n} monotonic, align {size}",
            f"  br label %counted{n}.next",
            f"counted{n}.next:",
            f"  %k{n}.next = add i64 %k{n}, 1",
            f"  %more.counts{n} = icmp ult i64 %k{n}.next, {t.count}",
            f"  br i1 %more.counts{n}, label %counted{n}, label %counted{n}.done",
            f"counted{n}.done:",
        ]
        before = f"counted{n}.done"
    return [*lines, "  ret void"]
