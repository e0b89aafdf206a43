"""Python values become the bytes a kernel reads, or an error that says why not."""

import numpy as np
import pytest

from metalloid.errors import LaunchError
from metalloid.runtime.pack import NUMPY, numpy_dtype, pack
from metalloid.types import Array, DType, Field, Matrix, Pointer, Scalar, Struct, Vector

FLOAT, INT, UCHAR = Scalar(DType.FLOAT32), Scalar(DType.INT32), Scalar(DType.UINT8)
PARAMS = Struct(
    "Params",
    (Field("n", INT, 0), Field("v", Vector(FLOAT, 3), 16), Field("k", Array(UCHAR, 3), 32)),
    48,
    16,
)


@pytest.mark.parametrize("dtype", list(DType))
def test_every_scalar_survives_the_trip(dtype):
    data = pack(Scalar(dtype), 1, "x")
    assert np.frombuffer(data, NUMPY[dtype])[0] == 1


@pytest.mark.parametrize(
    ("type", "value", "says"),
    [
        (INT, 3.5, "x is declared int; 3.5 would lose its fraction"),
        (UCHAR, 300, "x is declared uchar, which holds 0 to 255; 300 does not fit"),
        (UCHAR, -1, "-1 does not fit"),
        (INT, float("nan"), "nan is no whole number"),
        (INT, "7", "got '7' (str)"),
        (Scalar(DType.BOOL), 2, "x is a bool; got 2"),
        (Vector(FLOAT, 3), (1, 2), "x is a float3; got 2 values. Pass 3."),
        (Vector(FLOAT, 2), 1.0, "got the single number 1.0"),
        (Matrix(FLOAT, 2, 3), np.zeros((2, 3)), "3 rows of 2; got an array of shape (2, 3)"),
        (PARAMS, {"n": 1}, "missing: v, k"),
        (PARAMS, {"n": 1, "v": (1, 2, 3), "k": (1, 2, 3), "m": 4}, "unknown: m"),
        (PARAMS, b"123", "x takes 48 bytes; got 3"),
        (PARAMS, 5, "x is a struct; got 5 (int)"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(type, value, says):
    with pytest.raises(LaunchError) as error:
        pack(type, value, "x")
    assert says in str(error.value)


def test_a_refused_struct_shows_its_layout():
    with pytest.raises(LaunchError, match=r"\+16 +float3 v"):
        pack(PARAMS, {}, "params")


def test_a_struct_comes_as_dict_record_or_bytes():
    wanted = np.zeros((), numpy_dtype(PARAMS))
    wanted["n"], wanted["v"]["v"], wanted["k"] = -7, (1.5, 2.5, 3.5), (1, 2, 255)
    as_dict = pack(PARAMS, {"n": -7, "v": (1.5, 2.5, 3.5), "k": [1, 2, 255]}, "p")
    assert as_dict == wanted.tobytes()
    record = np.array((-7, (1.5, 2.5, 3.5), (1, 2, 255)), [("n", "i8"), ("v", "f8", 3), ("k", "u1", 3)])
    assert pack(PARAMS, record[()], "p") == as_dict
    assert pack(PARAMS, as_dict, "p") == as_dict


def test_a_matrix_lies_by_columns():
    data = np.frombuffer(pack(Matrix(FLOAT, 2, 3), np.arange(6).reshape(3, 2), "m"), np.float32)
    assert data.tolist() == [0, 2, 4, 0, 1, 3, 5, 0]


def test_a_union_takes_one_of_its_members():
    union = Struct("U", (Field("f", FLOAT, 0), Field("i", INT, 0)), 4, 4, union=True)
    assert pack(union, {"i": 3}, "u") == (3).to_bytes(4, "little")


def test_a_pointer_is_the_address_of_an_array():
    array = np.zeros(3, np.float32)
    assert int.from_bytes(pack(Pointer("device", FLOAT), array, "p"), "little") == array.ctypes.data
