"""Which lanes run a block, where branches compare numbers that are known for each."""

from __future__ import annotations

import pytest

from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_sets import ANY, LaneSet, every, lanes_of
from tests.analysis.small import kernel, uniformity

WIDTH = 16
ALL = every(WIDTH)


def lanes(body: str, block: str, size: int = WIDTH, entry: LaneSet = ALL) -> LaneSet:
    u = uniformity(kernel(body), LaneLayout(WIDTH, (size, 1, 1)))
    return lanes_of(u, WIDTH, block, u.divergence.mask_head, entry)


def test_lanes_of_both() -> None:
    assert LaneSet(True, 2, 9) & LaneSet(True, 4, 16) == LaneSet(True, 4, 9)
    assert LaneSet(True, 2, 9) & ALL == LaneSet(True, 2, 9)
    assert LaneSet(True, 0, 4) & LaneSet(True, 4, 8) == ANY & ALL == ALL & ANY == ANY
    assert (ALL.bounds, LaneSet(True, 2, 9).bounds, ANY.bounds) == ((0, WIDTH), (2, 9), None)


IF = """  %c = icmp {0}
  br i1 %c, label %yes, label %no
yes:
  br label %end
no:
  br label %end
end:
"""


@pytest.mark.parametrize(
    ("test", "yes", "no"),
    [
        ("ult i32 %i, 5", LaneSet(True, 0, 5), LaneSet(True, 5, 16)),
        ("uge i32 %i, 12", LaneSet(True, 12, 16), LaneSet(True, 0, 12)),
        ("eq i32 %i, 3", LaneSet(True, 3, 4), ANY),  # the others are not side by side
        ("slt i32 %i, -1", ANY, ALL),  # nobody
        ("ult i32 %i, %g", ANY, ANY),
    ],
)
def test_sides_of_a_branch(test: str, yes: LaneSet, no: LaneSet) -> None:
    body = IF.format(test)
    assert (lanes(body, "entry"), lanes(body, "yes"), lanes(body, "no"), lanes(body, "end")) == (
        ALL,
        yes,
        no,
        ALL,
    )


def test_the_first_gang_of_several() -> None:
    body = IF.format("ult i32 %i, 5")
    assert lanes(body, "yes", size=64) == LaneSet(True, 0, 5)  # in any gang that has some
    assert lanes(body, "no", size=64) == ANY  # there all lanes of the others as well


NESTED = """  %c = icmp ult i32 %i, 12
  br i1 %c, label %a, label %end
a:
  %d = icmp uge i32 %i, 4
  br i1 %d, label %b, label %a.end
b:
  br label %loop
loop:
  %n = phi i32 [ 0, %b ], [ %m, %loop ]
  %m = add i32 %n, 1
  %go = icmp ult i32 %m, %g
  br i1 %go, label %loop, label %b.end
b.end:
  br label %a.end
a.end:
  br label %end
end:
"""


def test_branches_inside_branches_and_loops() -> None:
    both = LaneSet(True, 4, 12)
    assert [lanes(NESTED, b) for b in ("a", "b", "loop", "b.end")] == [LaneSet(True, 0, 12), both, both, both]
    assert lanes(NESTED, "a.end") == LaneSet(True, 0, 12) and lanes(NESTED, "end") == ALL
    assert lanes(NESTED, "loop", entry=LaneSet(True, 0, 7)) == LaneSet(True, 4, 7)
    assert lanes(NESTED, "loop", entry=ANY) == lanes(NESTED, "entry", entry=ANY) == ANY


def test_lanes_that_leave_a_loop_one_after_the_other_are_not_known() -> None:
    body = NESTED.replace("%go = icmp ult i32 %m, %g", "%go = icmp ult i32 %m, %i")
    assert lanes(body, "b") == LaneSet(True, 4, 12)
    assert lanes(body, "loop") == ANY
