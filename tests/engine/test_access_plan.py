"""Plans of accesses: which loads and stores reach the lanes' elements, without writing any code."""

import random

import pytest

from metalloid.backends.cpu.lower.access.plan import (
    Piece,
    Sparse,
    Spot,
    apart,
    contiguous,
    is_row,
    pieces,
    reads,
    registers,
    spots,
    storable,
)


def at(*offsets: int, part: tuple[tuple[str, int], ...] = ()) -> list[Spot]:
    return [Spot(part, offset) for offset in offsets]


def test_a_lane_s_spot_is_its_multiples_and_its_constant() -> None:
    found = spots((("", (0, 4, 8, 12)), ("stride", (0, 0, 1, 1))), 4)
    assert found == (Spot((), 0), Spot((), 4), Spot((("stride", 1),), 8), Spot((("stride", 1),), 12))
    assert registers(found, 2) == [found[:2], found[2:]]


def test_rows_are_in_order_and_at_constants() -> None:
    assert is_row(at(8, 12, 16), 4)
    assert not is_row(at(8, 12, 20), 4)
    assert not is_row(at(0, 4, part=(("n", 1),)), 4)
    assert contiguous((("", (0, 2, 4, 6)),), 4, 2)
    assert not contiguous((), 1, 4)  # a uniform value


def test_neighbours_are_one_piece_and_parts_never_mix() -> None:
    other = (("n", 1),)
    assert pieces([*at(4, 0, 16), *at(20, part=other)], 1, 4) == [
        Piece(Spot((), 0), 2),
        Piece(Spot((), 16), 1),
        Piece(Spot(other, 20), 1),
    ]
    assert pieces(at(0, 8, 32), 2, 4) == [Piece(Spot((), 0), 4), Piece(Spot((), 32), 2)]


@pytest.mark.parametrize(
    ("offsets", "n", "expected"),
    [
        ((0, 8, 16, 24), 1, [Piece(Spot((), 0), 7)]),  # every other: one vector with gaps
        ((0, 4000, 8000, 12000), 1, [Piece(s, 1) for s in at(0, 4000, 8000, 12000)]),
        ((0, 6, 12, 18), 1, [Piece(s, 1) for s in at(0, 6, 12, 18)]),  # no whole elements apart
        ((0, 16, 32, 48), 4, [Piece(Spot((), 0), 16)]),  # float4 side by side
        ((0, 64, 128, 192), 4, None),  # a row each, turned round
    ],
)
def test_loads_of_a_register(offsets: tuple[int, ...], n: int, expected: object) -> None:
    assert reads(at(*offsets), n, 4) == expected


def test_far_elements_are_gathered_where_there_are_many() -> None:
    far = at(*range(0, 16 * 4096, 4096))
    assert reads(far, 1, 4) == [Sparse(tuple(far))]


def test_stores_never_meet() -> None:
    assert storable(at(0, 4, 8, 12, 64, 68, 72, 76), 4)
    assert not storable(at(0, 4, 4, 8), 4)
    assert not storable(at(0, 6), 4)
    assert not storable(at(*range(0, 16 * 64, 64)), 4)
    assert apart(at(0, 16, 16), 16) and not apart(at(0, 12), 16)


def test_every_element_is_read_and_nothing_beyond_the_lanes() -> None:
    chance = random.Random(5)
    for _ in range(3000):
        size, n = chance.choice((1, 2, 4, 8)), chance.choice((1, 1, 2, 4))
        parts = [(), (("a", 1),), (("a", 2), ("b", -1))][: chance.randint(1, 3)]
        step = chance.choice((1, size, 2 * size, 40 * size))
        lanes = [Spot(chance.choice(parts), step * chance.randint(-20, 20)) for _ in range(16)]
        distinct = list(dict.fromkeys(lanes))
        found = reads(distinct, n, size)
        if found is None:
            continue
        had = {
            spot
            for load in found
            for spot in (
                load.elements
                if isinstance(load, Sparse)
                else [load.start.beyond(k * size) for k in range(load.length)]
            )
        }
        assert had >= {s.beyond(k * size) for s in lanes for k in range(n)}
        for spot in had:
            same = [s.offset for s in lanes if s.part == spot.part]
            assert min(same) <= spot.offset < max(same) + n * size


def test_elements_that_were_stored_one_by_one_are_read_so() -> None:
    gaps = [Spot((), 8 * n) for n in range(4)]
    assert reads(gaps, 1, 4) == [Piece(gaps[0], 7)]
    assert reads(gaps, 1, 4, stored=True) == [Piece(s, 1) for s in gaps]
    row = [Spot((), 4 * n) for n in range(4)]
    assert reads(row, 1, 4, stored=True) == [Piece(row[0], 4)]
