"""How threads come to barriers, told from the graph alone (tests/engine/test_arrival.py runs such kernels)."""

from __future__ import annotations

import pytest

from metalloid.analysis.barrier_arrival import Arrival, arrival, divergent_branches
from metalloid.ir.intrinsics import full
from tests.analysis.small import WAIT, kernel

IF = """  %c = icmp ult i32 {value}, 3
  br i1 %c, label %then, label %end
then:
{then}  br label %end
end:
{end}  ret void"""
LOOP = """  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
{wait}  %next = add i32 %k, 1
  %more = icmp ult i32 %next, {value}
  br i1 %more, label %loop, label %end
end:
  ret void"""
VOTE = f"  %all = call i1 @{full('simd_all')}(i1 true)\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  ret void", "together"),  # no barrier at all
        (WAIT, "together"),
        (IF.format(value="%g", then=WAIT, end=WAIT), "together"),
        (IF.format(value="%i", then="", end=WAIT), "together"),  # they meet before it
        (IF.format(value="%i", then=WAIT, end=""), "returned"),
        (
            IF.format(value="%i", then=WAIT, end=VOTE),
            "parted",
        ),  # those that passed by meet the others in a vote
        (IF.format(value="%i", then=WAIT, end=WAIT), "parted"),
        (LOOP.format(wait=WAIT, value="%g"), "together"),
        (LOOP.format(wait=WAIT, value="%i"), "returned"),  # those that leave run on to their end
        (LOOP.format(wait="", value="%i"), "together"),
    ],
)
def test_arrival(body: str, expected: Arrival) -> None:
    assert arrival(kernel(body), (64, 1, 1)) == expected


@pytest.mark.parametrize(
    ("value", "size", "parts"),
    [
        ("%i", (64, 1, 1), True),
        ("%i", (1, 1, 1), False),  # one thread alone does not part
        ("%g", (64, 1, 1), False),
        ("%loaded", (64, 1, 1), False),  # one address, one value
        ("%counted", (64, 1, 1), True),  # an atomic gives each its own
        ("%own", (64, 1, 1), True),
        ("%y", (64, 1, 1), False),
        ("%y", (8, 8, 1), True),
        ("%sg", (32, 1, 1), False),  # there is one SIMD-group
        ("%sg", (33, 1, 1), True),
    ],
)
def test_whose_value_is_its_own(value: str, size: tuple[int, int, int], parts: bool) -> None:
    start = f"""  %loaded = load i32, ptr addrspace(1) %p
  %counted = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic
  %mine = alloca i32, addrspace(5)
  %own = load i32, ptr addrspace(5) %mine
  %y = call i32 @{full("thread_position_in_threadgroup")}(i32 1)
  %sg = call i32 @{full("simdgroup_index_in_threadgroup")}()
"""
    function = kernel(start + IF.format(value=value, then="", end=""))
    assert divergent_branches(function, size) == (frozenset({"entry"}) if parts else frozenset())


def test_a_value_chosen_by_lanes_that_parted_is_their_own() -> None:
    body = """  %c = icmp ult i32 %i, 3
  br i1 %c, label %then, label %join
then:
  br label %join
join:
  %chosen = phi i32 [ 1, %then ], [ 2, %entry ]
  %d = icmp eq i32 %chosen, 1
  br i1 %d, label %more, label %end
more:
  br label %end
end:
  ret void"""
    assert divergent_branches(kernel(body), (64, 1, 1)) == {"entry", "join"}
