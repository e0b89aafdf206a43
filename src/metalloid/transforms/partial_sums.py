"""Sums that a loop adds up one by one, as several sums at once: s += a[i] becomes s0 += a[i], s1 += a[i + 1], ...
What is said of sums holds for all folds (`folds.py`): the greatest and the least of many are found in the same way.

Where the author lets sums be reordered, a loop of one lane is to fill registers. LLVM would do that as well, but which
loops it takes, and in what order it adds, depends on what else stands in them: a guard is enough to change the last
bits. Done here, from the loop's form alone, the order is part of the program, and all code of a kernel has the same.

Which loops these are is said here; `split_sums.py` writes them.
"""

from __future__ import annotations

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.loops import Loop, loops
from metalloid.ir.types import PTR, FloatType, Type
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.records import dataclass, replace
from metalloid.transforms.folds import step_from

TOTAL = "llvm.partial.total"  # of sums, by halves; the engine's own
_COUNTS_UP = {"eq": "", "ne": "", "ult": "ult", "slt": "slt", "ugt": "ult", "sgt": "slt"}


@dataclass(frozen=True)
class Row:
    """A loop of one block that adds up sums."""

    header: str
    outside: str  # the block before it
    behind: str  # the block that it leaves to
    sums: tuple[str, ...]  # phis
    kinds: tuple[str, ...]  # of folds, one for each sum
    counter: str  # the phi that says when it ends
    step: int
    limit: Value
    order: str  # "ult" or "slt": as long as the counter is below the limit; "": until it is the limit
    tag: str = ""  # of its names, where it is split a second time

    def split(self) -> str:
        """The name of the loop that runs many rounds at once."""
        return f"{self.header}.many{self.tag}"


def total_of(kind: str, type: Type, parts: tuple[Value, ...], name: str, like: Instruction) -> Instruction:
    """Parts folded into one, by halves; `like` says where that stands in the source."""
    callee = Global(f"{TOTAL}.{kind}.{type}", PTR)
    return Instruction("call", type, parts, name, callee=callee, metadata=like.debug_only)


def kind_of(total: Instruction) -> str:
    return total.called.removeprefix(TOTAL).split(".")[1]


def is_total(i: Instruction) -> bool:
    return i.opcode == "call" and i.called.startswith(TOTAL)


def rows(function: Function) -> tuple[Row, ...]:
    """The loops whose sums may be split."""
    forest = loops(function)
    return tuple(row for loop in forest.loops.values() if (row := row_of(function, loop)) is not None)


def row_of(function: Function, loop: Loop) -> Row | None:
    row, block = around(function, loop), function.block[loop.header]
    floats = [phi for phi in block.phis if isinstance(phi.type, FloatType)]
    sums = {phi.name: kind for phi in floats if (kind := sum_kind(function, block, phi))}
    return replace(row, sums=tuple(sums), kinds=tuple(sums.values())) if row and sums else None


def around(function: Function, loop: Loop) -> Row | None:
    """A loop of one block that ends by a counter, whatever it is for."""
    block = function.block[loop.header]
    if loop.blocks != {loop.header} or len(loop.exits) != 1:
        return None
    sources = {s for phi in block.phis for s in phi.labels} - {loop.header}
    end = block.terminator
    if len(sources) != 1 or end.opcode != "br" or len(end.labels) != 2:
        return None
    outside, behind = sources.pop(), loop.exits[0][1]
    into = function.block[outside].terminator.labels
    if into.count(loop.header) != 1 or behind == loop.header:
        return None
    counted = counter_of(function, block)
    return Row(loop.header, outside, behind, (), (), *counted) if counted else None


def counter_of(function: Function, block: Block) -> tuple[str, int, Value, str] | None:
    """The counter that the loop ends by, its step, the limit and how both are compared."""
    end = block.terminator
    asked = end.operands[0] if len(end.labels) == 2 else None
    test = function.definitions.get(asked.name) if isinstance(asked, Local) else None
    if test is None or test.opcode != "icmp" or function.home[test.name] != block.name:
        return None
    stays, left, right = end.labels[0] == block.name, *test.operands
    predicate = test.predicate
    if predicate in ("ugt", "sgt"):
        left, right = right, left
    if predicate not in _COUNTS_UP or stays is (predicate == "eq"):
        return None
    if isinstance(right, Local) and function.home.get(right.name) == block.name:
        return None
    for phi in block.phis:
        added = _back(function, block, phi)
        if added is None or added.value != left or added.opcode != "add" or added.operands[0] != phi.value:
            continue
        step, order = added.operands[1], _COUNTS_UP[predicate]
        if isinstance(step, Int) and (step.signed == 1 or (order and 0 < step.signed <= 64)):
            return phi.name, step.signed, right, order
    return None


def _back(function: Function, block: Block, phi: Instruction) -> Instruction | None:
    """What makes a phi's next value, if the loop itself does."""
    value = next((v for v, source in phi.cases if source == block.name), None)
    if not isinstance(value, Local) or function.home.get(value.name) != block.name:
        return None
    return function.definitions[value.name]


def counted(function: Function, loop: Loop) -> tuple[str, str, Value] | None:
    """Of a loop of one block that counts up by one until it is at its limit: the block before it, the counter, the
    limit."""
    block = function.block[loop.header]
    if loop.blocks != {loop.header} or len(loop.exits) != 1 or len(block.terminator.labels) != 2:
        return None
    sources = {s for phi in block.phis for s in phi.labels} - {loop.header}
    found = counter_of(function, block)
    if found is None or len(sources) != 1:
        return None
    counter, step, limit, order = found
    return None if order or step != 1 else (sources.pop(), counter, limit)


def ends_by_count(function: Function, header: str) -> bool:
    """Whether a loop of one block ends when a counter gets to a limit."""
    block = function.block[header]
    return counter_of(function, block) is not None


def sum_kind(function: Function, block: Block, phi: Instruction) -> str:
    """The kind of fold, where a phi only has numbers folded into it, in an order that the author leaves to us, or that
    does not matter; else ""."""
    made = _back(function, block, phi)
    at, kind = phi, ""
    while made is not None and at.name != made.name:
        step = step_from(function, at.value)
        if (
            step is None
            or (kind and step.kind != kind)
            or any(function.home[i.name] != block.name for i in step.parts)
        ):
            return ""
        at, kind = step.made, step.kind
    behind = next(label for label in block.terminator.labels if label != block.name)
    free = all(i in (phi, *function.block[behind].phis) for i in function.users.get(at.name, ()))
    return kind if free else ""
