"""Rows of a gang (`transforms/one_row.py`): `number / divisor` of its first and last lane, whether it is the same in
all, whether there are few, and whether all numbers are between two others."""

from __future__ import annotations

from collections.abc import Callable

from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import BETWEEN, FEW_ROWS, GIVEN_ROW, LAST_ROW, ROW, SAME_ROW
from metalloid.ir.values import Int

_POSITIVE = (1 << 31) - 1  # of signed numbers as well


def row(e: Emitter, i: Instruction) -> None:
    """Numbers are the lanes' base and a pattern that is not negative."""
    _KINDS[i.called](e, i)


def _first(e: Emitter, i: Instruction) -> None:
    number = e.get(i.operands[0]).base
    assert number is not None
    e.set(i.name, Val("i32", _quotient(e, number, i)))


def _last(e: Emitter, i: Instruction) -> None:
    number = e.put(f"add i32 {e.get(i.operands[0]).base}, {_top(e, i)}")
    e.set(i.name, Val("i32", _quotient(e, number, i)))


def _top(e: Emitter, i: Instruction) -> int:
    """How far the highest lane is above the first."""
    shape = e.shape(i.operands[0])
    assert shape is not None
    return max(shape.pattern or (0,))


def _quotient(e: Emitter, number: str, i: Instruction) -> str:
    """By a product (`arithmetic.by_one_number`): divisions of whole numbers wait for each other, and the reciprocal is
    the same for all gangs."""
    by = e.get(i.operands[1]).base
    divisor = e.put(f"select i1 {e.put(f'icmp eq i32 {by}, 0')}, i32 1, i32 {by}")
    part = e.put(f"fdiv double 1.0, {e.put(f'uitofp i32 {divisor} to double')}")
    middle = e.put(f"fadd double {e.put(f'uitofp i32 {number} to double')}, 0.5")
    whole = e.put(f"fptoui double {e.put(f'fmul double {middle}, {part}')} to i64")
    return e.put(f"trunc i64 {whole} to i32")


def _same(e: Emitter, i: Instruction) -> None:
    """The test fails where a divisor is 0 or negative, or a lane leaves the positive numbers."""
    number, by, quotient = (e.get(o).base for o in i.operands)
    first = e.put(f"mul i32 {quotient}, {by}")
    left = e.put(f"zext i32 {e.put(f'sub i32 {number}, {first}')} to i64")
    inside = e.put(f"icmp slt i64 {e.put(f'add i64 {left}, {_top(e, i)}')}, {e.put(f'sext i32 {by} to i64')}")
    e.set(i.name, Val("i1", e.put(f"and i1 {inside}, {_positive(e, i)}")))


def _few(e: Emitter, i: Instruction) -> None:
    """Whether rows are so long that the lanes are in three at most; fails where `_same` does."""
    by = e.get(i.operands[1]).base
    long = e.put(f"icmp sge i32 {by}, {max(1, _top(e, i) // 2)}")
    e.set(i.name, Val("i1", e.put(f"and i1 {long}, {_positive(e, i)}")))


def _positive(e: Emitter, i: Instruction) -> str:
    """Whether the numbers of all lanes are."""
    end = e.put(f"add i64 {e.put(f'zext i32 {e.get(i.operands[0]).base} to i64')}, {_top(e, i)}")
    return e.put(f"icmp ule i64 {end}, {_POSITIVE}")


def _between(e: Emitter, i: Instruction) -> None:
    """As signed numbers, of which none goes round on the way from the first lane to the highest."""
    number = e.get(i.operands[0]).base
    low, high = (e.scalar(o) for o in i.operands[1:])
    if number is None:
        e.set(i.name, Val("i1", "false"))
        return
    last = e.put(f"add i32 {number}, {_top(e, i)}")
    tests = (f"sge i32 {last}, {number}", f"sge i32 {number}, {low}", f"sle i32 {last}, {high}")
    found = "true"
    for test in tests:
        found = e.put(f"and i1 {found}, {e.put(f'icmp {test}')}")
    e.set(i.name, Val("i1", found))


def _given(e: Emitter, i: Instruction) -> None:
    """An argument of the gang's function (`lower/row_gangs.py`)."""
    (number,) = i.operands
    assert isinstance(number, Int)
    e.set(i.name, Val(str(i.type), f"%row.{number.value}"))


_KINDS: dict[str, Callable[[Emitter, Instruction], None]] = {
    ROW: _first,
    LAST_ROW: _last,
    SAME_ROW: _same,
    FEW_ROWS: _few,
    BETWEEN: _between,
    GIVEN_ROW: _given,
}
