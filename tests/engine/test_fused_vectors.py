"""Products and sums of vectors in safe math: rounded once where both stand in one expression, as numbers are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.engine.both import same

COUNT = 101
KERNEL = """
TYPE product(TYPE a, TYPE b) { return a * b; }
kernel void k(const device TYPE* a, const device TYPE* b, const device TYPE* c, device TYPE* out,
              uint i [[thread_position_in_grid]]) {
  TYPE x = a[i], y = b[i], z = c[i];
BODIES}
"""
Meant = Callable[..., np.ndarray]
ONCE: dict[str, Meant] = {  # what it is, and the same of wide numbers
    "r = x * y + z;": lambda x, y, z: x * y + z,
    "r = z + x * y;": lambda x, y, z: x * y + z,
    "r = x * y - z;": lambda x, y, z: x * y - z,
    "r = z - x * y;": lambda x, y, z: z - x * y,
    "r = z; r += x * y;": lambda x, y, z: x * y + z,
    "r = z; r -= x * y;": lambda x, y, z: z - x * y,
    "r = (x * y) + NUMBER(1.5f);": lambda x, y, z: x * y + 1.5,
    "r = NUMBER(1.5f) - x * y;": lambda x, y, z: 1.5 - x * y,
    "r = x *\n    y\n    + z;": lambda x, y, z: x * y + z,
    "r = x * NUMBER(0.328125f) + z;": lambda x, y, z: x * 0.328125 + z,
}
TWICE: dict[str, Meant] = {  # of x * y, rounded, and z
    "TYPE p = x * y; r = p + z;": lambda p, z: p + z,
    "r = product(x, y) + z;": lambda p, z: p + z,
    "TYPE p = x * y; r = z; r += p;": lambda p, z: p + z,
    "r = x; r *= y; r += z;": lambda p, z: p + z,
    "TYPE p; r = (p = x * y) - z;": lambda p, z: p - z,
}
OTHERS = (
    "r = x * y + z * x;",
    "r = (x * y + z) * x - y;",
    "r = -(x * y) + z;",
    "r = x * y + z; r = r * x * y + (x * y - z);",
)
KINDS = [(f"{name}{n}", dtype) for name, dtype in (("float", "f4"), ("half", "f2")) for n in (2, 3, 4)]


def _inputs(dtype: str, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    x, y, z = (rng.normal(size=(COUNT, 4 if n == 3 else n)).astype(dtype) for _ in range(3))
    z[::2] = (-(x[::2].astype(np.float64) * y[::2])).astype(dtype)  # where one rounding shows
    return [x, y, z]


def _outputs(kind: str, bodies: list[str], arrays: list[np.ndarray]) -> list[np.ndarray]:
    """What each body makes of the inputs, on the engine as on the oracle."""
    texts = (f"  {{ TYPE r; {body} out[i + {COUNT * k}] = r; }}\n" for k, body in enumerate(bodies))
    text = KERNEL.replace("BODIES", "".join(texts)).replace("NUMBER", kind[:-1]).replace("TYPE", kind)
    out = np.full((COUNT * len(bodies), arrays[0].shape[1]), 77, arrays[0].dtype)
    made = same(text, [*arrays, out], COUNT, 32, math="safe")[3]
    return np.split(made[:, : int(kind[-1])], len(bodies))


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
def test_one_expression_is_rounded_once_and_a_product_with_a_name_twice(kind: str, dtype: str) -> None:
    n = int(kind[-1])
    arrays = _inputs(dtype, n)
    narrow = [a[:, :n] for a in arrays]
    wide = [a.astype(np.longdouble) for a in narrow]
    for body, got in zip(ONCE, _outputs(kind, list(ONCE), arrays), strict=True):
        np.testing.assert_array_equal(got, ONCE[body](*wide).astype(dtype), err_msg=body)
    x, y, z = narrow
    for body, got in zip(TWICE, _outputs(kind, list(TWICE), arrays), strict=True):
        np.testing.assert_array_equal(got, TWICE[body](x * y, z), err_msg=body)


def test_longer_expressions_are_the_oracles() -> None:
    _outputs("float4", list(OTHERS), _inputs("f4", 4))
