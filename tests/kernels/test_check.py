"""Every kernel of the library runs clean under the checker."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
import metalloid.kernels as mk
from metalloid.kernels import families
from metalloid.kernels.matmul import VARIANTS
from metalloid.kernels.primitives import PRIMITIVES
from metalloid.runtime.watch import Watcher, watchers
from tests.kernels.helpers import BFLOAT16, normal

OTHERS = ("affine", "decode", "quantized", "sampling")  # have tests of their own


def everything(dtype):
    """Calls that run every kernel for a dtype, by name."""

    def some(*shape, seed=0):
        return normal(shape, dtype, seed)

    def derivatives(name, *x, **settings):
        p = PRIMITIVES[name]
        p.vjp(x, normal(p(*x, **settings).shape, dtype, 9), **settings)
        p.jvp(x, x, **settings)

    pages = np.array([[4, 1, 2]]), np.array([19])
    found = {
        "rms_norm": lambda: derivatives("rms_norm", some(3, 45), some(45)),
        "layer_norm": lambda: derivatives("layer_norm", some(3, 45), some(45), some(45)),
        "attention": lambda: mk.attention(some(4, 3, 33), some(2, 40, 33), some(2, 40, 33), causal=True),
        "paged_attention": lambda: mk.paged_attention(
            some(1, 4, 3, 32), some(5, 2, 8, 32), some(5, 2, 8, 32), *pages
        ),
        "rope": lambda: (mk.rope(some(2, 5, 34), 30), mk.rope(some(2, 5, 34), 30, interleaved=True)),
        "silu": lambda: derivatives("silu", some(300)),
        "gelu": lambda: (derivatives("gelu", some(300)), derivatives("gelu", some(300), tanh=True)),
        "swiglu": lambda: derivatives("swiglu", some(3, 30), some(3, 30)),
        "reductions": lambda: (mk.sum(some(3, 300)), mk.max(some(3, 300)), mk.argmax(some(3, 300))),
        "softmax": lambda: derivatives("softmax", some(3, 300)),
        "one row": lambda: (mk.matmul(some(45), some(45, 37)), mk.matvec(some(37, 45), some(45))),
    }
    for variant in VARIANTS:
        found[f"A @ B, {variant}"] = lambda v=variant: mk.matmul(some(19, 45), some(45, 37), variant=v)
        found[f"A @ B^T, {variant}"] = lambda v=variant: mk.matmul(some(19, 45), some(37, 45), True, v)
    return found


@pytest.mark.parametrize("name", everything(np.float32))
def test_clean(name):
    with mt.checked() as report:
        everything(np.float32)[name]()
    assert report.ok, report.text()


@pytest.mark.parametrize("name", ["rms_norm", "attention", "softmax", "A @ B^T, direct"])
def test_clean_with_bfloat16(name):
    with mt.checked() as report:
        everything(BFLOAT16)[name]()
    assert report.ok, report.text()


@pytest.mark.fuzz
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", everything(np.float32))
def test_clean_with_16_bits(name, dtype):
    with mt.checked() as report:
        everything(dtype)[name]()
    assert report.ok, report.text()


def test_long_rows_are_clean():
    with mt.checked() as report:  # several SIMD-groups, and their barriers
        mk.softmax(normal((2, 33000)))
        mk.argmax(normal((2, 33000)))
    assert report.ok, report.text()


def test_these_are_all_kernels():
    ran: set[str] = set()

    class Names(Watcher):
        def before(self, kernel, launch):
            ran.add(kernel.name)
            return False

    watcher = Names()
    watchers.append(watcher)
    try:
        for call in everything(np.float32).values():
            call()
    finally:
        watchers.remove(watcher)
    ours = [f for f in families.families() if f not in OTHERS]
    names = {k for f in ours for k in families.library(f).kernels if not k.endswith("float16")}
    assert names <= ran
