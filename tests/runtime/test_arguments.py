"""Arguments that fit are bound; those that do not are refused with the kernel's signature, and nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import KernelFault, LaunchError

TEXT = """#include <metal_stdlib>
using namespace metal;
struct Args { float scale; int shift; };
kernel void scale(device const float* x, device float* y, constant float& a, constant uint& n,
                  uint i [[thread_position_in_grid]]) { if (i < n) y[i] = a * x[i]; }
kernel void shift(device float* x, constant Args& args, uint i [[thread_position_in_grid]]) {
    x[i] = x[i] * args.scale + args.shift; }
kernel void many(device float* x, constant Args* args, uint i [[thread_position_in_grid]]) {
    x[i] = args[i].scale + args[i].shift; }
kernel void count(device atomic_uint& total, uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&total, 1u, memory_order_relaxed); }
kernel void vectors(device float* out, constant float3& v, constant float2x2& m, device const float3* rows) {
    out[0] = v.x + v.y * 10 + v.z * 100; out[1] = m[0][1]; out[2] = rows[1].z; }
kernel void halves(device half* out, constant half& h, constant bfloat& b, constant uchar& c) {
    out[0] = h; out[1] = half(float(b)); out[2] = half(c); }
"""


@pytest.fixture(scope="module")
def library():
    return mt.device().library(TEXT)


def ones(n: int = 8) -> np.ndarray:
    return np.ones(n, np.float32)


READ_ONLY = ones()
READ_ONLY.flags.writeable = False
X = ones(16)

REFUSED = {
    "missing": (("scale", (ones(), ones(), 1.0)), "'n' .* is missing"),
    "extra": (("scale", (ones(), ones(), 1.0, 8, 9)), "takes 4 arguments; got 5"),
    "unknown name": (("scale", (ones(), ones(), 1.0), {"m": 8}), "has no argument 'm'"),
    "given twice": (("scale", (ones(), ones(), 1.0, 8), {"x": ones()}), "'x' is given twice"),
    "number for an array": (("scale", (1.0, ones(), ones(), 8)), "'x' takes an array (.|\\n)*misplaced"),
    "array for a number": (("scale", (ones(), ones(), ones(), 8)), "'a' is one float (.|\\n)*misplaced"),
    "number that is written": (("count", (3,)), "'total' is written by the kernel"),
    "wrong dtype": (("scale", (np.ones(8), ones(), 1.0, 8)), "declared float; got an array of float64"),
    "not contiguous": (("scale", (X[::2], ones(), 1.0, 8)), "not contiguous"),
    "read-only": (("scale", (ones(), READ_ONLY, 1.0, 8)), "the array is read-only"),
    "same memory": (("scale", (X, X, 1.0, 8)), "'y' is written and is the same memory as 'x'"),
    "overlap": (("scale", (X[:8], X[4:12], 1.0, 8)), "'y' is written and overlaps"),
    "a fraction": (("scale", (ones(), ones(), 1.0, 7.5)), "declared uint; 7.5 would lose"),
    "too large": (("scale", (ones(), ones(), 1e39, 8)), "declared float; 1e\\+39 is too large"),
    "another number": (("scale", (ones(), ones(), 2**24 + 1, 8)), "16777217 would become 16777216"),
    "half overflow": (
        ("halves", (np.zeros(3, np.float16), 70000.0, 1, 1)),
        "declared half; 70000.0 is too large",
    ),
    "negative": (("scale", (ones(), ones(), 1.0, -8)), "-8 does not fit"),
    "struct of wrong size": (("shift", (ones(), b"123")), r"takes 8 bytes; got 3(.|\n)*\+4 +int shift"),
    "records of wrong size": (
        ("many", (ones(), np.zeros(2, [("scale", "f8"), ("shift", "i4")]))),
        r"records of 12(.|\n)*expected(.|\n)*\+4 +int shift(.|\n)*got 12 bytes(.|\n)*\+8 +int32 shift",
    ),
    "fields in another order": (
        ("shift", (ones(), np.array((3, 0.5), [("shift", "i4"), ("scale", "f4")]))),
        r"'args' has 'shift' elsewhere(.|\n)*\+4 +int shift(.|\n)*\+0 +int32 shift",
    ),
    "fields of another type": (
        ("many", (ones(), np.zeros(8, [("scale", "i4"), ("shift", "i4")]))),
        "'args' has 'scale' elsewhere than the kernel, or as another type",
    ),
    "bytes in another order": (
        ("many", (ones(), np.zeros(8, [("scale", ">f4"), ("shift", "i4")]))),
        "'args' has 'scale' elsewhere than the kernel, or as another type",
    ),
    "missing field": (("shift", (ones(), {"scale": 1})), "missing: shift"),
    "rows of three": (
        ("vectors", (ones(), (1, 2, 3), np.eye(2), np.ones((4, 3), np.float32))),
        "takes 16 bytes; the array has rows of 3",
    ),
    "no kernel argument": (("scale", ("x", ones(), 1.0, 8)), "'x' takes an array"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_with_the_signature(library, case):
    (name, arguments, *named), says = REFUSED[case]
    with pytest.raises(LaunchError, match=says) as caught:
        library[name](*arguments, grid=8, **(named[0] if named else {}))
    assert f"kernel void {name}(" in str(caught.value) and "[[buffer(0)]]" in str(caught.value)


def test_a_refused_launch_changes_nothing(library):
    y = ones()
    for _ in range(3):  # before and after the short road is known
        with pytest.raises(LaunchError):
            library["scale"](ones(), y, 5.0, 3.5, grid=8)
        assert (y == 1).all()
        library["scale"](ones(), y, 1.0, 8, grid=8)


def test_the_short_road_refuses_what_the_long_one_does(library):
    """The second launch of a size skips most checks; it must not skip these."""
    scale = library["scale"]
    for _ in range(2):
        scale(ones(), ones(), 2.0, 8, grid=8)
    for arguments in (
        (np.ones(8), ones(), 2.0, 8),
        (X[::2], ones(), 2.0, 8),
        (ones(), READ_ONLY, 2.0, 8),
        (X, X, 2.0, 8),
        (X[:8], X[4:12], 2.0, 8),
        (ones(), ones(), ones(), 8),
        (ones(), ones(), 2.0, True and 2.5),
        (ones(), ones(), 2.0),
    ):
        with pytest.raises(LaunchError):
            scale(*arguments, grid=8)


def test_equal_numbers_of_different_bits_stay_apart(library):
    y = ones(1)
    for a, negative in ((0.0, False), (-0.0, True), (0.0, False), (-0.0, True)):
        library["scale"](ones(1), y, a, 1, grid=1)
        assert np.signbit(y[0]) == negative


def test_read_only_inputs_are_fine(library):
    y = ones()
    for _ in range(3):
        library["scale"](READ_ONLY, y, 3.0, 8, grid=8)
    assert (y == 3).all()


def test_overlap_can_be_allowed(library):
    x = ones()
    library["scale"](x, x, 3.0, 8, grid=8, overlap=True)
    assert (x == 3).all()


def test_structs_come_in_every_form(library):
    record = np.array((0.5, 3), [("scale", "f4"), ("shift", "i4")])
    for args in (
        {"scale": 0.5, "shift": 3},
        record[()],
        record,
        record.tobytes(),
        bytearray(record.tobytes()),
    ):
        x = ones()
        library["shift"](x, args, grid=8)
        assert (x == 3.5).all()
    x = ones(2)
    library["many"](x, np.array([(1, 2), (3, 4)], record.dtype), grid=2)
    assert x.tolist() == [3, 7]


def test_an_array_by_reference_takes_values_of_any_type():
    text = """#include <metal_stdlib>
    kernel void sums(device float* out, constant int (&a)[4], constant float (&m)[2][2],
                     constant metal::float3 (&v)[2]) {
        out[0] = a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[3]; out[1] = m[0][1]; out[2] = v[1].z; }"""
    sums, out = mt.device().library(text)["sums"], np.zeros(3, np.float32)
    for kind in (np.int32, np.int64, np.float32, np.float64):
        for _ in range(2):
            sums(
                out,
                np.arange(1, 5, dtype=kind),
                np.arange(4).reshape(2, 2).astype(kind),
                np.arange(6).reshape(2, 3).astype(kind),
                grid=1,
            )
            assert out.tolist() == [4321, 1, 5]


def test_bit_fields_lie_beside_each_other():
    text = """struct Bits { uint a : 3; int b : 6; bool c : 1; uint d : 20; ulong e : 40; short f; };
    kernel void bits(device long* out, constant Bits& s) {
        out[0] = s.a; out[1] = s.b; out[2] = s.c; out[3] = s.d; out[4] = s.e; out[5] = s.f; }"""
    bits, out = mt.device().library(text)["bits"], np.zeros(6, np.int64)
    for values in ((5, -17, True, 1 << 19, (1 << 40) - 1, -2), (7, 31, False, 3, 1 << 33, 9)):
        bits(out, dict(zip("abcdef", values, strict=True)), grid=1)
        assert out.tolist() == list(values)
    for name, value, says in (("a", 8, "a has 3 bits, which hold 0 to 7"), ("b", 32, "-32 to 31")):
        with pytest.raises(LaunchError, match=says):
            bits(out, {**dict.fromkeys("abcdef", 0), name: value}, grid=1)


def test_vectors_matrices_and_small_numbers(library):
    out = np.zeros(3, np.float32)
    rows = np.arange(8, dtype=np.float32).reshape(2, 4)
    for v in ((1, 2, 3), [1, 2, 3], np.array([1.0, 2.0, 3.0])):
        for m in ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]], np.float32)):
            library["vectors"](out, v, m, rows, grid=1)
            assert out.tolist() == [321, 3, 6]
    small = np.zeros(3, np.float16)
    for h, b, c in (
        (0.5, 1.5, 7),
        (np.float16(0.5), np.float32(1.5), np.int64(7)),
        (np.array(0.5), 1.5, np.array([7])),
    ):
        library["halves"](small, h, b, c, grid=1)
        assert small.tolist() == [0.5, 1.5, 7]


def test_a_written_reference_takes_an_array(library):
    total = np.zeros(1, np.uint32)
    library["count"](total, grid=100)
    library["count"](total, grid=100)
    assert total[0] == 200


def test_a_fault_on_the_short_road_names_the_buffer(library):
    scale = library["scale"]
    scale(ones(), ones(), 1.0, 8, grid=16)
    with pytest.raises(KernelFault, match=r"'x' \(32 bytes\)"):
        scale(ones(), ones(16), 1.0, 8 * 2, grid=16)
    with pytest.raises(KernelFault, match=r"'y' \(16 bytes\)"):
        scale(ones(), ones(4), 1.0, 8, grid=16)
    with pytest.raises(KernelFault, match=r"'y' \(16 bytes\)"):
        scale(ones(), ones(4), 1.0, 8, grid=16)


def test_names_are_as_good_as_positions_on_the_short_road(library):
    scale, x = library["scale"], ones()
    for a in (2.0, 3.0, 4.0):
        y = np.zeros(8, np.float32)
        scale(n=8, a=a, y=y, x=x, grid=8)
        assert (y == a).all()
        scale(x, y, n=4, a=a + 1, grid=8)
        assert y.tolist() == [a + 1] * 4 + [a] * 4
    for named in ({"a": 1.0}, {"a": 1.0, "m": 8}, {"a": 1.0, "n": 8, "x": x}, {"a": 1.0, "n": 2.5}):
        with pytest.raises(LaunchError):
            scale(x, y, grid=8, **named)


GAPS = """#include <metal_stdlib>
using namespace metal;
struct Args { float scale; int shift; };
kernel void gaps(device float* out [[buffer(1)]], constant Args& args [[buffer(4)]], constant half& h [[buffer(6)]],
                 device const packed_float3* v [[buffer(9)]], uint i [[thread_position_in_grid]]) {
    out[i] = args.scale * float(h) + args.shift + v[i].z; }
