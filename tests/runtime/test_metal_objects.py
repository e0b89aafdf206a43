"""The rest of Metal's objects: blits, indirect dispatches, fences, events, heaps, argument encoders, labels."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import DeviceError, KernelFault, LaunchError

TEXT = """#include <metal_stdlib>
using namespace metal;
struct Pair { device float* x [[id(0)]]; device float* y [[id(1)]]; float scale [[id(2)]]; };
kernel void add(device float* x, constant float& a, uint i [[thread_position_in_grid]]) { x[i] += a; }
kernel void count(device uint* groups, uint i [[thread_position_in_grid]]) {
    groups[0] = 3; groups[1] = 2; groups[2] = 1; }
kernel void where(device uint* seen, uint2 g [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    seen[g.y * 3 + g.x] = t + 1; }
kernel void follow(constant ulong* address, device float* out, constant uint& at, uint i [[thread_position_in_grid]]) {
    out[i] = reinterpret_cast<device const float*>(address[0])[i + at]; }
kernel void scaled(constant Pair& p, uint i [[thread_position_in_grid]]) { p.y[i] = p.x[i] * p.scale; }
kernel void version(device int* out) { out[0] = __METAL_VERSION__; }
"""
DEVICE = mt.device("cpu")


@pytest.fixture(scope="module")
def library():
    return DEVICE.library(TEXT)


def run(encode):
    commands = DEVICE.queue().command_buffer()
    encode(commands)
    commands.commit()
    commands.wait_until_completed()
    return commands


def test_blits_copy_and_fill_in_order_with_kernels(library):
    x, y = DEVICE.buffer(np.arange(8, dtype=np.float32), copy=True), DEVICE.zeros(8)
    pattern = DEVICE.bytes(12)

    def encode(commands):
        with commands.blit_encoder("moves") as blit:
            blit.copy(x, y, 16, source_offset=8, destination_offset=4)
            blit.fill(x, 0, size=8)
            blit.fill(pattern, b"\x01\x02\x03\x04")
            blit.fill(pattern, 255, size=1, offset=11)
            blit.synchronize(x)
        with commands.compute_encoder() as compute:
            compute.dispatch(library["add"], y, 1.0, grid=8)

    run(encode)
    assert x.numpy().tolist() == [0, 0, 2, 3, 4, 5, 6, 7]
    assert y.numpy().tolist() == [1, 3, 4, 5, 6, 1, 1, 1]
    assert pattern.numpy().tolist() == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 255]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda b, x: b.copy(x, x, 8, 0, 28), "bytes 28 to 36 are outside the destination of 32 bytes"),
        (lambda b, x: b.copy(x, x, 16, 0, 8), "of one buffer overlap"),
        (lambda b, x: b.copy(x, x, -1), "size is -1"),
        (lambda b, x: b.fill(x, 256), "value is 256; it can be from 0 to 255"),
        (lambda b, x: b.fill(x, b"abc"), "a pattern of 3 bytes does not fill 32 bytes"),
        (lambda b, x: b.fill(x, 0, 4, 29), "outside the buffer of 32 bytes"),
        (lambda b, x: b.copy("x", x), "the source is 'x'"),
    ],
)
def test_blits_outside_of_buffers_are_refused(ask, says):
    blit = DEVICE.queue().command_buffer().blit_encoder()
    with pytest.raises(LaunchError, match=says):
        ask(blit, DEVICE.zeros(8))


def test_a_dispatch_takes_its_size_from_what_a_kernel_wrote(library):
    groups, seen = DEVICE.zeros(4, "uint32"), DEVICE.zeros(6, "uint32")

    def encode(commands):
        with commands.compute_encoder() as encoder:
            encoder.dispatch(library["count"], groups[1:], grid=1)
            encoder.set_pipeline(library["where"])
            encoder.set_buffer(seen)
            encoder.dispatch_threadgroups_indirect(groups, 4, offset=4)

    run(encode)
    assert groups.numpy().tolist() == [0, 3, 2, 1] and set(seen.numpy().tolist()) <= {1, 2, 3, 4}
    assert (seen.numpy() > 0).all(), "3 x 2 threadgroups ran"

    def none(commands):
        with commands.compute_encoder() as encoder:
            encoder.set_pipeline(library["where"])
            encoder.set_buffer(seen)
            encoder.dispatch_threadgroups_indirect(groups, 4)

    seen.numpy()[:] = 9
    run(none)
    assert (seen.numpy() == 9).all(), "one of the counts is 0: no thread runs"
    encoder = DEVICE.queue().command_buffer().compute_encoder()
    with pytest.raises(LaunchError, match="are not inside a buffer of 16 bytes"):
        encoder.dispatch_threadgroups_indirect(groups, 4, offset=8)


def test_indirect_commands_run_as_often_as_they_are_asked_for(library):
    x, a = DEVICE.zeros(4), DEVICE.buffer(np.array([1.0, 10.0], np.float32), copy=True)
    stored = DEVICE.indirect_commands(3)
    for n in range(2):
        stored[n].set_pipeline(library["add"])
        stored[n].set_buffer(x, 0, 0)
        stored[n].set_buffer(a, 4 * n, 1)
        stored[n].dispatch_threads(4, 4)

    def encode(commands):
        with commands.compute_encoder(raw=True) as encoder:
            encoder.execute(stored)
            encoder.execute(stored, 1, 1)

    run(encode)
    assert x.numpy().tolist() == [21] * 4
    stored[1].reset()
    run(encode)
    assert x.numpy().tolist() == [22] * 4
    with pytest.raises(LaunchError, match="index is 3; it can be from 0 to 2"):
        stored[3]


def test_raw_encoders_take_more_memory_than_the_kernel_needs(library):
    x, a = DEVICE.bytes(16), DEVICE.bytes(64)
    a.numpy()[4:8] = np.frombuffer(np.float32(2.5).tobytes(), np.uint8)

    def encode(commands):
        with commands.compute_encoder(raw=True) as encoder:
            encoder.set_pipeline(library["add"])
            encoder.set_buffer(x, 0, 0)
            encoder.set_buffer(a, 4, 1)
            encoder.dispatch_threads(4, 4)
            encoder.set_bytes(np.float32(1).tobytes() + b"more", 1)
            encoder.dispatch_threads(4, 4)

    run(encode)
    assert x.view("float32").numpy().tolist() == [3.5] * 4


def test_fences_and_debug_groups_are_kept_in_pairs(library):
    fence = DEVICE.fence("halves")
    with pytest.warns(mt.LaunchWarning, match="waited for before any encoder has updated it"):
        run(lambda commands: _with(commands.compute_encoder(), lambda e: e.wait_for_fence(fence)))
    run(lambda commands: _with(commands.blit_encoder(), lambda e: e.update_fence(fence)))
    assert fence.updates == 1
    run(lambda commands: _with(commands.compute_encoder(), lambda e: e.wait_for_fence(fence)))
    encoder = DEVICE.queue().command_buffer().compute_encoder()
    with pytest.raises(LaunchError, match="pop_debug_group without a push_debug_group"):
        encoder.pop_debug_group()


def _with(encoder, act):
    with encoder:
        act(encoder)


def test_listeners_run_on_their_own_thread_and_waits_end():
    event, listener = DEVICE.shared_event("step"), mt.EventListener()
    heard: list[tuple[int, int]] = []
    done = threading.Event()

    def block(event, value):
        heard.append((value, threading.get_ident()))
        done.set()

    event.notify(2, block, listener)
    event.signal(1)
    assert not event.wait(2, timeout=0.01) and not heard
    event.signal(3)
    assert event.wait(2, timeout=0) and done.wait(5)
    assert heard[0][0] == 3 and heard[0][1] != threading.get_ident()
    with pytest.raises(LaunchError, match="would take it back"):
        event.signal(2)


def test_a_command_buffer_that_waits_too_long_says_so():
    commands = DEVICE.queue().command_buffer()
    commands.wait_for_event(DEVICE.shared_event("never"), 1, timeout=0.01)
    commands.commit()
    with pytest.raises(LaunchError, match=r"'never', value 0> did not reach 1 within 0.01 s"):
        commands.wait_until_completed()


def test_heaps_hold_buffers_beside_and_over_each_other():
    heap = DEVICE.heap(4096, "scratch")
    a, b = heap.buffer(100, label="a"), heap.buffer((4, 8), "float32")
    assert a.address == heap._memory.address and b.address == a.address + 256 and b.shape == (4, 8)
    assert heap.used_size == 228 and heap.max_available_size() == 4096 - 512
    over = heap.buffer(25, "float32", offset=0)
    over.numpy()[:] = 7
    assert a.numpy()[:4].view(np.float32)[0] == 7
    a.release()
    over.release()
    assert heap.max_available_size() == 4096 - 512 and heap.buffer(200).address == heap._memory.address
    with pytest.raises(DeviceError, match="5000 bytes do not fit"):
        heap.buffer(5000)
    with pytest.raises(LaunchError, match="outside the heap of 4096 bytes"):
        heap.buffer(100, offset=4000)


def test_addresses_that_kernels_load_are_known_by_the_names_of_buffers(library):
    data, out = DEVICE.buffer(np.arange(16, dtype=np.float32), copy=True), DEVICE.zeros(8)
    data.label = "weights"
    table = DEVICE.buffer(np.array([data.gpu_address], np.uint64), copy=True)

    def encode(at, use=True):
        def made(commands):
            with commands.compute_encoder("gather") as encoder:
                if use:
                    encoder.use_resource(data)
                encoder.dispatch(library["follow"], table, out, at, grid=8)

        return made

    run(encode(4))
    assert out.numpy().tolist() == list(range(4, 12))
    with pytest.raises(KernelFault, match=r"past the end of 'weights' .64 bytes.") as caught:
        run(encode(16))
    assert "in encoder 'gather'" in str(caught.value)
    with pytest.raises(KernelFault, match=r"Buffer\('weights', 64 bytes: float32\[16\]\) is there"):
        run(encode(4, use=False))
    with mt.checked() as report:
        run(encode(12))
    assert "in encoder 'gather'" in report.text() and report.findings[0].rule == "M101"
    assert "4 bytes past 'weights' (64 bytes)" in report.text()
    with mt.checked() as report:
        run(encode(4, use=False))
    assert (
        "an address of Buffer('weights', 64 bytes: float32[16]), which the encoder does not know"
        in report.text()
    )


def test_a_buffer_that_nobody_told_is_named_though_another_ends_before_it(library):
    memory = np.zeros(256, np.float32)
    out, data = DEVICE.buffer(memory[:8]), DEVICE.buffer(memory[64:80])
    data.label = "weights"
    assert data.gpu_address == out.gpu_address + 256
    for at, says in ((0, "an address of Buffer('weights'"), (-54, "12 bytes past 'out' (32 bytes)")):
        table = DEVICE.buffer(np.array([data.gpu_address + 4 * at], np.uint64), copy=True)
        with mt.checked() as report:
            commands = DEVICE.queue().command_buffer()
            with commands.compute_encoder() as encoder:
                encoder.dispatch(library["follow"], table, out, 0, grid=1)
            commands.commit()
            commands.wait_until_completed()
        assert says in report.text()


def test_argument_encoders_write_the_struct_that_a_kernel_declares(library):
    x, y = DEVICE.buffer(np.arange(4, dtype=np.float32), copy=True), DEVICE.zeros(4)
    encoder = library["scaled"].argument_encoder(0)
    assert encoder.encoded_length == 24
    memory = DEVICE.bytes(2 * encoder.encoded_length)
    with pytest.raises(LaunchError, match="Call set_argument_buffer first"):
        encoder.set_buffer(x, 0, 0)
    encoder.set_argument_buffer(memory, element=1)
    encoder.set_buffer(x, 0, 0)
    encoder.set_buffer(y, 0, 1)
    encoder.set_constant(3.0, 2)
    assert encoder.constant_data(2).view(np.float32)[0] == 3
    with pytest.raises(LaunchError, match="has no index 3; it has 0, 1, 2"):
        encoder.set_buffer(x, 0, 3)

    def encode(commands):
        with commands.compute_encoder(raw=True) as compute:
            compute.set_pipeline(library["scaled"])
            compute.set_buffer(memory, 24, 0)
            compute.use_resource(x)
            compute.use_resource(y)
            compute.dispatch_threads(4, 4)

    run(encode)
    assert y.numpy().tolist() == [0, 3, 6, 9]


def test_findings_and_traces_show_labels(library):
    x = DEVICE.zeros(4)
    queue = DEVICE.queue("main")
    with DEVICE.trace() as trace:
        commands = queue.command_buffer("frame")
        commands.push_debug_group("pass 1")
        encoder = commands.compute_encoder("grow")
        encoder.push_debug_group("tail")
        encoder.set_pipeline(library["add"])
        encoder.set_buffer(x)
        encoder.set_bytes(1.0, index=1)
        encoder.dispatch_threads(5, 5)
        encoder.insert_debug_signpost("half way")
        encoder.end_encoding()
        commands.commit()
        with pytest.raises(KernelFault) as caught:
            commands.wait_until_completed()
    where = "in command buffer 'frame', group 'pass 1', encoder 'grow', group 'tail'"
    assert where in str(caught.value)
    kinds = [step.kind for step in trace.steps]
    wanted = [
        "command buffer",
        "encoder",
        "pipeline",
        "bind",
        "dispatch",
        "end",
        "commit",
        "schedule",
        "complete",
    ]
    assert [kind for kind in dict.fromkeys(kinds) if kind in wanted] == wanted
    with mt.checked() as report:
        commands = queue.command_buffer("frame")
        with commands.compute_encoder() as encoder:
            encoder.dispatch(library["add"], x, 1.0, grid=5)
        commands.commit()
        commands.wait_until_completed()
    assert "in command buffer 'frame'" in report.text()
    assert report.findings[0].json()["during"] == "command buffer 'frame'"


def test_the_device_says_what_it_is(library):
    info = DEVICE.info
    assert info.unified_memory and info.max_threads_per_threadgroup == 1024 and info.simd_width == 32
    assert 0 < info.max_buffer_length <= info.working_set
    assert DEVICE.supports_family("apple7") and not DEVICE.supports_family("apple99")
    first, second = DEVICE.timestamps(), DEVICE.timestamps()
    assert second.gpu >= first.gpu == first.cpu
    before = DEVICE.current_allocated_size
    kept = DEVICE.bytes(1 << 20)
    assert DEVICE.current_allocated_size - before >= 1 << 20 and kept.nbytes == 1 << 20


def test_pipelines_say_what_they_take(library):
    x, a = library["add"].reflection
    assert (x.name, x.index, x.access, x.type, x.size) == ("x", 0, "read_write", "float", 4)
    assert (a.name, a.kind, a.access, a.used) == ("a", "buffer", "read", True)
    (pair,) = library["scaled"].reflection
    assert [field.name for field in pair.members] == ["x", "y", "scale"] and pair.size == 24


def test_a_language_version_is_what_the_preprocessor_says(library):
    out = np.zeros(1, np.int32)
    library["version"](out, grid=1)
    assert out[0] == 320
    DEVICE.library(TEXT, language_version="2.4")["version"](out, grid=1)
    assert out[0] == 240
    with pytest.raises(DeviceError, match=r"no language version '9.9'"):
        DEVICE.library(TEXT, language_version="9.9")


def test_time_on_the_device_does_not_count_compiling():
    text = "kernel void fresh(device float* x, uint i [[thread_position_in_grid]]) { x[i] = sin(x[i]) * %d; }"
    library = DEVICE.library("#include <metal_stdlib>\nusing namespace metal;\n" + text % id(object()))
    x = DEVICE.zeros(64)
    times = []
    for _ in range(2):
        commands = run(
            lambda c: _with(c.compute_encoder(), lambda e: e.dispatch(library["fresh"], x, grid=64))
        )
        times.append(commands.gpu_time)
    assert 0 < times[0] < 0.02, f"a launch of 64 threads took {times[0]} s, so it was compiled meanwhile"


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: DEVICE.empty(1 << 60), "out of memory"),
        (lambda: DEVICE.empty(-1), "shape is -1"),
        (lambda: DEVICE.empty(2.5), "shape is 2.5; pass a whole number"),
        (lambda: DEVICE.buffer(["a"]), "kernels know no <U1"),
        (lambda: DEVICE.empty(4, "float33"), "'float33' is no type of elements"),
        (lambda: len(DEVICE.buffer(np.array(3.0, np.float32))), "is one number and has no length"),
        (lambda: DEVICE.buffer(np.array(3.0, np.float32))[0], "is no piece of"),
        (lambda: DEVICE.zeros(4).view("float32", offset="a"), "offset is 'a'; pass a whole number"),
        (lambda: DEVICE.bytes(-5), "length is -5"),
        (lambda: DEVICE.heap(0), "size is 0"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(ask, says):
    with pytest.raises(mt.MetalloidError, match=says):
        ask()


def test_one_number_is_a_buffer_too(library):
    x = DEVICE.zeros(())
    library["add"](x, 2.0, grid=1)
    assert float(x.numpy()) == 2 and x.view("uint8").nbytes == 4
