"""The same launch once more is not looked at again, unless its memory or numbers have changed."""

from __future__ import annotations

import threading
import time
import weakref

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.backend import SCALARS
from metalloid.backends.cpu import repeats
from metalloid.errors import KernelFault, LaunchError
from metalloid.runtime.again import ByKey, key_of
from metalloid.runtime.plan import Plan
from metalloid.runtime.watch import Watcher, watchers

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void add(device const float* a, device float* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + float(n);
}
kernel void fill(device float* out, constant float& x, uint i [[thread_position_in_grid]]) { out[i] = x; }
kernel void far(device const uint* at, device float* out, uint i [[thread_position_in_grid]]) { out[at[i]] = i; }
"""


@pytest.fixture(scope="module")
def library() -> mt.Library:
    return mt.device("cpu").library(SOURCE)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts launches whose arguments were looked at."""
    count, bind = [0], Plan.bind

    def counted(*given, **named):
        count[0] += 1
        return bind(*given, **named)

    monkeypatch.setattr(Plan, "bind", counted)
    return count


def launched(kernel: mt.Kernel, a: np.ndarray, out: np.ndarray, n: float = 3) -> np.ndarray:
    out.fill(np.nan)
    kernel(a, out, n, grid=8, threadgroup=8)
    return out


def repeated(kernel: mt.Kernel, a: np.ndarray, out: np.ndarray, looked: list[int], times: int = 80) -> int:
    for _ in range(times):
        np.testing.assert_array_equal(launched(kernel, a, out), a + 3)
    return looked[0]


def test_the_same_arrays_and_numbers_are_not_looked_at_again(library: mt.Library, looked: list[int]) -> None:
    a, out, kernel = np.arange(8, dtype=np.float32), np.empty(8, np.float32), library["add"]
    seen = repeated(kernel, a, out, looked)
    a += 5  # what they hold is no matter
    assert repeated(kernel, a, out, looked, 5) == seen < 80
    np.testing.assert_array_equal(launched(kernel, a, out, 4), a + 4)
    assert looked[0] == seen + 1


def test_an_array_that_changed_in_place_is_looked_at(library: mt.Library, looked: list[int]) -> None:
    a, out, kernel = np.arange(8, dtype=np.float32), np.empty(8, np.float32), library["add"]
    repeated(kernel, a, out, looked)
    out.flags.writeable = False
    with pytest.raises(LaunchError, match="read-only"):
        kernel(a, out, 3, grid=8, threadgroup=8)
    out.flags.writeable = True
    repeated(kernel, a, out, looked, 3)
    a.dtype = np.int32
    with pytest.raises(LaunchError, match="declared float"):
        kernel(a, out, 3, grid=8, threadgroup=8)
    a.dtype = np.float32
    a.resize(1 << 16, refcheck=False)  # moves
    a[:] = 7
    kernel(a, out, 3, grid=8, threadgroup=8)
    np.testing.assert_array_equal(out, 10)


@pytest.mark.parametrize("value", [0.0, 1e-30, float("nan")])
def test_numbers_are_told_apart_by_their_bits(library: mt.Library, value: float) -> None:
    out, kernel = np.empty(8, np.float32), library["fill"]
    for _ in range(80):
        kernel(out, value, grid=8, threadgroup=8)
    for other in (-value, value):
        kernel(out, other, grid=8, threadgroup=8)
        expected = np.full(8, other, np.float64).astype(np.float32)
        np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))
    assert key_of((0.0,)) != key_of((-0.0,)) != key_of((0,))


def test_equal_numbers_repeat_a_launch_and_others_do_not(library: mt.Library, looked: list[int]) -> None:
    a, out, kernel = np.arange(8, dtype=np.float32), np.empty(8, np.float32), library["add"]
    for _ in range(80):
        launched(kernel, a, out, int(f"{1 << 20}"))  # each time another object
    seen = looked[0]
    assert (launched(kernel, a, out, int(f"{1 << 20}")) == a + (1 << 20)).all() and looked[0] == seen
    assert (launched(kernel, a, out, np.uint32(1 << 20)) == a + (1 << 20)).all() and looked[0] > seen
    with pytest.raises(LaunchError):
        launched(kernel, a, out, 1 << 70)


