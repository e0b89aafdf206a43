"""What an address is a multiple of: by hand, and against addresses computed with many indices."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalloid.analysis.pointer_alignment import alignment
from tests.analysis.small import LAYOUT, kernel

SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "[3 x i32]": 12, "<4 x float>": 16, "[5 x i64]": 40}


def of(body: str) -> int:
    """Of %x."""
    function = kernel(body)
    return alignment(function, LAYOUT, function.definitions["x"].value)


def step(name: str, element: str, base: str, index: object) -> str:
    return f"  %{name} = getelementptr {element}, ptr addrspace(1) %{base}, i32 {index}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (step("x", "float", "p", "%i"), 4),
        (step("x", "<4 x float>", "p", "%i"), 16),
        (step("x", "[3 x i32]", "p", "%i"), 4),  # 12 bytes
        (step("x", "i8", "p", 24), 8),
        (step("x", "i8", "p", 0), 16),  # nothing moved
        (step("a", "<4 x float>", "p", "%i") + step("x", "i16", "a", 3), 2),
        ("  %x = load ptr addrspace(1), ptr addrspace(1) %p", 1),  # nobody knows
        (
            step("a", "i64", "p", "%i")
            + "  %c = icmp ult i32 %i, 3\n"
            + "  %x = select i1 %c, ptr addrspace(1) %p, ptr addrspace(1) %a",
            8,
        ),
    ],
)
def test_by_hand(body: str, expected: int) -> None:
    assert of(body) == expected


def test_a_pointer_that_walks_round_a_loop_is_followed_to_an_end() -> None:
    body = """  br label %loop
loop:
  %x = phi ptr addrspace(1) [ %p, %entry ], [ %on, %loop ]
  %on = getelementptr i16, ptr addrspace(1) %x, i64 1
  br i1 true, label %loop, label %end
end:
  ret void"""
    assert 2 % of(body) == 0


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(SIZES)), st.none() | st.integers(-9, 9)), min_size=1, max_size=4
    ),
    st.lists(st.integers(-50, 50), min_size=8, max_size=8),
)
def test_it_divides_every_address(chain: list[tuple[str, int | None]], indices: list[int]) -> None:
    names = ["p", *(f"a{n}" for n in range(len(chain) - 1)), "x"]
    body = "".join(
        step(names[n + 1], element, names[n], "%i" if index is None else index)
        for n, (element, index) in enumerate(chain)
    )
    found = of(body)
    assert found in (1, 2, 4, 8, 16)
    for i in indices:
        assert sum(SIZES[element] * (i if index is None else index) for element, index in chain) % found == 0
