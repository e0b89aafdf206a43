"""Queues, command buffers and encoders live as Metal's do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import KernelFault, LaunchError
from metalloid.runtime.places import LaunchWarning

TEXT = """#include <metal_stdlib>
using namespace metal;
kernel void add(device float* x, constant float& a, uint i [[thread_position_in_grid]]) { x[i] += a; }
kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
kernel void local(device int* out, threadgroup int* s [[threadgroup(0)]], uint t [[thread_index_in_threadgroup]]) {
    s[t] = int(t); threadgroup_barrier(mem_flags::mem_threadgroup); out[t] = s[63 - t]; }
"""
DEVICE = mt.device("cpu")


@pytest.fixture(scope="module")
def library():
    return DEVICE.library(TEXT)


def encode(commands, kernel, buffer, value=None, n=None):
    encoder = commands.compute_encoder()
    encoder.set_pipeline(kernel)
    encoder.set_buffer(buffer, offset=0, index=0)
    if value is not None:
        encoder.set_bytes(value, index=1)
    encoder.dispatch_threads(n or buffer.shape[0], 64)
    encoder.end_encoding()


def test_the_life_of_a_command_buffer(library):
    x = DEVICE.zeros(256)
    commands = DEVICE.queue().command_buffer()
    seen: list[str] = []
    assert commands.status == "not enqueued"
    commands.enqueue()
    assert commands.status == "enqueued"
    commands.add_scheduled_handler(lambda c: seen.append(str(c.status)))
    commands.add_completed_handler(lambda c: seen.append(str(c.status)))
    encode(commands, library["add"], x, 1.0)
    encode(commands, library["twice"], x)
    assert (x._array == 0).all(), "nothing runs before commit"
    commands.commit()
    commands.wait_until_completed()
    assert commands.status == "completed" and commands.error is None
    assert (x.numpy() == 2).all()
    deadline = time.monotonic() + 5
    while len(seen) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert seen == ["scheduled", "completed"]
    assert commands.gpu_time > 0 and commands.gpu_end_time > commands.gpu_start_time


def test_command_buffers_of_a_queue_run_in_order(library):
    x = DEVICE.zeros(64)
    queue = DEVICE.queue()
    first, second, third = (queue.command_buffer() for _ in range(3))
    for commands in (first, second, third):
        commands.enqueue()
    encode(third, library["add"], x, 1.0)
    encode(second, library["twice"], x)
    encode(first, library["add"], x, 5.0)
    third.commit()
    second.commit()
    assert not third.done and third.status == "committed"
    first.commit()
    third.wait_until_completed()
    assert (x.numpy() == 11).all()


def test_work_goes_on_in_the_background(library):
    queue, event = DEVICE.queue(), DEVICE.queue().event()
    commands = queue.command_buffer()
    commands.wait_for_event(event, 1)
    x = DEVICE.zeros(64)
    encode(commands, library["add"], x, 1.0)
    commands.commit()
    time.sleep(0.02)
    assert not commands.done
    with pytest.raises(TimeoutError, match="still"):
        commands.wait_until_completed(timeout=0.01)
    event.signal(1)
    commands.wait_until_completed()
    assert (x.numpy() == 1).all()


def test_events_order_the_work_of_two_queues(library):
    x = DEVICE.zeros(64)
    event = mt.SharedEvent()
    reader, writer = DEVICE.queue().command_buffer(), DEVICE.queue().command_buffer()
    reader.wait_for_event(event, 7)
    encode(reader, library["twice"], x)
    encode(writer, library["add"], x, 3.0)
    writer.signal_event(event, 7)
    reached = threading.Event()
    event.notify(7, lambda *_: reached.set())
    reader.commit()
    writer.commit()
    reader.wait_until_completed()
    assert (x.numpy() == 6).all() and event.value == 7 and reached.wait(5)
    with pytest.raises(LaunchError, match="would take it back"):
        event.signal(3)


def test_commands_can_be_awaited(library):
    async def main() -> float:
        x = DEVICE.zeros(64)
        commands = DEVICE.queue().command_buffer()
        encode(commands, library["add"], x, 4.0)
        commands.commit()
        await commands
        await commands
        return float(x.numpy()[0])

    assert asyncio.run(main()) == 4


def test_a_fault_comes_out_of_wait_and_await_and_error(library):
    x = DEVICE.zeros(64)
    commands = DEVICE.queue().command_buffer()
    encode(commands, library["add"], x, 1.0, n=128)
    commands.commit()
    with pytest.raises(KernelFault, match="out-of-bounds"):
        commands.wait_until_completed()
    assert commands.status == "error" and isinstance(commands.error, KernelFault)

    async def main() -> None:
        await commands

    with pytest.raises(KernelFault):
        asyncio.run(main())


def test_bindings_stay_between_dispatches_and_offsets_count_bytes(library):
    x = DEVICE.zeros(128)
    commands = DEVICE.queue().command_buffer()
    with commands.compute_encoder() as encoder:
        encoder.set_pipeline(library["add"])
        encoder.set_bytes(2.0, index=1)
        encoder.set_buffer(x, offset=256, index=0)
        encoder.dispatch_threads(64, 64)
        encoder.dispatch_threadgroups(1, 64)
        encoder.set_pipeline(library["twice"])
        encoder.dispatch_threads(64, 64)
    commands.commit()
    commands.wait_until_completed()
    assert (x.numpy()[:64] == 0).all() and (x.numpy()[64:] == 8).all()


def test_bytes_are_those_of_the_call_that_set_them():
    text = """struct Args { float v[2]; int n; };
    kernel void k(device float* out, constant Args& a) { out[0] = a.v[0] + a.n; }"""
    out, args = DEVICE.zeros(1), {"v": [1.0, 2.0], "n": 3}
    commands = DEVICE.queue().command_buffer()
    with commands.compute_encoder() as encoder:
        encoder.set_pipeline(DEVICE.library(text)["k"])
        encoder.set_buffer(out)
        encoder.set_bytes(args, index=1)
        args["v"][0], args["n"] = 100.0, 50
        encoder.dispatch_threads(1, 1)
    commands.commit()
    commands.wait_until_completed()
    assert out.numpy()[0] == 4


def test_threadgroup_memory_is_set_on_the_encoder(library):
    out = DEVICE.zeros(64, np.int32)
    commands = DEVICE.queue().command_buffer()
    encoder = commands.compute_encoder()
    encoder.set_pipeline(library["local"])
    encoder.set_buffer(out, index=0)
    with pytest.raises(LaunchError, match="M108"):
        encoder.dispatch_threads(64, 64)
    encoder.set_threadgroup_memory(256, index=0)
    encoder.dispatch_threads(64, 64)
    encoder.end_encoding()
    commands.commit()
    commands.wait_until_completed()
    assert (out.numpy() == np.arange(63, -1, -1)).all()


def test_what_the_life_cycle_does_not_allow(library):
    x = DEVICE.zeros(64)
    queue = DEVICE.queue()
    commands = queue.command_buffer()
    encoder = commands.compute_encoder()
    with pytest.raises(LaunchError, match="dispatch without a pipeline"):
        encoder.dispatch_threads(64, 64)
    encoder.set_pipeline(library["add"])
    with pytest.raises(LaunchError, match="index 0 \\('x'\\) was never set"):
        encoder.dispatch_threads(64, 64)
    with pytest.raises(LaunchError, match="while an encoder is open"):
        commands.commit()
    with pytest.raises(LaunchError, match="31, from 0 to 30"):
        encoder.set_buffer(x, index=31)
    with pytest.raises(LaunchError, match="outside the buffer"):
        encoder.set_buffer(x, offset=260, index=0)
    with pytest.raises(LaunchError, match="middle of an element"):
        encoder.set_buffer(x, offset=2, index=0)
    encoder.end_encoding()
    with pytest.raises(LaunchError, match="after end_encoding"):
        encoder.set_buffer(x, index=0)
    with pytest.raises(LaunchError, match="never committed"):
        commands.wait_until_completed()
    commands.commit()
    with pytest.raises(LaunchError, match="committed twice"):
        commands.commit()
    with pytest.raises(LaunchError, match="after commit"):
        commands.compute_encoder()
    with pytest.raises(LaunchError, match="this queue is of"):
        mt.Device("cpu").queue().command_buffer().compute_encoder().set_pipeline(library["add"])
    with pytest.raises(LaunchError, match="a pipeline is a kernel"):
        queue.command_buffer().compute_encoder().set_pipeline("add")


def test_reading_a_result_before_it_is_there_warns(library):
    x = DEVICE.zeros(64)
    commands = DEVICE.queue().command_buffer()
    encode(commands, library["add"], x, 1.0)
    with pytest.warns(LaunchWarning, match="M308"):
        x.numpy()
    commands.commit()
    commands.wait_until_completed()
    assert (x.numpy() == 1).all()


LOST = """
import metalloid as mt
device = mt.device("cpu")
kernel = device.library("kernel void one(device float* x) { x[0] = 1; }")["one"]
x = device.zeros(4)
commands = device.queue().command_buffer()
encoder = commands.compute_encoder()
encoder.dispatch(kernel, x, grid=1, threadgroup=1)
encoder.end_encoding()
"""


@pytest.mark.parametrize("trace", ["", "1"])
def test_what_was_never_committed_is_told_at_exit_with_its_line(trace, tmp_path, monkeypatch):
    script = tmp_path / "lost.py"
    script.write_text(LOST)
    monkeypatch.setenv("METALLOID_TRACE", trace)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert (
        "lost.py:6: M308 command buffer with kernel 'one' was never committed: its work never ran"
        in done.stderr
    )
    assert ("lost.py:5: M309 Buffer" in done.stderr) == bool(trace)


def test_an_empty_command_buffer_is_no_loss(tmp_path):
    script = tmp_path / "empty.py"
    script.write_text(LOST.split("encoder =")[0])
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_committed_work_runs_also_where_the_program_ends(tmp_path):
    script = tmp_path / "ends.py"
    script.write_text(
        LOST + "commands.add_completed_handler(lambda c: print(x.numpy()[0]))\ncommands.commit()\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "1.0\n" and "M308" not in done.stderr


def test_a_program_ends_though_a_queue_waits_for_ever(tmp_path):
    script = tmp_path / "waits.py"
    script.write_text(LOST + "commands.wait_for_event(mt.SharedEvent(), 1)\ncommands.commit()\n")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=60
    )
    assert "never ran: it waits for <shared event, value 0> to reach 1" in done.stderr


def test_what_went_wrong_is_told_though_the_buffer_was_released_meanwhile(library):
    queue = DEVICE.queue()
    for size in (128, 64, 64):  # the later ones go the short way
        x, commands = DEVICE.zeros(size), queue.command_buffer()
        encode(commands, library["twice"], x, n=128)
        x.release()
        commands.commit()
        if size == 128:
            commands.wait_until_completed()
        else:
            with pytest.raises(KernelFault, match="M101"):
                commands.wait_until_completed()


def test_leaks_are_listed_on_demand():
    buffer = DEVICE.zeros(4)
    mine = [r for r in mt.leaks() if "test_commands.py" in r.place and r.kind == "buffer"]
    assert mine and "M309" in str(mine[-1])
    count = len(mine)
    buffer.release()
    assert len([r for r in mt.leaks() if "test_commands.py" in r.place and r.kind == "buffer"]) == count - 1


def test_the_asynchronous_form(library):
    async def main() -> np.ndarray:
        async with mt.Accelerator() as accelerator:
            x = await accelerator.allocate(np.arange(100, dtype=np.float32))
            kernel = await accelerator.compile(mt.KernelDefinition("add", TEXT))
            seconds = await accelerator.execute(kernel, 100, 32, x, 2.5)
            assert seconds > 0
            with pytest.raises(KernelFault):
                await accelerator.execute(kernel, 200, 32, await accelerator.allocate(100), 2.5)
            result = await accelerator.read(x)
        assert x.released
        return result

    assert (asyncio.run(main()) == np.arange(100) + 2.5).all()
