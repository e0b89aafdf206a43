"""How far values move from one iteration to the next: by hand, and by running loops."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalloid.analysis.loop_stride import Strides, plus, times
from metalloid.ir import Function
from metalloid.ir.loops import loops
from tests.analysis.small import LAYOUT, kernel

LOOP = """  %n = add i32 %g, 0
  br label %loop
loop:
  %k = phi i32 [ 3, %entry ], [ %next, %loop ]
  %q = phi ptr addrspace(1) [ %p, %entry ], [ %q2, %loop ]
  %odd = phi i32 [ 1, %entry ], [ %odd2, %loop ]
{body}
  %q2 = getelementptr i16, ptr addrspace(1) %q, i64 6
  %odd2 = mul i32 %odd, 3
  %next = add i32 %k, {step}
  %more = icmp ult i32 %next, 100
  br i1 %more, label %loop, label %end
end:
  ret void"""


def strides(body: str, step: object = 2) -> tuple[Strides, Function]:
    function = kernel(LOOP.format(body=body, step=step))
    return Strides(function, loops(function).loops["loop"], LAYOUT), function


@pytest.mark.parametrize(
    ("code", "stride"),
    [
        ("add i32 %k, 5", {(): 2}),
        ("sub i32 %n, %k", {(): -2}),
        ("shl i32 %k, 3", {(): 16}),
        ("mul i32 %k, -3", {(): -6}),
        ("mul i32 %k, %n", {("n",): 2}),
        ("sub i32 %k, %k", {}),
        ("add i32 %n, 1", {}),
        ("zext i32 %k to i64", {(): 2}),
        ("getelementptr float, ptr addrspace(1) %p, i32 %k", {(): 8}),
        ("getelementptr float, ptr addrspace(1) %q, i32 %k", {(): 8 + 12}),
        ("mul i32 %k, %k", None),
        ("udiv i32 %k, 2", None),
        ("add i32 %k, %odd", None),
        ("load i32, ptr addrspace(1) %q", None),
        ("shl i32 %k, %n", None),
    ],
)
def test_the_stride_of_a_value(code: str, stride: dict[tuple[str, ...], int] | None) -> None:
    found, function = strides(f"  %x = {code}")
    assert found.of(function.definitions["x"].value) == stride


def test_steps_by_a_value_that_stays_are_products() -> None:
    found, function = strides("  %x = mul i32 %k, 4\n  %y = mul i32 %x, %i", step="%n")
    assert found.of(function.definitions["x"].value) == {("n",): 4}
    assert found.of(function.definitions["y"].value) == {("i", "n"): 4}


def test_sums_leave_no_zeros() -> None:
    assert plus({(): 4, ("n",): 2}, {(): 4}, -1) == {("n",): 2}
    assert times({("n",): 2}, 0) == {}


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["add", "sub", "mul", "shl"]), st.integers(0, 7), st.booleans()),
        min_size=1,
        max_size=5,
    ),
    step=st.integers(-5, 9),
)
def test_a_stride_is_the_difference_of_two_iterations(steps: list[tuple[str, int, bool]], step: int) -> None:
    lines, last = [], "k"
    for at, (opcode, amount, counter) in enumerate(steps):
        other = "%k" if counter and opcode in ("add", "sub") else str(amount)
        lines.append(f"  %x{at} = {opcode} i32 %{last}, {other}")
        last = f"x{at}"

    def value(k: int) -> int:
        found = k
        for opcode, amount, counter in steps:
            other = k if counter and opcode in ("add", "sub") else amount
            found = {
                "add": found + other,
                "sub": found - other,
                "mul": found * other,
                "shl": found << amount,
            }[opcode]
        return found

    found, function = strides("\n".join(lines), step)
    moved = found.of(function.definitions[last].value)
    assert moved is not None and sum(moved.values()) == value(3 + step) - value(3)
    assert set(moved) <= {()}
