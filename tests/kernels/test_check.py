"""Every kernel of the library, for every dtype and format, runs clean under the checker."""

from __future__ import annotations

import pytest

import metalloid as mt
import metalloid.kernels as mk
from metalloid.kernels import families
from metalloid.runtime.watch import Watcher, watchers
from tests.kernels.everything import every_call
from tests.kernels.helpers import normal

CALLS = every_call()
# All of them take minutes; the quick ones are every operation in float32 and one of each kind in 16 bits.
SIXTEEN = ("rms_norm, bfloat16", "softmax, float16", "q4_0 product, bfloat16", "affine 4 bits, float16")
OTHERWISE = (
    "float16, float32",
    "float16",
    ", f16",
    ", bf16",
    "product, q8_0",
    "product, q6_K",
    "product, q4_K",
)
QUICK = [name for name in CALLS if name in SIXTEEN or not name.endswith(OTHERWISE)]
SLOW = [name for name in CALLS if name not in QUICK]


def clean(name: str) -> None:
    with mt.checked() as report:
        CALLS[name]()
    assert report.ok, report.text()


@pytest.mark.parametrize("name", QUICK)
def test_clean(name):
    clean(name)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", SLOW)
def test_clean_with_every_dtype_and_format(name):
    clean(name)


def test_long_rows_are_clean():
    with mt.checked() as report:  # several SIMD-groups, and their barriers
        mk.softmax(normal((2, 33000)))
        mk.argmax(normal((2, 33000)))
    assert report.ok, report.text()


def test_these_are_all_kernels():
    asked: set[str] = set()

    class Names(Watcher):
        def before(self, kernel, launch):
            asked.add(kernel.name)
            return True  # the name is all that is wanted

    watcher = Names()
    watchers.append(watcher)
    try:
        for call in CALLS.values():
            call()
    finally:
        watchers.remove(watcher)
    every = {name for family in families.families() for name in families.library(family).kernels}
    assert asked == every
