"""`metalloid.metal_kernel`: a kernel in one line."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import metalloid as mt


def test_arrays_and_numbers_by_name():
    x, y = np.arange(1001, dtype=np.float32), np.ones(1001, np.float32)
    back = mt.metal_kernel("y[i] += a * x[i];", a=0.5, x=x, y=y)
    assert back is y
    np.testing.assert_array_equal(y, 1 + x / 2)


@pytest.mark.parametrize(
    "dtype", ["float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]
)
def test_the_type_of_an_array_is_that_of_the_parameter(dtype):
    x = (np.arange(70) % 7).astype(dtype)
    y = np.zeros(70, dtype)
    mt.metal_kernel("y[i] = x[70 - 1 - i];", x=x, y=y)
    np.testing.assert_array_equal(y, x[::-1])


def test_bfloat_and_complex():
    b = np.arange(9).astype(ml_dtypes.bfloat16)
    mt.metal_kernel("b[i] = b[i] * bfloat(2);", b=b)
    assert b.tolist() == [2 * n for n in range(9)]
    c = np.array([1 + 2j, 3 - 1j], np.complex64)
    mt.metal_kernel("c[i] = c[i].yx;", c=c)
    assert c.tolist() == [2 + 1j, -1 + 3j]


def test_numbers_keep_their_type():
    out = np.zeros(4, np.int64)
    mt.metal_kernel(
        "out[0] = sizeof(small); out[1] = sizeof(large); out[2] = sizeof(half_); out[3] = flag ? large : 0;",
        small=3, large=2**40, half_=np.float16(1), flag=True, out=out, grid=1,
    )  # fmt: skip
    assert out.tolist() == [4, 8, 2, 2**40]


def test_a_grid_of_two_dimensions_and_attributes():
    out = np.zeros((5, 7), np.uint32)
    body = """
    uint3 p = thread_position_in_grid;
    out[p.y * threads_per_grid.x + p.x] = p.x * 100 + p.y + twice(thread_index_in_simdgroup * 0);
    """
    header = "static uint twice(uint x) { return 2 * x; }"
    mt.metal_kernel(body, header=header, out=out, grid=(7, 5), threadgroup=(4, 2))
    np.testing.assert_array_equal(out, np.arange(7) * 100 + np.arange(5)[:, None])


def test_buffers_of_a_device():
    buffer = mt.device("cpu").zeros((64,), np.int32)
    mt.metal_kernel("b[i] = int(i) * 3;", b=buffer)
    assert buffer.numpy().tolist() == [3 * n for n in range(64)]


def test_mistakes_are_told_in_the_lines_of_the_body():
    with pytest.raises(mt.CompileError) as caught:
        mt.metal_kernel(
            "float v = x[i];\ny[i] = v + w;", x=np.zeros(4, np.float32), y=np.zeros(4, np.float32)
        )
    (found,) = caught.value.diagnostics
    assert found.file.endswith("test_script_form.py") and "'w'" in found.message
    written = found.excerpt.index("v + w") + len("v + ")
    assert "float v = x[i];" in found.excerpt and found.column == written + 1  # the Python line that has it


def test_what_is_refused():
    y = np.zeros(4, np.float32)
    with pytest.raises(mt.LaunchError, match="'x' is a str"):
        mt.metal_kernel("y[i] = 1;", x="1", y=y)
    with pytest.raises(mt.LaunchError, match="'i' is the thread's own"):
        mt.metal_kernel("y[i] = 1;", i=3, y=y)
    with pytest.raises(mt.LaunchError, match="float64"):
        mt.metal_kernel("y[i] = 1;", y=np.zeros(4))
    with pytest.raises(mt.LaunchError, match="no argument is an array"):
        mt.metal_kernel("float z = a;", a=3)
    with pytest.raises(mt.KernelFault, match="M102"):
        mt.metal_kernel("y[i] = 1;", y=y, grid=5)
    fixed = np.zeros(4, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(mt.CompileError):
        mt.metal_kernel("y[i] = 1;", y=fixed)
