"""Values that become parameters, tuples, truths, structs, matrices: a launch with the same ones repeats, and one with
others never gets what an earlier one had."""

from __future__ import annotations

import struct

import ml_dtypes
import numpy as np
import pytest

import metalloid as mt
from metalloid.runtime.contents import content, frozen
from tests.runtime.test_again_parameters import looked  # noqa: F401  # a fixture

SOURCE = """#include <metal_stdlib>
using namespace metal;
struct Args {{ float x; float3 y; uint n; }};
kernel void k(device float* out, constant {type}& p, uint i [[thread_position_in_grid]]) {{ out[i] = {use}; }}
"""
DEVICE = mt.device("cpu")


def kernel(type: str, use: str):
    return DEVICE.library(SOURCE.format(type=type, use=use))["k"]


def result(made, value: object) -> float:
    out = np.full(40, np.nan, np.float32)
    made(out, value, grid=40, threadgroup=8)
    assert (out.view(np.uint32) == out.view(np.uint32)[0]).all()
    return out[0]


MATRIX = np.arange(16, dtype=np.float32).reshape(4, 4)
CASES = {
    "tuple": ("float3", "p.x + 10 * p.y + 100 * p.z", [((1.0, 2.0, 3.0), 321), ((1, 2, 4), 421), ((3, 2, 1), 123)]),
    "list": ("float4", "p.x + p.w * 10", [([1.0, 0, 0, 2.0], 21), ([1, 0, 0, 3], 31)]),
    "truth": ("bool", "p ? 5 : 7", [(True, 5), (False, 7), (np.True_, 5)]),
    "half": ("half", "float(p)", [(1.5, 1.5), (2, 2), (np.float32(0.25), 0.25)]),
    "struct": ("Args", "p.x + p.y.z * 10 + p.n * 100", [
        ({"x": 1.0, "y": (0, 0, 2), "n": 3}, 321), ({"x": 1, "y": [0, 0, 5], "n": 3}, 351),
        ({"n": 1, "x": 2, "y": (0, 0, 0)}, 102),
    ]),
    "bytes": ("uint2", "p.x + p.y * 10", [(struct.pack("2I", 1, 2), 21), (struct.pack("2I", 3, 4), 43)]),
    "matrix": ("float4x4", "p[1][2]", [(MATRIX, 9), (MATRIX.T.copy(), 6), (MATRIX.astype(np.float64) + 1, 10)]),
    "doubles": ("float3", "p.y", [(np.array([1.0, 2, 3]), 2), (np.array([1, 5, 3]), 5), (np.ones(3, np.float32), 1)]),
    "whole number": ("float", "p", [(np.array(3), 3), (np.array(3.5), 3.5), (np.array([4.0]), 4)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_value_is_what_it_was_and_no_other(name: str, looked: list[int]) -> None:  # noqa: F811
    type, use, values = CASES[name]
    made = kernel(type, use)
    for round in range(30):
        for value, expected in values if round % 2 else values[::-1]:
            assert result(made, value) == expected
    seen = looked[0]
    for _ in range(10):
        assert result(made, values[0][0]) == values[0][1]
    if name not in ("list", "struct"):  # those are looked at, and found
        assert looked[0] == seen


def test_a_matrix_that_is_changed_in_place_is_seen() -> None:
    made, matrix = kernel("float2x2", "p[0][1]"), np.zeros((2, 2), np.float32)
    for n in range(60):
        matrix[1, 0] = n // 7
        assert result(made, matrix) == n // 7


def test_a_list_and_a_struct_that_are_changed_in_place_are_seen() -> None:
    made, items = kernel("float2", "p.x"), [0.0, 1.0]
    other, fields = kernel("Args", "p.y.x"), {"x": 0.0, "y": [0.0, 0, 0], "n": 1}
    for n in range(60):
        items[0] = fields["y"][0] = n // 7
        assert result(made, items) == result(other, fields) == n // 7


def test_zeros_keep_their_sign() -> None:
    made = kernel("float2", "p.x")
    for _ in range(20):
        assert not np.signbit(result(made, (0.0, 1.0)))
        assert np.signbit(result(made, (-0.0, 1.0)))


def test_a_tuple_whose_place_another_takes() -> None:
    """The first is kept as long as a launch is known by where it lies."""
    made = kernel("float2", "p.x * 1000 + p.y")
    for n in range(300):
        assert result(made, (float(n % 3), float(n))) == n % 3 * 1000 + n


def test_a_launch_that_is_refused_is_refused_again() -> None:
    made = kernel("float3", "p.x")
    for _ in range(3):
        for wrong in ((1.0, 2.0), (1.0, 2.0, "3"), np.ones(2, np.float32)):
            with pytest.raises(mt.LaunchError):
                result(made, wrong)
        assert result(made, (1.0, 2.0, 3.0)) == 1


@pytest.mark.parametrize("type", ["float4x4", "float4x2", "float2x2"])
def test_a_matrix_and_its_numbers_in_a_row_are_not_alike(type: str) -> None:
    """Rows become columns; a line of numbers is columns as they lie."""
    columns, rows = int(type[5]), int(type[7])
    made, matrix = kernel(type, "p[0][1] + 10 * p[1][0]"), np.arange(rows * columns, dtype=np.float32)
    matrix = matrix.reshape(rows, columns)
    for _ in range(30):
        assert result(made, matrix) == matrix[1, 0] + 10 * matrix[0, 1]
    for _ in range(3):
        flat = matrix.reshape(-1)
        assert result(made, flat) == flat[1] + 10 * flat[rows]


def test_memory_that_is_looked_at_closely_stays_the_callers() -> None:
    """bfloat16 is handed on as another type, of the same memory."""
    made = DEVICE.library(
        SOURCE.replace("constant {type}&", "device const bfloat3*").format(use="float(p[i].x)")
    )["k"]
    a, b, out = np.ones(16, ml_dtypes.bfloat16), np.ones(16, ml_dtypes.bfloat16), np.zeros(4, np.float32)
    for n in range(40):
        a[:] = 5 + n // 10
        for array in (a, b):
            made(out, array, grid=4, threadgroup=4)
            assert (out == float(array[0])).all()


def test_a_command_buffer_has_a_value_as_it_was_encoded() -> None:
    made, matrix, out = kernel("float4x4", "p[0][1]"), np.zeros((4, 4), np.float32), np.zeros(40, np.float32)
    for n in range(40):
        matrix[:] = n // 9
        commands = DEVICE.queue().command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(made, out, matrix, grid=40, threadgroup=8)
        matrix[:] = -1
        commands.commit()
        commands.wait_until_completed()
        assert (out == n // 9).all()
        if n % 3:
            result(made, matrix)


def test_contents_tell_types_apart() -> None:
    values = [
        *(
            1,
            1.0,
            True,
            np.float32(1),
            np.int32(1),
            (1,),
            [1],
            (1.0,),
            ((1,),),
            {"x": 1},
            {"x": 1.0},
            b"\x01",
        ),
        *(0.0, -0.0, (0.0,), (-0.0,), np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), {"y": 1}),
    ]
    keys = [content(v) for v in values]
    assert None not in keys and len(set(keys)) == len(values)
    assert content({"x": np.zeros(2)}) is None and content((object(),)) is None  # memory, and who knows what
    assert content(np.zeros(1000)) is None
    assert frozen((1, (2.0, True))) and not frozen(([1],)) and not frozen(np.zeros(1))