@pytest.mark.parametrize("kind", sorted(SCALARS, key=str))
def test_numbers_of_numpy_repeat_a_launch(library: mt.Library, looked: list[int], kind: type) -> None:
    out, kernel = np.empty(8, np.float32), library["fill"]
    for _ in range(80):
        kernel(out, kind(1), grid=8, threadgroup=8)  # each time another object
    seen = looked[0]
    kernel(out, kind(1), grid=8, threadgroup=8)
    assert (out == 1).all() and looked[0] == seen
    for other in (kind(0), 1.0, True):
        out[:] = 7
        kernel(out, other, grid=8, threadgroup=8)
        assert (out == float(other)).all()
    assert looked[0] > seen
    keys = [key_of((value,)) for value in (kind(1), kind(0), 1)]
    assert len(set(keys)) == 3 and keys[0] == key_of((kind(1),))


def test_many_launches_in_turn_are_repeated_and_the_oldest_is_forgotten(
    library: mt.Library, looked: list[int]
) -> None:
    outs, kernel = [np.empty(8, np.float32) for _ in range(repeats.MOST + 3)], library["add"]
    a = np.arange(8, dtype=np.float32)
    for n in range(40):
        for out in outs[: repeats.MOST]:
            launched(kernel, a, out, n // 38)
    seen = looked[0]
    for out in outs[: repeats.MOST]:
        np.testing.assert_array_equal(launched(kernel, a, out, 1), a + 1)
    assert looked[0] == seen
    for _ in range(3):
        for out in outs:
            np.testing.assert_array_equal(launched(kernel, a, out, 1), a + 1)
    assert looked[0] > seen


def test_a_buffer_where_another_was_is_looked_at(library: mt.Library, looked: list[int]) -> None:
    device, kernel, a = mt.device("cpu"), library["add"], np.arange(8, dtype=np.float32)
    out = device.zeros(8, np.float32)
    for _ in range(80):
        kernel(a, out, 3, grid=8, threadgroup=8)
    for _ in range(20):
        del out
        out = device.zeros(8, np.float32)
        seen = looked[0]
        kernel(a, out, 3, grid=8, threadgroup=8)
        assert looked[0] > seen and not out.fresh
        np.testing.assert_array_equal(out.numpy(), a + 3)


def test_one_launch_in_many_threads_at_once(library: mt.Library) -> None:
    a, kernel, wrong = np.arange(8, dtype=np.float32), library["add"], []
    out = np.zeros(8, np.float32)
    launched(kernel, a, out)

    def work() -> None:
        for _ in range(400):
            kernel(a, out, 3, grid=8, threadgroup=8)
            if (out != a + 3).any():
                wrong.append(out.copy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_without_knowing_how_objects_lie_launches_run_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "_python", lambda: None)
    a, out = np.arange(8, dtype=np.float32), np.empty(8, np.float32)
    kernel = mt.device("cpu").library(SOURCE)["add"]
    for n in range(40):
        np.testing.assert_array_equal(launched(kernel, a, out, n), a + n)


def test_a_shared_buffer_whose_array_moved_is_looked_at(library: mt.Library) -> None:
    device, kernel = mt.device("cpu"), library["add"]
    own = np.arange(8, dtype=np.float32)
    a, out = device.buffer(own, copy=False), device.zeros(8, np.float32)
    for _ in range(80):
        kernel(a, out, 3, grid=8, threadgroup=8)
    own.resize(1 << 18, refcheck=False)  # moves
    own[:] = 7
    kernel(a, out, 3, grid=8, threadgroup=8)
    np.testing.assert_array_equal(out.numpy(), 10)


def test_a_fault_and_a_released_buffer_are_told_each_time(library: mt.Library) -> None:
    device = mt.device("cpu")
    at, out = device.buffer(np.arange(8, dtype=np.uint32)), device.buffer(np.zeros(8, np.float32))
    for _ in range(80):
        library["far"](at, out, grid=8, threadgroup=8)
    for _ in range(2):
        at.numpy()[3] = 1 << 20
        with pytest.raises(KernelFault, match="M102"):
            library["far"](at, out, grid=8, threadgroup=8)
        at.numpy()[3] = 3
        out.numpy()[:] = -1
        library["far"](at, out, grid=8, threadgroup=8)
        np.testing.assert_array_equal(out.numpy(), np.arange(8))
    at.release()
    with pytest.raises(LaunchError, match="M309"):
        library["far"](at, out, grid=8, threadgroup=8)


def test_short_work_that_nobody_waits_for_runs_all_the_same(library: mt.Library) -> None:
    device = mt.device("cpu")
    queue, a, out = device.queue(), device.buffer(np.arange(8, dtype=np.float32)), device.zeros(8, np.float32)
    for n in range(40):
        commands = queue.command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(library["add"], a, out, n, grid=8, threadgroup=8)
        commands.commit()
        if n < 30:
            commands.wait_until_completed()
        end = time.monotonic() + 20
        while not commands.done and time.monotonic() < end:
            time.sleep(0)
        assert commands.done
        np.testing.assert_array_equal(out.numpy(), np.arange(8) + n)


def test_a_dispatch_with_its_arguments_is_looked_at_once(
    library: mt.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, kernel = mt.device("cpu"), library["add"]
    queue, a = device.queue(), device.buffer(np.arange(8, dtype=np.float32))
    out = [device.zeros(8, np.float32) for _ in range(20)]
    long, launch = [0], mt.Kernel.launch
    monkeypatch.setattr(
        mt.Kernel,
        "launch",
        lambda *given, **named: (long.__setitem__(0, long[0] + 1), launch(*given, **named))[1],
    )
    for n, one in enumerate(out):
        commands = queue.command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(kernel, a, out=one, n=n, grid=8, threadgroup=8)
        commands.commit()
        commands.wait_until_completed()
    for n, one in enumerate(out):
        np.testing.assert_array_equal(one.numpy(), np.arange(8) + n)
    assert long[0] <= 2


def test_watchers_that_come_after_encoding_see_numbers_too(library: mt.Library) -> None:
    device, kernel = mt.device("cpu"), library["add"]
    queue, a, out = device.queue(), device.buffer(np.arange(8, dtype=np.float32)), device.zeros(8, np.float32)
    for n, number in enumerate((*[3] * 40, 4, 4)):  # 3 runs again as it is, 4 was not seen before
        commands = queue.command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(kernel, a, out, number, grid=8, threadgroup=8)
        watcher = Watcher()
        if n > 37:
            watchers.append(watcher)
        try:
            commands.commit()
            commands.wait_until_completed()
        finally:
            watchers[:] = [one for one in watchers if one is not watcher]
        np.testing.assert_array_equal(out.numpy(), np.arange(8) + number)


def test_what_changes_between_encoding_and_running_is_seen(library: mt.Library) -> None:
    device, kernel = mt.device("cpu"), library["add"]
    queue, out = device.queue(), device.zeros(8, np.float32)
    own = np.arange(8, dtype=np.float32)
    a = device.buffer(own, copy=False)
    for n in range(42):
        commands = queue.command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(kernel, a, out, 3, grid=8, threadgroup=8)
        if n == 40:
            own.resize(1 << 18, refcheck=False)  # moves
            own[:8] = 7
        commands.commit()
        commands.wait_until_completed()
        np.testing.assert_array_equal(out.numpy(), own[:8] + 3)


@pytest.mark.parametrize("times", (2, 40))
def test_a_buffer_that_is_released_before_its_commands_run_is_there_for_them(
    library: mt.Library, times: int
) -> None:
    device, kernel = mt.device("cpu"), library["add"]
    queue, out = device.queue(), device.zeros(8, np.float32)
    a = device.buffer(np.arange(8, dtype=np.float32))
    for n in range(times):
        commands = queue.command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(kernel, a, out, 3, grid=8, threadgroup=8)
        if n == times - 1:
            memory = weakref.ref(a.memory())
            a.release()
            assert memory() is not None
        commands.commit()
        commands.wait_until_completed()
    np.testing.assert_array_equal(out.numpy(), np.arange(8) + 3)


@pytest.mark.parametrize(("arrays", "most"), [(20, 20), (1000, 60)])
def test_of_many_arrays_in_turns_few_are_remembered(library, monkeypatch, arrays, most):
    """To remember a launch takes as long as ten launches: once it was done for each of a thousand, in vain."""
    added, add = [0], repeats.Repeats.add

    def counted(*given):
        added[0] += 1
        return add(*given)

    monkeypatch.setattr(repeats.Repeats, "add", counted)
    kernel, a = library["add"], np.ones(24, np.float32)
    outs = [np.zeros(24, np.float32) for _ in range(arrays)]
    for n in range(4000 // arrays):
        for out in outs:
            kernel(a, out, 7, grid=24, threadgroup=24)
            assert out[23] == 8
            out[:] = n
    assert added[0] <= most


def test_a_device_without_a_look_at_arguments_says_what_to_keep() -> None:
    class Quick:
        room = None

        def again(self, *_: object) -> object:
            return lambda told: True

    buffer, number = mt.device("cpu").zeros(8), 3
    found = ByKey(Quick(), lambda arguments: None)  # type: ignore[arg-type, return-value]
    assert found.has((buffer, number)) is None and found.go((buffer, number)) == -1
    assert found.keep((buffer, number), [0, 0], Quick(), None, [], [])
    kept = found.has((buffer, number))
    assert kept is not None and kept[0] is buffer.memory() and kept[1] == number
    assert found.go((buffer, number)) == 0
    buffer.release()
    assert found.has((buffer, number)) is None and found.go((buffer, number)) == -1


def test_what_is_kept_of_a_launch_are_arrays(library: mt.Library) -> None:
    """A buffer that is released after it was encoded has its memory until the command buffer has run."""
    device, kernel, a = mt.device("cpu"), library["add"], np.arange(8, dtype=np.float32)
    out, shared = device.zeros(8), np.zeros(8, np.float32)
    queue = device.queue()

    def encoded(target: mt.Buffer) -> mt.CommandBuffer:
        commands = queue.command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(kernel, a, target, 3, grid=8, threadgroup=8)
        return commands

    for target in (out, device.buffer(shared)):
        for _ in range(80):
            commands = encoded(target)
            commands.commit()
            commands.wait_until_completed()
        (plan,) = [p for p in kernel.plans.values() if p.repeats((a, target, 3)) is not None]
        kept = plan.repeats((a, target, 3))
        assert kept[0] is a and kept[1] is target.memory() and kept[2] == 3
        commands, memory = encoded(target), target.memory()
        memory.fill(0)
        target.release()
        assert plan.repeats((a, target, 3)) is None
        commands.commit()
        commands.wait_until_completed()
        np.testing.assert_array_equal(memory, a + 3)


ROWS = """#include <metal_stdlib>
using namespace metal;
struct Point { float x; uint n; float y; };
kernel void points(device const Point* a, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = a[i].x + a[i].y * float(a[i].n); }
kernel void packed(device const packed_float3* a, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = a[i].x + a[i].y * a[i].z; }
kernel void fours(device const float3* a, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = a[i].x + a[i].y * a[i].z; }
"""
RECORD = np.dtype([("x", "<f4"), ("n", "<u4"), ("y", "<f4")])


@pytest.mark.parametrize("name", ["points", "bytes of points", "packed", "fours", "frozen"])
def test_rows_of_structs_and_read_only_arrays_are_not_looked_at_again(name: str, looked: list[int]) -> None:
    kernel = mt.device("cpu").library(ROWS)[{"frozen": "packed", "bytes of points": "points"}.get(name, name)]
    records = np.array([(n, 2, n + 0.5) for n in range(8)], RECORD)
    rows = np.arange(32, dtype=np.float32).reshape(8, 4)
    three = np.ascontiguousarray(rows[:, :3])
    a = {"points": records, "bytes of points": records.view(np.uint8), "fours": rows}.get(name, three)
    a.flags.writeable = name != "frozen"
    expected = records["x"] + records["y"] * 2 if "points" in name else a[:, 0] + a[:, 1] * a[:, 2]
    out = np.empty(8, np.float32)
    for _ in range(80):
        out.fill(np.nan)
        kernel(a, out, grid=8, threadgroup=8)
        np.testing.assert_array_equal(out, expected)
    seen = looked[0]
    kernel(a, out, grid=8, threadgroup=8)
    assert looked[0] == seen < 80
    other = a.copy()  # other memory is looked at, and so is another type there
    out.fill(np.nan)
    kernel(other, out, grid=8, threadgroup=8)
    np.testing.assert_array_equal(out, expected)
    assert looked[0] > seen
    if name == "points":
        with pytest.raises(LaunchError, match="elsewhere"):
            kernel(a.view([("x", "<f4"), ("y", "<f4"), ("n", "<u4")]), out, grid=8, threadgroup=8)


def test_a_frozen_array_is_not_written_by_a_launch_that_repeats(looked: list[int]) -> None:
    kernel = mt.device("cpu").library(ROWS)["packed"]
    a, out = np.ones((8, 3), np.float32), np.empty(8, np.float32)
    a.flags.writeable = False
    for _ in range(80):
        kernel(a, out, grid=8, threadgroup=8)
    a.flags.writeable = True  # which changes nothing for who only reads
    kernel(a, out, grid=8, threadgroup=8)
    out.flags.writeable = False
    with pytest.raises(LaunchError, match="read-only"):
        kernel(a, out, grid=8, threadgroup=8)
