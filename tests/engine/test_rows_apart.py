"""Sums along rows that are read from the end, or every second, third or fourth element: registers that are shuffled."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

import metalloid as mt
from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts
from metalloid.backends import patience
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import HEADER, WIDE, same, scalar_ir

THREADS = 21
# Where a row's k-th element lies, in the one buffer and in the other.
PLACES = {
    "from the end": ("i * n + n - 1 - k", "i * n + k"),
    "both from the end": ("int(i) * n + n - 1 - k", "i * n + n - 1 - k"),
    "every second": ("2 * (i * n + k)", "i * n + k"),
    "every second, two of them": ("2 * (i * n + k)", "2 * (int(i) * n + k) + 1"),
    "every second from the end": ("2 * (i * n + n - 1 - k)", "2 * (i * n + k)"),
    "every third": ("3 * (i * n + k) + 1", "i * n + n - 1 - k"),
    "every third from the end": ("3 * (i * n + n - 1 - k)", "3 * (i * n + k) + 2"),
    "every fourth": ("4 * (i * n + k) + 3", "4 * (i * n + k)"),
    "every fifth": ("5 * (i * n + k)", "i * n + k"),
}  # fmt: skip
SHUFFLED = [name for name in PLACES if name not in ("every third from the end", "every fifth")]
LENGTHS = (0, 1, 5, 15, 16, 17, 33, 63, 64, 65, 100, 131, 200)
DTYPES = {"float": np.float32, "half": np.float16, "char": np.int8}


def text(name: str, kind: str) -> str:
    x, y = PLACES[name]
    return f"""kernel void k(device const {kind}* a, device const float* b, device float* o, constant int& n, constant int& count,
        uint i [[thread_position_in_grid]]) {{
        if (int(i) >= count) return;
        float p = 0, q = -9;
        for (int k = 0; k < n; k++) {{ float x = a[{x}], y = b[{y}]; p += x * y; q = max(q, x - y); }}
        o[i] = p * 100 + q; }}"""


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("kind", DTYPES)
def test_rows_of_any_length(name: str, kind: str) -> None:
    """Guarded, and proved, which a third launch is."""
    with patience.measuring():
        kernel = mt.device("cpu").library(HEADER + text(name, kind), math="fast")["k"]
        for n in LENGTHS:
            rng = np.random.default_rng(n)
            a, b = (rng.integers(-3, 4, 5 * THREADS * max(1, n)) for _ in range(2))
            arrays = [a.astype(DTYPES[kind]), b.astype(np.float32), np.full(THREADS + 3, np.nan, np.float32)]
            arrays += [np.int32([n]), np.int32([THREADS])]
            expected = same(text(name, kind), arrays, 24, 24, math="fast")[2]
            for _ in range(3):
                found = [x.copy() for x in arrays]
                kernel(*found, grid=24, threadgroup=8)
                np.testing.assert_array_equal(found[2], expected, err_msg=f"{n}")


@pytest.mark.parametrize("name", PLACES)
def test_registers_are_loaded_and_shuffled(name: str) -> None:
    module = canonical(scalar_ir(text(name, "float"), "k", "fast")[0])
    lengths = {0: 1 << 20, 1: 1 << 20, 2: 1 << 10, 3: 4, 4: 4}
    numbers = {3: np.int32([200]).tobytes(), 4: np.int32([32]).tobytes()}
    facts = Facts((32, 1, 1), (32, 1, 1), (1, 1, 1), lengths, {}, numbers)
    proof = Prover(module).prove(facts)
    code = vector_code(module, ((32, 1, 1), False, False, True, False, proof), 0, WIDE).text
    assert (len(re.findall(r"load <16 x float>, ptr %t\d+, align 4", code)) >= 4) == (name in SHUFFLED)
