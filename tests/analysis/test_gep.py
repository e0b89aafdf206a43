"""How far a getelementptr moves, against the layout that C gives the same struct."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalloid.ir import Function, read
from metalloid.ir.gep import constant_base, constant_offset, distances, steps
from metalloid.ir.layout import DataLayout
from metalloid.ir.values import Int, Local

LAYOUT = DataLayout()


class Row(ctypes.Structure):
    _fields_ = (("tag", ctypes.c_uint8), ("numbers", ctypes.c_uint32 * 5), ("half", ctypes.c_uint16 * 3))


ROW = "{ i8, [5 x i32], [3 x i16] }"


def function(code: str) -> Function:
    return read(f"define void @f(ptr %p, i32 %n, i64 %m) {{\n{code}\n  ret void\n}}\n").function["f"]


@given(row=st.integers(-9, 9), number=st.integers(-7, 7))
def test_fields_of_an_array_of_structs(row: int, number: int) -> None:
    f = function(f"  %a = getelementptr {ROW}, ptr %p, i64 {row}, i32 1, i64 {number}")
    expected = row * ctypes.sizeof(Row) + Row.numbers.offset + 4 * number
    assert constant_offset(LAYOUT, f.definitions["a"]) == expected


def test_each_index_with_its_bytes() -> None:
    i = function(f"  %a = getelementptr {ROW}, ptr %p, i32 %n, i32 2, i64 %m").definitions["a"]
    index, field, inner = steps(LAYOUT, i.element, i.operands[1:])
    assert (index[0], index[1]) == (Local("n", i.operands[1].type), ctypes.sizeof(Row) + 0)
    assert field == (None, Row.half.offset)
    assert (inner[0], inner[1]) == (i.operands[3], 2)
    assert list(distances(LAYOUT, i)) == [ctypes.sizeof(Row), Row.half.offset, 2]
    assert constant_offset(LAYOUT, i) is None


def test_a_chain_of_constant_steps_leads_to_its_base() -> None:
    f = function(
        """  %a = getelementptr i32, ptr %p, i32 %n
  %b = getelementptr i16, ptr %a, i64 -3
  %c = getelementptr [4 x i32], ptr %b, i64 2, i64 1"""
    )
    base, far = constant_base(f, f.definitions["c"].value, LAYOUT)
    assert isinstance(base, Local) and (base.name, far) == ("a", -6 + 32 + 4)
    assert constant_base(f, f.definitions["a"].value, LAYOUT) == (f.definitions["a"].value, 0)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_a_constant_index_is_signed(bits: int) -> None:
    i = function(f"  %a = getelementptr i64, ptr %p, i{bits} -1").definitions["a"]
    assert isinstance(i.operands[1], Int) and list(distances(LAYOUT, i)) == [-8]
