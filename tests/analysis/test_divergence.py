"""What a divergent branch does to the blocks behind it, on graphs small enough to follow with a finger."""

from __future__ import annotations

import pytest

from metalloid.analysis.divergence import Divergence, Flow
from metalloid.ir import Function, read


def graph(ways: str) -> Function:
    """`a>b,c b>d c>d`: blocks and where they go; one without a way out returns."""
    blocks = {}
    for way in ways.split():
        name, _, targets = way.partition(">")
        blocks[name] = [t for t in targets.split(",") if t]
    for targets in list(blocks.values()):
        for target in targets:
            blocks.setdefault(target, [])
    ends = {0: "ret void", 1: "br label %{0}", 2: "br i1 %c, label %{0}, label %{1}"}
    text = "".join(f"{name}:\n  {ends[len(to)].format(*to)}\n" for name, to in blocks.items())
    return read(f"define void @f(i1 %c) {{\n{text}}}\n").function["f"]


def divergence(ways: str, *branches: str) -> Divergence:
    return Divergence(Flow(graph(ways)), frozenset(branches))


DIAMOND = "a>b,c b>d c>d d>e"
LOOP = "a>h h>b,x b>h x>y"  # h is the header and may leave
TWO_DOORS = "a>h h>b,x b>h,y x>z y>z"  # left from h and from b; z is behind both
INNER = "a>o o>h h>h,l l>o,x"  # h is a loop of one block in the loop of o, h and l


@pytest.mark.parametrize(
    ("ways", "branches", "joins", "loops"),
    [
        (DIAMOND, (), set(), set()),
        (DIAMOND, ("a",), {"d"}, set()),
        ("a>b,d b>d", ("a",), {"d"}, set()),  # without an else
        ("a>b,c", ("a",), set(), set()),  # both return: nobody meets
        (LOOP, ("h",), {"x"}, {"h"}),
        (TWO_DOORS, ("h",), {"x", "y", "z"}, {"h"}),
        (INNER, ("h",), {"l"}, {"h"}),
        (INNER, ("l",), {"x"}, {"o"}),
        ("a>h h>b,c b>d c>d d>h,x", ("h",), {"d"}, set()),  # they part and meet within one iteration
    ],
)
def test_where_lanes_meet_and_which_loops_they_leave_apart(
    ways: str, branches: tuple[str, ...], joins: set[str], loops: set[str]
) -> None:
    found = divergence(ways, *branches)
    assert (found.joins, found.loops) == (joins, loops)


@pytest.mark.parametrize(
    ("ways", "branches", "heads"),
    [
        (DIAMOND, (), "a:a b:a c:a d:a e:a"),  # every block runs for all or for none
        (DIAMOND, ("a",), "a:a b:b c:c d:a e:a"),  # behind the diamond all are together again
        (LOOP, ("h",), "a:a h:h b:b x:a y:a"),
        ("a>b,c b>d c>d,r d>e", ("a", "c"), "a:a b:b c:c d:d r:r e:d"),  # some return on the way
    ],
)
def test_blocks_that_run_under_one_mask(ways: str, branches: tuple[str, ...], heads: str) -> None:
    assert divergence(ways, *branches).mask_head == dict(pair.split(":") for pair in heads.split())


def test_the_blocks_of_a_loop_lie_side_by_side() -> None:
    order = Flow(graph(TWO_DOORS)).order
    assert order[0] == "a" and set(order[1:3]) == {"h", "b"} and order[-1] == "z"


def test_who_comes_to_a_block_in_a_later_iteration_only() -> None:
    flow = Flow(graph("a>h h>b,c b>d c>h d>h,x"))  # c goes round without d
    assert flow.goes_round("h", ["b", "c"], "d")
    assert not flow.goes_round("h", ["b"], "d")
    assert flow.post_dominates("x", "a") and not flow.post_dominates("c", "h")
