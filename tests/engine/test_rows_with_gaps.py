"""Vectors of which some elements are read, as three of a uchar4: all lanes' rows in two vectors that overlap."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, launch, program, same, scalar_ir

KINDS = {"uchar": "u1", "half": "f2", "short": "i2", "float": "f4", "int": "i4"}
PARTS = ("xyz", "xy", "yz", "yzw", "xz", "zw", "zyx")


def _text(kind: str, of: int, part: str) -> str:
    total = " + ".join(f"{n + 1} * v.{c}" for n, c in enumerate(part))
    return f"""kernel void k(device const {kind}{of}* a, device {kind}* out, constant uint& n,
            uint i [[thread_position_in_grid]]) {{
        if (i < n) {{ {kind}{of} v = a[i]; out[i] = {kind}({total}); }}
    }}"""


def _case(kind: str, of: int, part: str, n: int) -> tuple[list[np.ndarray], np.ndarray]:
    rng, dtype = np.random.default_rng(n), np.dtype(KINDS[kind])
    a = rng.integers(0, 12, (n, 4 if of == 3 else of)).astype(dtype)
    places = ["xyzw".index(c) for c in part]
    expected = sum((k + 1) * a[:, p].astype("i8") for k, p in enumerate(places)).astype(dtype)
    return [a, np.full(n, 77, dtype), np.array([n], np.uint32)], expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("n", [64, 131])
def test_some_elements_of_vectors_of_four(kind, part, n):
    arrays, expected = _case(kind, 4, part, n)
    got = same(_text(kind, 4, part), arrays, n, 64, widths=(0, 1, 8, 32, 64))[1]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_of_three(kind):
    arrays, expected = _case(kind, 3, "xyz", 100)
    got = same(_text(kind, 3, "xyz"), arrays, 100, 32, widths=(0, 8, 16, 64))[1]
    np.testing.assert_array_equal(got, expected)


def test_nothing_is_read_behind_the_last_element():
    """The memory ends with the third byte of the last vector."""
    arrays, expected = _case("uchar", 4, "xyz", 64)
    arrays[0] = arrays[0].reshape(-1)[:-1].copy()
    run = program(_text("uchar", 4, "xyz"), "k")
    run.run(launch(arrays, 64, 64))
    np.testing.assert_array_equal(arrays[1], expected)


@pytest.mark.parametrize(
    ("kind", "part"), [("uchar", "xyz"), ("half", "xyz"), ("float", "xyz"), ("uchar", "xy")]
)
def test_few_loads(kind, part):
    ir, _ = scalar_ir(_text(kind, 4, part), "k")
    variant = ((256, 1, 1), False, False, False, False, None)
    text = vector_code(canonical(ir), variant, 0, WIDE).text
    short = {"uchar": "i8", "half": "half", "float": "float"}[kind]
    assert f"load <{len(part)} x {short}>" not in text
