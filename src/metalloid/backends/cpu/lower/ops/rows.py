"""Rows of a gang: `number / divisor` of its first lane, and whether it is the same in all (`transforms/one_row.py`)."""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import ROW

_POSITIVE = (1 << 31) - 1  # of signed numbers as well


def row(e: Emitter, i: Instruction) -> None:
    """Numbers are the lanes' base and a pattern that is not negative."""
    (_quotient if i.called == ROW else _same)(e, i)


def _quotient(e: Emitter, i: Instruction) -> None:
    """By a product (`arithmetic.by_one_number`): divisions of whole numbers wait for each other, and the reciprocal is
    the same for all gangs."""
    number, by = (e.get(o).base for o in i.operands)
    divisor = e.put(f"select i1 {e.put(f'icmp eq i32 {by}, 0')}, i32 1, i32 {by}")
    part = e.put(f"fdiv double 1.0, {e.put(f'uitofp i32 {divisor} to double')}")
    middle = e.put(f"fadd double {e.put(f'uitofp i32 {number} to double')}, 0.5")
    whole = e.put(f"fptoui double {e.put(f'fmul double {middle}, {part}')} to i64")
    e.set(i.name, Val("i32", e.put(f"trunc i64 {whole} to i32")))


def _same(e: Emitter, i: Instruction) -> None:
    """The test fails where a divisor is 0 or negative, or a lane leaves the positive numbers."""
    number, by, quotient = (e.get(o).base for o in i.operands)
    shape = e.shape(i.operands[0])
    assert shape is not None
    top = max(shape.pattern or (0,))
    first = e.put(f"mul i32 {quotient}, {by}")
    left = e.put(f"zext i32 {e.put(f'sub i32 {number}, {first}')} to i64")
    inside = e.put(f"icmp slt i64 {e.put(f'add i64 {left}, {top}')}, {e.put(f'sext i32 {by} to i64')}")
    end = e.put(f"add i64 {e.put(f'zext i32 {number} to i64')}, {top}")
    positive = e.put(f"icmp ule i64 {end}, {_POSITIVE}")
    e.set(i.name, Val("i1", e.put(f"and i1 {inside}, {positive}")))
