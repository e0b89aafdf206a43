"""Kernels that multiply matrices with matmul2d, in every way its operands can lie, and what they must give."""
# ruff: noqa: E501  lines of Metal

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from tests.language.launch import DTYPES, build, memory_of, poisoned, run

HEAD = """#include <metal_stdlib>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
"""


@dataclass(frozen=True)
class Product:
    """C (+)= A B of m x n x k, A or B lying the other way round; types of A, B and C; `size` is what there is of it."""

    m: int
    n: int
    k: int
    types: tuple[str, str, str] = ("half", "half", "float")
    turned: tuple[bool, bool] = (False, False)
    adds: bool = True
    groups: int = 1
    size: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        words = [f"{self.m}x{self.n}x{self.k}", *self.types, "nt"[self.turned[0]] + "nt"[self.turned[1]]]
        words += ["add"] if self.adds else []
        words += [f"groups{self.groups}"] if self.groups > 1 else []
        return "-".join([*words, *([str(self.size)] if self.size else [])])

    @property
    def there(self) -> tuple[int, int, int]:
        return self.size or (self.m, self.n, self.k)

    def shapes(self) -> list[tuple[int, int]]:
        m, n, k = self.there
        return [(k, m) if self.turned[0] else (m, k), (n, k) if self.turned[1] else (k, n), (m, n)]

    def descriptor(self) -> str:
        left, right = (str(t).lower() for t in self.turned)
        mode = "multiply_accumulate" if self.adds else "multiply"
        return f"matmul2d_descriptor({self.m}, {self.n}, {self.k}, {left}, {right}, true, matmul2d_descriptor::mode::{mode})"


def check(product: Product, body: str, engine: bool = True) -> None:
    """`body` has the operation as `op` and tensors of all of A, B and C as `tA`, `tB` and `tC`."""
    rng = np.random.default_rng(7)
    shapes = product.shapes()
    small = [rng.integers(-4, 5, shape) for shape in shapes]  # exact in every type
    a, b, c = (x.astype(DTYPES[t]) for x, t in zip(small, product.types, strict=True))
    padding = 3
    out = poisoned((shapes[2][0] + padding, shapes[2][1] + padding), c.dtype)
    before = out.copy()
    out[: shapes[2][0], : shapes[2][1]] = c
    tensors = "\n".join(
        f"  tensor<device {t}, dextents<int, 2>, tensor_inline> t{x}({x.lower()}, dextents<int, 2>({w}, {h}), array<int, 2>{{1, {w + (padding if x == 'C' else 0)}}});"
        for x, t, (h, w) in zip("ABC", product.types, shapes, strict=True)
    )
    ta, tb, tc = product.types
    text = f"""
kernel void k(device {ta}* a, device {tb}* b, device {tc}* c) {{
{tensors}
  constexpr auto desc = {product.descriptor()};
  matmul2d<desc, execution_simdgroups<{product.groups}>> op;
{body}
}}"""
    threads = 32 * product.groups
    buffers = [memory_of(a), memory_of(b), memory_of(out)]
    if engine:
        run(text, *buffers, grid=threads, threadgroup=threads, head=HEAD)
    else:
        size = (threads, 1, 1)
        interpret.run(build(text, head=HEAD).ir, Launch(size, size, dict(enumerate(buffers)), kernel="k"))
    left, right = (x.T if t else x for x, t in zip(small[:2], product.turned, strict=True))
    expected: Any = before
    expected[: shapes[2][0], : shapes[2][1]] = (left @ right + (small[2] if product.adds else 0)).astype(
        c.dtype
    )
    np.testing.assert_array_equal(out.view(np.uint8), expected.view(np.uint8))
