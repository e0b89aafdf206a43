"""Gangs without a part in a region's rounds have a function of their own; results are those of all."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu.pipeline import sized, vector_code
from tests.engine.both import WIDE, same, scalar_ir

HEAD = """kernel void k(device const T* a, device T* out, constant uint& width, uint row [[threadgroup_position_in_grid]],
    uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint part [[simdgroup_index_in_threadgroup]]) { threadgroup T s[32]; """
WAIT = " threadgroup_barrier(mem_flags::mem_threadgroup); "
OWN = "for (uint i = t; i < width; i += n) { T x = a[row * width + i]; %s; }"
KEEP = "if (lane == 0) s[part] = y;" + WAIT
ALL = "T z = s[0]; for (uint g = 1; g < n / 32; g++) %s; "
WRITE = "for (uint i = t; i < width; i += n) out[row * width + i] = a[row * width + i] + z;"
SUM = "T y = 0; " + OWN % "y += x" + "y = simd_sum(y); " + KEEP + ALL % "z += s[g]"
KERNELS = {
    "sum": SUM + WRITE,
    "greatest": "T y = -50; "
    + OWN % "y = max(y, x)"
    + "y = simd_max(y); "
    + KEEP
    + ALL % "z = max(z, s[g])"
    + WRITE,
    "number of lanes": "T y = 1; " + OWN % "y += x" + "y = simd_sum(y); " + KEEP + ALL % "z += s[g]" + WRITE,
    "fours": SUM.replace("y += x", "y += x * x; y -= x / 2")
    + WRITE.replace("i < width", "i < width / 4 * 4"),
    "two loops": SUM
    + WAIT
    + "T q = 0; "
    + OWN % "q += x - z"
    + "q = simd_sum(q); if (lane == 0) s[part] = q; "
    + WAIT
    + "for (uint g = 0; g < n / 32; g++) z += s[g];"
    + WRITE,
    "told apart": SUM + "if (t < width) z = 2; " + WRITE,
    "the end": SUM + WRITE.replace("i < width", "width > i"),
    "all of one": SUM + "for (uint i = t; i < width; i += n) out[row * width + i] = z;",
    "a scan": "T y = 0; "
    + OWN % "y += x"
    + "T w = simd_prefix_inclusive_sum(y); if (lane == 31) s[part] = w;"
    + WAIT
    + "T z = w; for (uint g = 0; g < part; g++) z += s[g]; "
    + "for (uint i = t; i < width; i += n) out[row * width + i] = z;",
}


def text(name: str, kind: str) -> str:
    return re.sub(r"\bT\b", kind, HEAD + KERNELS[name] + "}")


def arrays(kind: str, rows: int, width: int) -> list[np.ndarray]:
    a = np.random.default_rng(width).integers(-9, 30, rows * width)
    dtype = {"int": np.int32, "float": np.float32, "half": np.float16}[kind]
    return [a.astype(dtype), np.full(rows * width, 77, dtype), np.array([width], np.uint32)]


@pytest.mark.parametrize("kind", ["int", "float", "half"])
@pytest.mark.parametrize("name", KERNELS)
def test_as_the_oracle(name: str, kind: str) -> None:
    for width, group in ((5, 128), (33, 96), (100, 64), (1, 100)):
        given = arrays(kind, 2, width)
        tolerance = 2e-2 if kind == "half" else 0.0
        same(text(name, kind), given, 2 * group, group, guard=False, tolerance=tolerance, math="fast")


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("group", [64, 128, 512, 1024])
def test_rows_of_all_lengths_with_a_proof(name: str, group: int) -> None:
    kernel = mt.device("cpu").library(
        "#include <metal_stdlib>\nusing namespace metal;\n" + text(name, "int")
    )["k"]
    for width in (0, 3, 32, 33, 100, group - 1, group, group + 1, 1500):
        a, out, n = (
            arrays("int", 3, width) if width else (np.zeros(1, np.int32), np.zeros(1, np.int32), np.uint32(0))
        )
        found = []
        for guard in (True, True, True, False, "robust"):
            got = out.copy()
            kernel(a, got, n, grid=3 * group, threadgroup=group, guard=guard)
            found.append(got)
        for got in found[1:]:
            np.testing.assert_array_equal(got, found[0])
        if name == "sum" and width:
            rows = a.reshape(3, width)
            np.testing.assert_array_equal(found[0].reshape(3, width), rows + rows.sum(1, keepdims=True))


def code(name: str, size: int) -> str:
    module = sized(scalar_ir(text(name, "float"), "k", "fast")[0], (size, 1, 1))
    return vector_code(module, ((size, 1, 1), False, False, False, False, None), 0, WIDE).text


@pytest.mark.parametrize("name", ["sum", "greatest", "two loops", "the end"])
def test_what_is_left_of_a_gang_without_work_is_little(name: str) -> None:
    made = code(name, 1024)
    idle = re.findall(r"define internal i32 @segment\d+\.idle\(.*?\n}", made, re.S)
    assert len(idle) == made.count(".work(ptr") // 2 >= 2
    assert not any("load <" in text.replace("load <32 x i1>", "") for text in idle)
    assert (
        "dereferenceable("
        in re.findall(r"define void @mt_threadgroup.*", made)[0].split("%tg")[0].split("%tables")[1]
    )


def test_a_gang_alone_has_one_function() -> None:
    assert ".idle(" not in code("sum", 32)


def test_limits_of_the_text_are_known_without_a_question() -> None:
    KERNELS["a number"] = KERNELS["sum"].replace("i < width", "i < 100")
    assert ".idle(" not in code("a number", 1024)
    del KERNELS["a number"]
