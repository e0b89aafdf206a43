"""Sums of products: what is the same number, however it is put together."""

from __future__ import annotations

import pytest

from metalloid.analysis.polynomials import less, polynomial, times
from metalloid.ir.types import IntType
from metalloid.ir.values import Local
from tests.analysis.small import kernel

PUT_TOGETHER = """  %a = mul i32 %i, %g
  %b = add i32 %a, 7
  %c = mul i32 %b, %i
  %frozen = freeze i32 %c
  %x = sub i32 %frozen, %g
  %ii = mul i32 %i, %i
  %iig = mul i32 %g, %ii
  %seven = mul i32 %i, 7
  %d = add i32 %seven, %iig
  %y = sub i32 %d, %g
  %z = add i32 %y, %i
  %down = mul i32 %i, -1
  %half = udiv i32 %y, 2
  %w = sub i32 %half, %half"""


def of(name: str, body: str = PUT_TOGETHER):
    return polynomial(kernel(body), Local(name, IntType(32)))


def test_equal_numbers_are_equal():
    assert of("x") == of("y") == {("g", "i", "i"): 1, ("i",): 7, ("g",): 2**32 - 1}
    assert of("x") != of("z") and of("down") == {("i",): 2**32 - 1}


def test_other_operations_are_factors():
    assert of("half") == {("half",): 1} and of("w") == {}


def test_arithmetic_goes_round():
    y, z, i = of("y"), of("z"), of("i")
    assert less(z, y, 32) == i and times(i, i, 32) == of("ii")
    assert times({(): 2**31}, {(): 2}, 32) == {}


@pytest.mark.parametrize("factors", [5, 30])
def test_long_products_are_not_looked_at(factors):
    body = "  %x0 = add i32 %i, %g\n" + "\n".join(f"  %x{n + 1} = mul i32 %x{n}, %x0" for n in range(40))
    assert (of(f"x{factors}", body) is None) == (factors == 30)
