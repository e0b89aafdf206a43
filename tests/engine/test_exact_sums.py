"""What a proof says of an index, that it has not wrapped, is told to LLVM of the sums that it is made of, and no others."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, same, scalar_ir

TEXT = """kernel void k(device const float* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {{ {body} }}"""
ROWS = "for (uint j = 0; j < n; j++) y[i * n + j] = x[i * n + j] * 2;"
# A sum that wraps in some threads, which is asked for before it is an index.
TESTED = (
    "for (uint j = 0; j < n; j++) { uint at = (i + j) * n * 50000000; if (at < 64 * n) y[at] = x[at] + 1; }"
)


COLUMN = "float s = 0; for (uint j = 0; j < n; j++) s += x[j * n + i]; y[i] = s;"
# Lanes leave at rounds of their own; some never come.
LEFT = (
    "if (i % 5 == 2) return; float s = 0; for (uint j = i & 3; j < n; j += 3) { s += x[j * 64 + i];"
    " if (s > 900 + i) break; } y[i] = s;"
)


def exact(body: str, n: int, threads: int = 32, width: int = 1) -> int:
    """How many sums and products LLVM is told of."""
    module = canonical(scalar_ir(TEXT.format(body=body), "k")[0])
    facts = Facts(
        (threads, 1, 1),
        (threads, 1, 1),
        (1, 1, 1),
        {0: 1 << 20, 1: 1 << 20, 2: 4},
        {},
        {2: np.uint32([n]).tobytes()},
    )
    proof = Prover(module).prove(facts)
    code = vector_code(module, ((threads, 1, 1), False, False, True, False, proof), width, WIDE).text
    return len(re.findall(r"= (add|mul|shl) (nuw|nsw|nsw nuw) i32", code))


def test_rows_inside_their_memory() -> None:
    assert exact(ROWS, 100) >= 1


def test_an_index_that_may_wrap_is_not_told() -> None:
    """Rows of 2^31 and more, and sums that are tested before they are indices."""
    assert exact(ROWS, 1 << 28) == 0
    assert exact(TESTED, 100) == 0


def test_lanes_share_an_index_and_a_counter() -> None:
    """The product, the sum and the counter; vectors of lanes are told nothing, since some may be idle."""
    assert exact(COLUMN, 100, width=16) >= 3
    assert exact(COLUMN, 1 << 27, width=16) == 0
    assert exact(TESTED, 100, width=16) == 0


@pytest.mark.parametrize("n", [1, 3, 86, 100])
def test_sums_that_wrap(n: int) -> None:
    x, y = np.arange(8192, dtype=np.float32), np.full(8192, 7, np.float32)
    for body in (ROWS, TESTED, LEFT):
        same(TEXT.format(body=body), [x, y, np.uint32([n])], 64, 32, widths=(0, 1, 16), math="safe")


def test_a_counter_up_to_the_end_of_its_numbers() -> None:
    """Nothing is told of one that could be close to 2^31 where it is an index."""
    body = "for (uint j = n; j < 0x7fffffffu; j += 3) y[(j - n) & 7] = x[j & 15];"
    assert exact(body, 0x7FFFFFF0, width=16) == 0
