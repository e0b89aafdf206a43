"""What puts two accesses in order, and what does not."""

from __future__ import annotations

import pytest

from metalloid.backends.races import DEVICE, THREADGROUP, Clock, Event, Moment, Shadow, relation


def event(thread: int, site: int = 0, *, write: bool = True, atomic: bool = False, **moment: int) -> Event:
    """Threads 0 to 63 are threadgroup 0, and so on; 32 to a SIMD-group."""
    return Event(thread, thread // 64, thread % 64 // 32, site, write, atomic, Moment(**moment))


def related(first: Event, second: Event, memory: int = THREADGROUP, fences: int = 0) -> str:
    return relation(first, second, memory, lambda group: fences)


def test_a_thread_does_not_race_with_itself():
    assert related(event(3), event(3, 1)) == ""


def test_two_simd_groups_race_until_a_barrier_with_the_flag_stands_between():
    assert related(event(0), event(40, 1)) == "race in threadgroup memory"
    assert related(event(0), event(40, 1, passed=1)) == "flags do not cover"
    assert related(event(0), event(40, 1, passed=1, covered=1)) == ""
    assert related(event(0), event(40, 1), DEVICE) == "race in device memory"


def test_lanes_need_a_simdgroup_barrier_at_least():
    assert related(event(0), event(1, 1)) == "lockstep"
    assert (
        related(event(0), event(1, 0)) == "race in threadgroup memory"
    )  # one instruction: lockstep is no help
    assert related(event(0), event(1, 1, passed_simd=1)) == "flags do not cover"
    assert related(event(0), event(1, 1, passed_simd=1, covered_simd=1)) == ""
    assert related(event(0), event(40, 1, passed_simd=1, covered_simd=1)) == "race in threadgroup memory"


def test_barriers_do_not_order_threadgroups_but_fences_on_both_sides_do():
    later = event(70, 1, passed=3, covered=3)
    assert related(event(0), later, DEVICE) == "race across threadgroups"
    assert related(event(0), event(70, 1, fences=1), DEVICE, fences=1) == ""
    assert related(event(0, fences=1), event(70, 1, fences=1), DEVICE, fences=1) == "race across threadgroups"


def test_atomics_meet_each_other_but_not_plain_accesses():
    assert related(event(0, atomic=True), event(70, atomic=True), DEVICE) == ""
    assert related(event(0, atomic=True), event(70), DEVICE) == "race across threadgroups"


def shadow() -> Shadow:
    return Shadow(THREADGROUP, 4, lambda group: 0)


def test_readers_do_not_race_but_a_write_after_any_of_them_does():
    cells = shadow()
    for thread in (0, 1, 40, 41):
        assert cells.read(event(thread, 1, write=False), 8, 4) == {}
    met = cells.write(event(41, 2), 8, 4, unchanged=False)
    assert {kind for kind, _ in met} == {"race in threadgroup memory", "lockstep"}
    assert shadow().write(event(41, 2), 12, 4, unchanged=False) == {}


def test_stores_of_the_same_bytes_agree_and_may_be_read_by_those_who_made_them():
    cells = shadow()
    assert cells.write(event(0, 1), 0, 4, unchanged=False) == {}
    assert cells.write(event(40, 1), 0, 4, unchanged=True) == {}
    assert cells.read(event(40, 2, write=False), 0, 4) == {}
    met = cells.read(event(41, 2, write=False), 0, 4)
    assert list(met) == [
        ("race in threadgroup memory", 1),
        ("lockstep", 1),
    ]  # the first that stored, and the other
    assert next(iter(cells.write(event(50, 3), 0, 4, unchanged=False)))[0] == "race in threadgroup memory"


@pytest.mark.parametrize(
    ("address", "size", "meets"), [(4, 4, True), (6, 2, True), (8, 4, False), (0, 8, True)]
)
def test_accesses_meet_where_their_bytes_share_a_granule(address: int, size: int, meets: bool):
    cells = shadow()
    cells.write(event(0, 1), 4, 4, unchanged=False)
    assert bool(cells.read(event(40, 2, write=False), address, size)) == meets


def test_a_clock_counts_barriers_and_those_that_cover_a_memory():
    clock = Clock()
    clock.barrier(DEVICE)
    clock.barrier(THREADGROUP | DEVICE)
    clock.simd_barrier(1, THREADGROUP)
    assert clock.now(0, THREADGROUP) == Moment(passed=2, covered=1, time=2)
    assert clock.now(1, THREADGROUP) == Moment(2, 1, 1, 1, time=2)
    assert clock.now(1, DEVICE) == Moment(2, 2, 1, 0, time=2)


def test_fences_of_both_threads_around_a_barrier_order_the_memory_they_name():
    clock = Clock()
    wrote = Event(0, 0, 0, 0, True, False, clock.now(0, DEVICE, 0))

    def read(memory: int) -> Event:
        return Event(40, 0, 1, 1, False, False, clock.now(1, memory, 40))

    clock.fence(0, DEVICE, device_wide=False)
    clock.barrier(THREADGROUP)
    assert related(wrote, read(DEVICE), DEVICE) == "flags do not cover"
    clock.fence(41, DEVICE, device_wide=False)
    assert related(wrote, read(DEVICE), DEVICE) == "flags do not cover"  # another thread's fence
    clock.fence(40, DEVICE, device_wide=False)
    assert related(wrote, read(DEVICE), DEVICE) == ""
    late = Event(0, 0, 0, 0, True, False, clock.now(0, DEVICE, 0))
    assert related(late, read(DEVICE), DEVICE) == "race in device memory"
