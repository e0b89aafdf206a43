"""What launches may bring besides buffers and have to say besides faults: as the CPU has it. On a GPU, or imitated."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.base import LogMessage
from metalloid.backends.cuda import program
from metalloid.backends.cuda.span import CudaSpan
from metalloid.runtime.recording import Recording
from tests.cuda.simulator.gpu import installed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")

HEADER = "#include <metal_stdlib>\n#include <metal_logging>\nusing namespace metal;\n"
AT = "uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]"


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with installed():
        yield


def kernel(device: str, body: str, arguments: str, before: str = "") -> mt.Kernel:
    text = f"{HEADER}{before}kernel void k({arguments}, {AT}) {{ {body} }}"
    return mt.device(device).library(text, math="safe")["k"]


def both(body: str, arguments: str, *arrays: Any, grid: int = 64, group: int = 32, **more: Any) -> list[Any]:
    """Arrays as the GPU leaves them; the CPU must leave the same."""
    ours, right = ([a.copy() if isinstance(a, np.ndarray) else a for a in arrays] for _ in range(2))
    before = more.pop("before", "")
    for name, bound in (("cuda", ours), ("cpu", right)):
        made = kernel(name, body, arguments, before)
        made(*bound, grid=grid, threadgroup=group, **more)
        assert not made.interpreted, made.interpreted
    for one, other in zip(ours, right, strict=True):
        assert not isinstance(one, np.ndarray) or (one == other).all(), (one, other)
    return ours


def poison(count: int, dtype: Any = np.float32) -> Any:
    return np.full(count, 77, dtype)


def test_reads_outside_are_zeros_and_writes_are_dropped() -> None:
    with pytest.warns(UserWarning, match=r"M101"):
        y, _ = both("y[i] = x[i * 2 + 1] + 1;", "device float* y, device const float* x", poison(64),
                    np.arange(64, dtype=np.float32), guard="robust")  # fmt: skip
    assert (y[:32] == np.arange(1, 64, 2) + 1).all() and (y[32:] == 1).all()
    with pytest.warns(UserWarning, match=r"M102"):
        both("y[i + 3] = i;", "device float* y", poison(64), guard="robust")


def test_what_is_left_out_of_other_memories() -> None:
    wait = "threadgroup_barrier(mem_flags::mem_threadgroup);"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both(f"threadgroup float t[40]; t[l] = l; {wait} t[l + 20] = 5; {wait} y[i] = t[l + 16];", "device float* y",
             poison(64), guard="robust")  # fmt: skip
        both("float p[4]; for (uint n = 0; n < 6; n++) p[n] = n + x[n]; y[i] = p[i & 7];",
             "device float* y, device const float* x", poison(64), np.ones(8, np.float32), guard="robust")  # fmt: skip
        both("y[i] = atomic_fetch_add_explicit(x + i, 1, memory_order_relaxed) + 1;",
             "device int* y, device atomic_int* x", poison(64, np.int32), np.zeros(40, np.int32),
             guard="robust")  # fmt: skip
        both("y[i] = x[i];", "device float* y, constant float* x", poison(64), np.ones(40, np.float32),
             guard="robust")  # fmt: skip
        both("simdgroup_float8x8 m; simdgroup_load(m, x, 8); simdgroup_store(m, y, 9);",
             "device float* y, device const float* x", poison(70), np.arange(40, dtype=np.float32),
             guard="robust", grid=32)  # fmt: skip


def test_the_warning_names_the_place_once() -> None:
    made = kernel("cuda", "y[i] = x[i + 1];", "device float* y, device const float* x")
    y, x = poison(64), np.ones(64, np.float32)
    with pytest.warns(UserWarning) as told:
        for _ in range(3):
            made(y, x, grid=64, threadgroup=64, guard="robust")
    assert len(told) == 1 and "4 bytes past 'x' (256 bytes)" in str(told[0].message)
    with pytest.raises(mt.KernelFault, match="M101"):  # the place of faults is clean
        made(y, x, grid=64, threadgroup=64)


def test_messages_come_with_their_threads() -> None:
    body = 'if (i % 40 == 3) os_log_default.log_info("%u: %f %ld", i, x[i], long(i) - 5000000000l); y[i] = i;'
    found: dict[str, set[Any]] = {}
    for name in ("cuda", "cpu"):
        got: list[LogMessage] = []
        made = kernel(name, body, "device float* y, device const float* x")
        made.on_log = got.append
        for _ in range(2):
            made(poison(96), np.arange(96, dtype=np.float32) / 2, grid=96, threadgroup=32)
        assert len(got) == 6
        found[name] = {(m.text, m.level, m.thread) for m in got}
    assert found["cuda"] == found["cpu"]
    assert ("43: 21.500000 -4999999957", 2, (43, 0, 0)) in found["cuda"]


STRUCT = "struct Args { device float* a; device const float* b; uint n; };\n"


def test_argument_buffers() -> None:
    arguments = "constant Args& args, device float* y"
    body = "if (i < args.n) { args.a[i] = args.b[i] * 2; y[i] = args.b[args.n - 1 - i]; }"
    for name in ("cuda", "cpu"):
        device = mt.device(name)
        b, a, y = np.arange(50, dtype=np.float32), poison(50), poison(50)
        made, held = kernel(name, body, arguments, STRUCT), device.buffer(b)
        made({"a": a, "b": held, "n": 50}, y, grid=64, threadgroup=32)
        assert not made.interpreted
        assert (a == 2 * b).all() and (y == b[::-1]).all(), name
        kept = device.buffer(poison(50))
        made({"a": kept, "b": b, "n": 50}, y, grid=64, threadgroup=32)
        assert (kept.numpy() == 2 * b).all()
        with pytest.raises(mt.KernelFault, match=r"M10[12]"):
            made({"a": a[:40], "b": held, "n": 50}, y, grid=64, threadgroup=32)


def test_a_pointer_into_one_of_several_arrays() -> None:
    wait = "threadgroup_barrier(mem_flags::mem_threadgroup);"
    body = f"threadgroup float s[32], t[64]; s[l] = l; t[l] = t[l + 32] = 100 + l; {wait}"
    body += "threadgroup float* p = x[i] > 0 ? s : t; y[i] = p[31 - l]; "
    x = np.where(np.arange(64) % 3 == 0, 1, -1).astype(np.float32)
    y, _ = both(body, "device float* y, device const float* x", poison(64), x)
    assert y[0] == 31 and y[1] == 130
    with pytest.raises(mt.KernelFault, match=r"M101 .*out-of-bounds read"):
        made = kernel("cuda", body.replace("31 - l", "l + 1000"), "device float* y, device const float* x")
        made(poison(64), x, grid=64, threadgroup=32)


def test_recordings_of_such_launches_run_one_by_one() -> None:
    made = kernel("cuda", "y[i] = x[i + 1];", "device float* y, device const float* x")
    y, x = mt.device("cuda").buffer(poison(64)), mt.device("cuda").buffer(np.ones(64, np.float32))
    recording = Recording("robust")
    recording.add(made, y, x, grid=64, threadgroup=64)
    with pytest.warns(UserWarning, match="M101"):
        recording.run()
    assert (y.numpy()[:63] == 1).all() and y.numpy()[63] == 0


ADD = "if (i < n) y[i] = x[i] + 1;"
ADD_OF = "device float* y, device const float* x, constant uint& n"


def encoded(add: mt.Kernel, *calls: tuple[Any, ...]) -> Any:
    commands = mt.device("cuda").queue().command_buffer()
    with commands.compute_encoder() as encoder:
        for arguments in calls:
            encoder.dispatch(add, *arguments, grid=128, threadgroup=32)
    return commands


def test_a_command_buffer_waits_once_and_knows_its_time() -> None:
    device, add = mt.device("cuda"), kernel("cuda", ADD, ADD_OF)
    a, b = device.zeros(64), device.zeros(64)
    for total in (12, 24):  # the long way, then the short one
        event, seen = device.shared_event(), []
        event.notify(1, lambda *_, seen=seen: seen.append(program.memory().gpu.done()))
        commands = encoded(add, *[(b, a, 64), (a, b, 64)] * 6)
        commands.signal_event(event, 1)
        with mock.patch.object(CudaSpan, "start", autospec=True, side_effect=CudaSpan.start) as held:
            commands.commit()
            commands.wait_until_completed()
        assert (a.numpy() == total).all() and seen == [True]
        assert 0 < commands.gpu_time < 5
    assert held.call_count == 11  # the first brings what the host has looked at


def test_a_fault_in_a_command_buffer_names_its_launch() -> None:
    device, add = mt.device("cuda"), kernel("cuda", ADD, ADD_OF)
    large, small = device.zeros(128), device.zeros(64)
    add(large, small, 64, grid=128, threadgroup=32)
    for _ in range(3):  # the queue goes on
        commands = encoded(add, (large, small, 64), (small, large, 66), (large, small, 64))
        commands.commit()
        told = r"M102 out-of-bounds write, 4 bytes past 'y' \(256 bytes\)(.|\n)*thread \(6[45],0,0\)"
        with pytest.raises(mt.KernelFault, match=told):
            commands.wait_until_completed()


@pytest.mark.parametrize("rest", ["", "n += simd_max(int(l) * k);"])
def test_lanes_that_leave_loops_in_loops_go_round_together(rest: str) -> None:
    """Who leaves the inner loop first does not meet the others there in the next round of the outer one."""
    ends = np.random.default_rng(2).integers(1, 9, 64).astype(np.int32)
    body = (
        f"int n = 0, k = 0; do {{ {rest} for (int j = 0; j < (int(l) + k) % 4; j++) n ^= simd_sum(j + k); }}"
        " while (++k < ends[i]); out[i] = n;"
    )
    both(body, "device int* out, device const int* ends", poison(64, np.int32), ends)
    both(body, "device int* out, device const int* ends", poison(50, np.int32), ends, grid=50)
