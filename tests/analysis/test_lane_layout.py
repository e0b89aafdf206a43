"""Which thread a lane is: base and pattern against counting threads one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalloid.analysis.lane_layout import LaneLayout, PositionPattern

INDICES = {
    "thread_index_in_threadgroup": lambda n: n,
    "thread_index_in_simdgroup": lambda n: n % 32,
    "simdgroup_index_in_threadgroup": lambda n: n // 32,
    "thread_index_in_quadgroup": lambda n: n % 4,
    "quadgroup_index_in_threadgroup": lambda n: n // 4,
}


def value(place: PositionPattern, gang: int, lane: int) -> int:
    """What the docstring of PositionPattern says."""
    base = gang * place.step // place.divide
    base = base % place.modulo if place.modulo else base
    return base + (place.pattern[lane] if place.pattern else 0)


@settings(max_examples=120, deadline=None)
@given(
    width=st.sampled_from([2, 4, 8, 16, 32, 64]),
    size=st.tuples(st.integers(1, 40), st.integers(1, 12), st.integers(1, 6)).filter(
        lambda s: s[0] * s[1] * s[2] <= 1024
    ),
)
def test_positions_are_those_of_the_threads(width: int, size: tuple[int, int, int]) -> None:
    layout = LaneLayout(width, size)
    x, y, _ = size
    assert layout.gangs == -(-layout.count // width)
    for n in range(layout.count):
        gang, lane = divmod(n, width)
        at = n % x, n // x % y, n // (x * y)
        for axis, place in enumerate(layout.places):
            if not place.table:
                assert value(place, gang, lane) == at[axis] < max(place.limit, 1)
        for name, of in INDICES.items():
            found = layout.place(name, 0)
            assert found is not None and value(found, gang, lane) == of(n) < found.limit


def test_sizes_that_have_a_pattern_need_no_table() -> None:
    for width, size in [(8, (64, 1, 1)), (8, (16, 16, 1)), (32, (8, 8, 1)), (16, (4, 4, 4)), (64, (8, 8, 8))]:
        assert not any(place.table for place in LaneLayout(width, size).places), (width, size)
    assert all(place.table for place in LaneLayout(8, (12, 5, 1)).places)
    assert all(place.table for place in LaneLayout(8, (64, 1, 1), tables=True).places)


def test_rows_are_gangs_of_their_own() -> None:
    layout = LaneLayout(8, (6, 5, 2), rows=True)
    across, down, deep = layout.places
    assert (across.pattern, down.row, deep.row) == (tuple(range(8)), "y", "z")
    assert layout.gangs == 10 and not layout.no_tail


@pytest.mark.parametrize(
    ("layout", "no_tail", "single"),
    [
        (LaneLayout(32, (32, 1, 1)), True, True),
        (LaneLayout(32, (64, 1, 1)), True, False),
        (LaneLayout(32, (33, 1, 1)), False, False),
        (LaneLayout(32, (64, 1, 1), ragged=True), False, False),
        (LaneLayout(1, (33, 1, 1), ragged=True), True, False),
    ],
)
def test_idle_lanes_and_single_gangs(layout: LaneLayout, no_tail: bool, single: bool) -> None:
    assert (layout.no_tail, layout.single_gang) == (no_tail, single)


def test_a_uniform_position_has_no_lanes() -> None:
    assert LaneLayout(8, (64, 1, 1)).place("threadgroup_position_in_grid", 0) is None