kernel void wide(device float* out, device const float3* v, uint i [[thread_position_in_grid]]) { out[i] = v[i].z; }
"""


def test_every_kind_of_argument_changes_from_launch_to_launch():
    library = mt.device().library(GAPS)
    for n in range(4):
        out, v = np.zeros(4, np.float32), np.full((4, 3), n, np.float32)
        library["gaps"](out, {"scale": n, "shift": 2 * n}, n + 0.5, v, grid=4)
        assert (out == n * (n + 0.5) + 3 * n).all()
    with pytest.raises(LaunchError, match=r"missing: shift(.|\n)*kernel void gaps"):
        library["gaps"](out, {"scale": n}, 1.0, v, grid=4)
    with pytest.raises(LaunchError, match=r"declared half; 70000\.0"):
        library["gaps"](out, {"scale": n, "shift": 1}, 70000.0, v, grid=4)
    for _ in range(2):
        library["wide"](out, np.ones((4, 4), np.float32), grid=4)
    with pytest.raises(LaunchError, match="rows of 3"):
        library["wide"](out, np.ones((4, 3), np.float32), grid=4)
    with pytest.raises(KernelFault, match=r"past 'v' \(36 bytes\)"):
        library["gaps"](out, {"scale": n, "shift": 1}, 1.0, v[:3], grid=4)
