"""The harness that runs third-party kernels must itself notice what is wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conformance.results.case import Case, Order, Output, Step, Work, poisoned
from conformance.results.judge import error_of, judge
from conformance.results.pack import Fields, pack

from metalloid.source import Source
from metalloid.types import Array, DType, Field, Scalar, Struct

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"


def case(body: str, expected: Callable[[Any], Any], tolerance: float = 0.0, order: Order = "any") -> Case:
    """64 threads in two threadgroups, from `x` to `out`, on kernel `k`."""

    def make(rng: np.random.Generator, size: str) -> Work:
        x = rng.standard_normal(64).astype(np.float32)
        out = poisoned(64)
        step = Step(Source(HEAD + body), "k", (x, out, {"scale": 2.0, "n": 64}), (32, 1, 1), (2, 1, 1))
        return Work((step,), (Output("out", out, expected(x), tolerance),))

    return Case("tests", "tests", "k", make, order)


PARAMETERS = """struct Args { float scale; int n; };
kernel void k(device const float* x, device float* out, constant Args& args, uint i [[thread_position_in_grid]],
              uint lane [[thread_index_in_threadgroup]])"""


def test_a_right_result_passes_in_both_orders() -> None:
    verdict = judge(case(PARAMETERS + "{ out[i] = x[i] * args.scale; }", lambda x: x * 2), "oracle")
    assert verdict.passed and verdict.order == "same" and verdict.error == 0
    assert verdict.kernels == ("k",)


def test_a_wrong_element_is_named() -> None:
    body = PARAMETERS + "{ out[i] = i == 5 ? 9.0f : x[i]; }"
    verdict = judge(case(body, lambda x: x, tolerance=1e-6), "oracle")
    assert "'out'[5] is 9, expected" in verdict.reason and "1 of 64 elements" in verdict.reason


def test_both_parts_of_complex_numbers_count() -> None:
    actual = np.array([1 + 2j, 3 - 4j], np.complex64)
    assert error_of(Output("z", actual, np.array([1 + 2j, 3 - 4j]))) == (0.0, "")
    assert "'z'[1, 1] is -4, expected 4" in error_of(Output("z", actual, actual + np.array([0, 8j])))[1]
    assert error_of(Output("z", np.array([2 + 0j]), np.array([2.0]))) == (0.0, "")


def test_an_element_that_nobody_writes_fails() -> None:
    verdict = judge(case(PARAMETERS + "{ if (i < 63) out[i] = x[i]; }", lambda x: x, tolerance=1.0), "oracle")
    assert "'out'[63] is nan" in verdict.reason


def test_a_result_that_depends_on_the_order_fails_unless_the_kernel_is_known_to_race() -> None:
    body = PARAMETERS + "{ out[i] = i < 32 ? i : 0; if (i >= 32) out[40] = 1; else out[40] = 0; }"

    def expected(x: Any) -> Any:
        return np.where(np.arange(64) < 32, np.arange(64), 0).astype(np.float32) + (np.arange(64) == 40)

    assert "reverse order" in judge(case(body, expected), "oracle").reason
    assert judge(case(body, expected, order="race"), "oracle").passed
    assert judge(case(body, expected, order="lockstep"), "oracle").passed


def test_a_kernel_said_to_race_must_show_it() -> None:
    verdict = judge(case(PARAMETERS + "{ out[i] = x[i]; }", lambda x: x, order="race"), "oracle")
    assert verdict.reason == "its race does not show"


def test_a_fault_is_a_verdict() -> None:
    verdict = judge(case(PARAMETERS + "{ out[i] = x[i + 1]; }", lambda x: x), "oracle")
    assert verdict.reason.startswith("KernelFault") and "M101" in verdict.reason


STRUCT = Struct(
    "Args",
    (
        Field("n", Scalar(DType.INT32), 0),
        Field("stride", Scalar(DType.UINT64), 8),
        Field("sizes", Array(Scalar(DType.INT16), 2), 16),
    ),
    24,
    8,
)


def test_structs_are_packed_by_their_layout() -> None:
    data = pack(STRUCT, {"n": -1, "stride": 2**40, "sizes": [3, 4]})
    assert np.frombuffer(data, np.int32)[0] == -1
    assert np.frombuffer(data, np.uint64)[1] == 2**40
    assert np.frombuffer(data, np.int16)[8:10].tolist() == [3, 4]


def test_fields_that_are_missing_or_unknown_are_refused() -> None:
    with pytest.raises(KeyError, match="stride was not given"):
        pack(STRUCT, {"n": 1, "sizes": [1, 2]})
    with pytest.raises(KeyError, match="no field size"):
        pack(STRUCT, Fields({"stride": 1, "unused": 9}, n=1, sizes=[1, 2], size=3))
    assert pack(STRUCT, Fields({"stride": 7, "unused": 9}, n=1, sizes=[1, 2]))[8] == 7
