"""What only a GPU can show. Without one these are skipped; `python -m conformance nvidia run` runs them as well."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cuda import driver
from metalloid.runtime.recording import Recording

pytestmark = pytest.mark.skipif(bool(driver.missing()), reason="there is no NVIDIA GPU here")

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
ADD = """
kernel void add(device const float* a, device const float* b, device float* c, constant uint& n,
                uint i [[thread_position_in_grid]]) {
    if (i < n) c[i] = a[i] + b[i];
}"""


def kernel(text: str, name: str, math: str = "safe") -> mt.Kernel:
    return mt.device("cuda").library(HEADER + text, math=math)[name]


def test_numpy_goes_in_and_out() -> None:
    for n in (1, 31, 1000, 100_003):
        a, b = np.random.default_rng(n).random((2, n), np.float32)
        c = np.full(n, np.nan, np.float32)
        for _ in range(3):  # the long road, then the short one
            kernel(ADD, "add")(a, b, c, n, grid=n, threadgroup=64)
            assert (c == a + b).all()


def test_a_ragged_grid_has_threads_of_its_own_only() -> None:
    count = "kernel void count(device atomic_uint* n, uint3 g [[thread_position_in_grid]]) {" \
            " atomic_fetch_add_explicit(n, 1 + g.x * 0, memory_order_relaxed); }"  # fmt: skip
    n = np.zeros(1, np.uint32)
    kernel(count, "count")(n, grid=(37, 5, 3), threadgroup=(16, 4, 2))
    assert n[0] == 37 * 5 * 3


def test_a_fault_names_line_thread_and_buffer_and_the_next_launch_runs() -> None:
    over = "kernel void over(device float* y, uint i [[thread_position_in_grid]]) {\n y[i] = 1;\n}"
    y = np.zeros(100, np.float32)
    for _ in range(3):
        told = r"M102 out-of-bounds write, 4 bytes past 'y' \(400 bytes\)(.|\n)*thread \(100,0,0\)"
        with pytest.raises(mt.KernelFault, match=told):
            kernel(over, "over")(y, grid=101, threadgroup=101)
    kernel(over, "over")(y, grid=100, threadgroup=50)
    assert (y == 1).all()


def test_a_kernel_without_end_is_stopped() -> None:
    spin = (
        "kernel void spin(device uint* x, uint i [[thread_position_in_grid]]) { while (x[0] == 0) x[1] = i; }"
    )
    x = np.zeros(2, np.uint32)
    with pytest.raises(mt.KernelFault, match=r"still running after 0\.3 s"):
        kernel(spin, "spin")(x, grid=64, threadgroup=64, timeout=0.3)
    a, c = np.ones(64, np.float32), np.zeros(64, np.float32)
    kernel(ADD, "add")(a, a.copy(), c, 64, grid=64, threadgroup=64)
    assert (c == 2).all()


def test_buffers_stay_on_the_gpu_and_views_of_them_stay_true() -> None:
    device = mt.device("cuda")
    add = kernel(ADD, "add")
    a, b, c = device.buffer(np.arange(64.0), np.float32), device.zeros(64), device.empty(64)
    add(a, b, c, 64, grid=64, threadgroup=64)
    seen = c.numpy()  # alive: every launch has to be seen in it
    assert (seen == np.arange(64)).all()
    b.numpy()[:] = 5
    add(a, b, c, 64, grid=64, threadgroup=64)
    assert (seen == np.arange(64) + 5).all()
    a.numpy()[3] = 100
    add(a, b, c, 64, grid=64, threadgroup=64)
    assert seen[3] == 105
    part = device.zeros((4, 64))
    add(a, b, part[2], 64, grid=64, threadgroup=64)
    assert (part.numpy()[2] == seen).all() and not part.numpy()[[0, 1, 3]].any()


def test_arrays_of_other_libraries_are_taken_as_they_are() -> None:
    cupy = pytest.importorskip("cupy")
    add = kernel(ADD, "add")
    a, b = cupy.arange(1000, dtype=cupy.float32), cupy.ones(1000, cupy.float32)
    c = cupy.zeros(1000, cupy.float32)
    for n in range(3):
        a += n
        add(a, b, c, 1000, grid=1000, threadgroup=128)
        assert (c == a + b).all()
    made = mt.device("cuda").zeros(10)
    cupy.asarray(made)[:] = 7
    assert (made.numpy() == 7).all()
    with pytest.raises(mt.LaunchError, match="not contiguous"):
        add(a[::2], b, c, 500, grid=500, threadgroup=128)


def test_tensors_of_pytorch_are_taken_as_they_are() -> None:
    torch = pytest.importorskip("torch")
    add = kernel(ADD, "add")
    a, b = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda")
    c = torch.zeros(1000, device="cuda")
    add(a, b, c, 1000, grid=1000, threadgroup=100)
    assert torch.equal(c, a + b)


def test_barriers_that_some_lanes_pass_by() -> None:
    text = """
