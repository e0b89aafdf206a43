"""The parts of a comparison: cases, values, layouts, tolerance, maps."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import metalloid as mt
from metalloid.comparing.inputs import LAYOUTS, VALUES, Input, make
from metalloid.comparing.picture import error_map
from metalloid.comparing.tolerance import Tolerance, judged


def test_edges_stand_around_every_power_of_two_and_every_tile():
    found = set(mt.edges((48,), 1024))
    assert {0, 1, 2, 3, 31, 32, 33, 1023, 1024, 1025, 47, 48, 49, 95, 96, 97, 143, 144, 145} <= found
    assert max(found) == 1025 and min(found) == 0


def test_a_sweep_has_every_size_of_every_axis_with_the_others_both_ways():
    found = mt.cases({"a": "M K", "b": "N K"}, tiles=16, dtypes=("float32", "float16"))
    for name in "MNK":
        assert set(mt.edges((16,))) <= {dict(c.sizes)[name] for c in found}
    assert {c.dtype for c in found} == {"float32", "float16"}
    assert {c.layout for c in found} == {"contiguous", "offset", "strided", "transposed"}
    assert {c.values for c in found} == {"ordinary", "zeros", "large", "tiny"}
    assert [c.work for c in found] == sorted(c.work for c in found)
    assert len(found) == len(set(found))
    assert found == mt.cases({"a": "M K", "b": "N K"}, tiles=16, dtypes=("float32", "float16"))


def test_a_case_makes_the_same_arrays_each_time_and_says_what_it_is():
    case = mt.Case((("x", Input("rows D")),), (("rows", 3), ("D", 5)), "float16", "strided", "tiny", 4)
    assert case.arguments()["x"].tobytes() == case.arguments()["x"].tobytes()
    assert str(case) == "rows=3 D=5, float16, strided, tiny values"


def test_indices_stay_below_a_size():
    given = {"x": "vocabulary D", "indices": mt.Input("tokens", "int32", 0, "vocabulary")}
    for case in mt.cases(given, sizes={"vocabulary": (1, 7, 300), "D": 4, "tokens": (0, 1, 65)}):
        indices = case.arguments()["indices"]
        assert indices.dtype == np.int32
        assert ((indices >= 0) & (indices < dict(case.sizes)["vocabulary"])).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_keep_the_values_and_poison_the_gaps(layout):
    plain = make("x", Input("M N"), {"M": 4, "N": 6}, "float32", "contiguous", "ordinary", 1)
    other = make("x", Input("M N"), {"M": 4, "N": 6}, "float32", layout, "ordinary", 1)
    assert (plain == other).all()
    if layout == "strided":
        assert other.strides == (2 * 12 * 4, 8) and np.isnan(other.base).sum() == 48 * 2 - 24
    if layout == "offset":
        assert (other.flags.c_contiguous and other.ctypes.data % 8 == 4) or other.ctypes.data % 16 != 0
    if layout == "transposed":
        assert other.strides == (4, 16)
    if layout == "reversed":
        assert other.strides == (-24, -4)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "int64", "bool"])
@pytest.mark.parametrize("values", VALUES)
def test_every_kind_of_values_in_every_dtype(values, dtype):
    array = make("x", Input("N"), {"N": 200}, dtype, "contiguous", values, 0)
    wide = array.astype(np.float64)
    assert array.dtype.name == dtype
    if dtype in ("float32", "float16", "bfloat16"):
        tiny = float(ml_dtypes.finfo(array.dtype).smallest_normal)
        facts = {
            "ordinary": len(set(wide)) > 40 and abs(wide).max() <= 1,
            "zeros": not wide.any(),
            "large": abs(wide).min() > 30,
            "tiny": ((abs(wide) < tiny) & (wide != 0)).any() and np.signbit(wide[wide == 0]).any(),
            "inf": np.isposinf(wide).any() and np.isneginf(wide).any(),
            "nan": np.isnan(wide).any() and not np.isnan(wide).all(),
        }
        assert facts[values]
    else:
        assert wide.any() or values == "zeros"


def test_unknown_words_are_refused_with_the_known_ones():
    with pytest.raises(mt.LaunchError, match="there is no layout 'diagonal'; there are contiguous, offset"):
        mt.cases({"x": "N"}, layouts="diagonal")
    with pytest.raises(mt.LaunchError, match="sizes names 'M'; the inputs have N"):
        mt.cases({"x": "N"}, sizes={"M": 3})


def test_the_tolerance_is_the_documented_formula():
    expected = np.array([1.0, -2.0, 0.0])
    allowed = Tolerance("K").of(expected, np.dtype("float16"), {"K": 100})
    eps, tiny = 2.0**-10, 2.0**-14
    assert allowed == pytest.approx(4 * eps * np.abs(expected) + 100 * 2.0**-23 * 2 + tiny)
    assert Tolerance().terms({"M": 3, "K": 9}) == 9
    assert Tolerance("M*K").terms({"M": 3, "K": 9}) == 27
    with pytest.raises(mt.LaunchError, match="length names Q; the sizes of the cases are M"):
        Tolerance("Q").terms({"M": 3})


@pytest.mark.parametrize(
    "got, expected, wrong",
    [
        (1.0, 1.0 + 2.0**-21, False),
        (1.0, 1.0 + 2.0**-18, True),
        (np.nan, np.nan, False),
        (np.nan, 1.0, True),
        (1.0, np.nan, True),
        (np.inf, np.inf, False),
        (-np.inf, np.inf, True),
        (np.inf, 1e39, False),  # beyond float32
        (3.4e38, 1e39, True),
        (-0.0, 0.0, False),
        (0.0, 1e-39, False),  # a denormal may be flushed
        (0.0, 1e-30, True),
    ],
)
def test_single_numbers(got, expected, wrong):
    verdict = judged(np.array([got], np.float32), np.array([expected]), Tolerance(1), {})
    assert verdict.wrong.tolist() == [wrong]


def test_integers_are_exact_and_wrap_like_the_output():
    got = np.array([2**31 - 1, -(2**31), 5], np.int32)
    expected = np.array([2**31 - 1, 2**31, 6], np.int64)
    assert judged(got, expected, Tolerance(), {}).wrong.tolist() == [False, False, True]


def test_the_error_map_shows_blocks_where_elements_do_not_fit():
    wrong = np.zeros((100, 200), bool)
    wrong[:, 128:] = True
    lines = error_map(wrong).splitlines()
    assert len(lines) == 3 and "the same" in lines[1] and lines[0].split()[1] == "." * 32 + "#" * 18
    assert "each mark is 3 x 4 elements" in lines[-1]
