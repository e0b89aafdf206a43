"""Loads behind `&&` and `if` that are inside their memory before the branch as well: no branch is left."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts
from metalloid.backends import patience
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import HEADER, WIDE, scalar_ir

HEAD = """kernel void k(device const {kind}* a, device {kind}* o, constant uint& n,
    uint i [[thread_position_in_grid]]) {{ {body} }}"""
# Bodies, and what they are in numpy of a row that is long enough.
KERNELS = {
    "a word": (
        "if (i + 5 <= n) o[i] = a[i] == 1 && a[i + 1] == 2 && a[i + 2] == 1 && a[i + 3] != 0 && a[i + 4] != 3;",
        lambda a: (a[:-4] == 1) & (a[1:-3] == 2) & (a[2:-2] == 1) & (a[3:-1] != 0) & (a[4:] != 3),
    ),
    "a peak": (
        "if (i + 5 <= n) o[i] = a[i + 2] > a[i + 1] && a[i + 2] > a[i + 3] ? a[i + 2] : 7;",
        lambda a: np.where((a[2:-2] > a[1:-3]) & (a[2:-2] > a[3:-1]), a[2:-2], 7),
    ),
    "a choice": (
        "if (i + 5 <= n) { uint at = i; if (a[i] > 1) { at = a[i + 4]; } else { at = a[i + 3]; } o[i] = at; }",
        lambda a: np.where(a[:-4] > 1, a[4:], a[3:-1]),
    ),
}


def code(body: str, kind: str, count: int, elements: int) -> str:
    """Proved vector code of a launch."""
    module = canonical(scalar_ir(HEAD.format(kind=kind, body=body), "k")[0])
    size = {"uchar": 1, "int": 4, "half": 2}[kind]
    lengths = {0: elements * size, 1: elements * size, 2: 4}
    facts = Facts(
        (count, 1, 1), (64, 1, 1), (count // 64, 1, 1), lengths, {}, {2: np.uint32([elements]).tobytes()}
    )
    proof = Prover(module).prove(facts)
    return vector_code(module, ((64, 1, 1), False, False, True, False, proof), 0, WIDE).text


@pytest.mark.parametrize("kind", ["uchar", "int", "half"])
@pytest.mark.parametrize("name", KERNELS)
def test_no_branch_is_left(name, kind):
    body = KERNELS[name][0]
    assert "masked.load" not in code(body, kind, 256, 260)  # every thread passes the first test
    assert "masked.load" in code(body, kind, 256, 256)  # the last four threads would read behind the end


def test_lanes_that_lie_anywhere_are_not_asked_for_all():
    body = "uint x = a[i]; o[i] = x < 9 && a[x] == 1;"
    assert "masked.gather" in code(body, "int", 256, 256)


def test_a_branch_that_all_take_alike_stays():
    assert "br i1" in code("o[i] = n > 300 && a[i] == 1;", "int", 256, 256)


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float16])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("count", [256, 255, 77, 3])
def test_the_same_results(name, kind, count):
    body, wanted = KERNELS[name]
    names = {np.uint8: "uchar", np.int32: "int", np.float16: "half"}
    kernel = mt.device("cpu").library(HEADER + HEAD.format(kind=names[kind], body=body))["k"]
    rng = np.random.default_rng(count)
    with patience.measuring():
        for elements in (count + 4, count, count + 1):
            for _ in range(3):
                a, o = rng.integers(0, 4, elements).astype(kind), np.full(elements, 99, kind)
                kernel(a, o, elements, grid=count, threadgroup=64)
                right = np.full(elements, 99, kind)
                if elements > 4:
                    found = wanted(a).astype(kind)[: min(count, elements - 4)]
                    right[: len(found)] = found
                np.testing.assert_array_equal(o, right)