kernel void parted(device uint* y, uint l [[thread_index_in_threadgroup]]) {
    threadgroup uint t[96];
    t[l] = l;
    if (l % 3 == 0) { threadgroup_barrier(mem_flags::mem_threadgroup); t[l] += 100; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l / 32 == 1) { threadgroup_barrier(mem_flags::mem_threadgroup); t[l] += 1000; }
    if (l == 5) return;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[l] = t[95 - l];
}"""
    y, right = np.zeros(96, np.uint32), np.zeros(96, np.uint32)
    kernel(text, "parted")(y, grid=96, threadgroup=96, timeout=5)
    mt.device("cpu").library(HEADER + text, math="safe")["parted"](right, grid=96, threadgroup=96)
    assert (y == right).all(), (y, right)


def test_indices_beyond_32_bits() -> None:
    cupy = pytest.importorskip("cupy")
    n = (1 << 32) + (1 << 20)
    text = """
kernel void mark(device uchar* y, constant ulong& n, uint i [[thread_position_in_grid]]) {
    for (ulong k = i; k < n; k += 1 << 20) y[k] = uchar(k >> 20) + 1;
}"""
    y = cupy.zeros(n, cupy.uint8)
    kernel(text, "mark")(y, np.array(n, np.uint64), grid=1 << 20, threadgroup=256)
    at = np.array([0, 1 << 20, (1 << 32) - 1, 1 << 32, n - 1])
    assert (cupy.asnumpy(y[at]) == ((at >> 20) + 1).astype(np.uint8)).all()


@pytest.mark.parametrize("kind", ["uint", "int", "float", "ulong"])
def test_atomics(kind: str) -> None:
    dtype = {"uint": np.uint32, "int": np.int32, "float": np.float32, "ulong": np.uint64}[kind]
    what = "max" if kind == "ulong" else "add"
    name = f"atomic_{what}_explicit" if kind == "ulong" else "atomic_fetch_add_explicit"
    text = f"kernel void k(device atomic<{kind}>* y, uint i [[thread_position_in_grid]]) {{" \
           f" {name}(y + (i & 7), ({kind})(i), memory_order_relaxed); }}"  # fmt: skip
    y = np.zeros(8, dtype)
    kernel(text, "k")(y, grid=4096, threadgroup=128)
    right = [np.arange(n, 4096, 8).max() if what == "max" else np.arange(n, 4096, 8).sum() for n in range(8)]
    assert (y == np.array(right, dtype)).all()


def test_a_matrix_product() -> None:
    text = """
#include <metal_simdgroup_matrix>
kernel void mm(device const float* a, device const float* b, device float* c) {
    simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8, 8>(0);
    for (uint k = 0; k < 32; k += 8) {
        simdgroup_load(x, a + k, 32);
        simdgroup_load(y, b + 8 * k, 8);
        simdgroup_multiply_accumulate(z, x, y, z);
    }
    simdgroup_store(z, c, 8);
}"""
    a, b = np.random.default_rng(1).random((2, 256), np.float32)
    c = np.zeros((8, 8), np.float32)
    kernel(text, "mm")(a, b, c, grid=32, threadgroup=32)
    np.testing.assert_allclose(c, a.reshape(8, 32).astype(float) @ b.reshape(32, 8), rtol=1e-5)


def test_recordings() -> None:
    device = mt.device("cuda")
    add = kernel(ADD, "add")
    a, b, c = device.buffer(np.ones(256, np.float32)), device.zeros(256), device.zeros(256)
    recording = Recording()
    for _ in range(5):
        recording.add(add, a, b, c, 256, grid=256, threadgroup=64)
        recording.add(add, a, c, b, 256, grid=256, threadgroup=64)
    recording.run()
    assert (b.numpy() == 10).all()
    recording.run()
    assert (b.numpy() == 20).all()
    a.numpy()[:] = 0
    recording.run()
    assert (b.numpy() == 20).all()


def test_counters_that_are_bound_twice_are_read_as_they_are() -> None:
    """The second name is only read, and holds an index: such arrays travel in the launch, unless they are written."""
    text = """
kernel void k(device atomic_uint* counts, device const uint* again, device uint* out,
              uint t [[thread_index_in_threadgroup]]) {
    atomic_fetch_add_explicit(&counts[t], t + 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_device);
    out[again[7 - t]] = t;
}"""
    made = kernel(text, "k")
    for _ in range(3):
        counts, out = np.zeros(8, np.uint32), np.full(9, 99, np.uint32)
        made(counts, counts, out, grid=8, threadgroup=8, overlap=True)
        assert list(counts) == list(range(1, 9))
        assert list(out) == [99, 7, 6, 5, 4, 3, 2, 1, 0]


def test_small_arrays_of_a_recording_keep_what_nobody_writes() -> None:
    """What launches only write goes straight to the host's memory; the rest of it stays as the host left it."""
    where = "uint i [[thread_position_in_grid]]"
    text = f"""
kernel void some(device int* out, constant int& n, {where}) {{ if (i % 2 == 0) out[i] = n + int(i); }}
kernel void more(device int* out, device const int* x, {where}) {{ out[i] += x[i]; }}"""
    some, more = kernel(text, "some"), kernel(text, "more")
    n, out, sums = np.array([100], np.int32), np.full(8, -1, np.int32), np.zeros(8, np.int32)
    alone, both = Recording(), Recording()
    alone.add(some, out, n, grid=8, threadgroup=8)
    both.add(some, out, n, grid=8, threadgroup=8)
    both.add(more, sums, out, grid=8, threadgroup=8)  # reads what the other writes
    for recording, times in ((alone, 2), (both, 3)):
        for _ in range(times):
            n += 1
            out[1::2] -= 1
            recording.run()
            assert list(out[::2]) == [n[0] + i for i in range(0, 8, 2)]
    assert list(out[1::2]) == [-6] * 4
    assert list(sums) == [
        sum(v)
        for v in zip(
            *[[102 + k + i if i % 2 == 0 else -3 - k for i in range(8)] for k in (1, 2, 3)], strict=True
        )
    ]


@pytest.mark.parametrize(("kind", "nan"), [("float", 0x7FC12345), ("half", 0x7E12), ("bfloat", 0x7FC1)])
def test_a_negated_nan_keeps_its_bits(kind: str, nan: int) -> None:
    dtype, sign = (np.uint32, 1 << 31) if kind == "float" else (np.uint16, 1 << 15)
    where = "uint i [[thread_position_in_grid]]"
    text = f"kernel void k(device const {kind}* x, device {kind}* y, {where}) {{ y[i] = -x[i]; }}"
    x, y = np.array([nan, nan | sign, 3], dtype), np.zeros(3, dtype)
    kernel(text, "k")(x.view(np.uint8).data, y.view(np.uint8).data, grid=3, threadgroup=3)
    assert list(y) == [nan | sign, nan, 3 | sign]


def test_code_keeps_no_memory() -> None:
    """What a kernel was first launched with goes when its owner lets it go."""
    gone: list[int] = []

    class Own(np.ndarray):  # type: ignore[type-arg]
        def __del__(self) -> None:
            gone.append(1)

    add = kernel(ADD.replace("a[i] + b[i]", "a[i] - b[i]"), "add")
    for n in (1, 2):
        given = [np.ones(64, np.float32).view(Own) for _ in range(3)]
        add(*given, 64, grid=64, threadgroup=32)
        gone.clear()
        del given
        assert len(gone) == 3, n
