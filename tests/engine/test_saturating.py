"""Floats to integers of all lengths: the nearest there is, 0 for NaN; in vectors, without a call for each lane."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import LESSER, WIDE, launch, same, scalar_ir

INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
DTYPES = dict(zip(INTEGERS, "i1 u1 i2 u2 i4 u4 i8 u8".split(), strict=True))
FLOATS = {"float": np.float32, "half": np.float16, "bfloat": np.uint16}


def _text(source: str, target: str) -> str:
    return f"""kernel void k(device const {source}* a, device {target}* out, uint i [[thread_position_in_grid]]) {{
        out[i] = {target}(a[i]);
    }}"""


def _numbers() -> np.ndarray:
    """Around every limit, both sides, with fractions, and what is no number."""
    powers = [2.0**n for n in (0, 1, 7, 8, 10, 15, 16, 24, 31, 32, 63, 64, 100, 127)]
    near = [np.nextafter(np.float32(p), np.float32(t)) for p in powers for t in (0, np.inf)]
    some = [*powers, *near, 0.0, 0.5, 0.99, 1.5, 126.5, 127.5, 254.9, 255.5, 256.5, 32767.5, 65534.5, 65535.5]
    some += [np.inf, np.nan, 1e-40, 3.7e9, 65504.0]
    return np.array([s * x for x in some for s in (1, -1)], np.float32)


def _exact(a: np.ndarray, dtype: str) -> list[int]:
    info = np.iinfo(dtype)
    limits = (int(info.min), int(info.max))
    return [
        0 if np.isnan(x) else min(max(int(x) if np.isfinite(x) else limits[int(x > 0)], limits[0]), limits[1])
        for x in a.astype(np.float64)
    ]


def _given(source: str) -> tuple[np.ndarray, np.ndarray]:
    """What the kernel gets, and the numbers that it is."""
    a = _numbers()
    if source == "bfloat":
        bits = (a.view(np.uint32) >> 16).astype(np.uint16)
        bits[np.isnan(a)] = 0x7FC0
        return bits, (bits.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        a = a.astype(FLOATS[source])
    return a, a.astype(np.float32)


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize(
    "rounding", ["rint(a[i])", "rint(a[i] * 0.5f)", "rint(float(half(a[i])))", "round(a[i])"]
)
def test_rounded_on_the_way(rounding, target):
    """To the nearest, by the conversion itself; half away from zero, before."""
    a = _numbers()
    a = np.concatenate([a, np.arange(-9, 9, 0.5).astype(np.float32), a[:13] + np.float32(0.5)])
    text = _text("float", target).replace(f"{target}(a[i])", f"{target}({rounding})")
    out = np.zeros(len(a), DTYPES[target])
    same(text, [a, out], len(a), 64, widths=(0, 1, 16), baseline=True)
    made = vector_code(
        canonical(scalar_ir(text, "k")[0]), ((64, 1, 1), False, False, False, False, None), 0, WIDE
    )
    once = "rint(a" in rounding and (target == "int" or target[-4:] in ("char", "hort"))
    assert ("@llvm.lrint.v" in made.text) == once


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_the_nearest_integer_there_is(source, target):
    given, numbers = _given(source)
    out = np.full(len(given), 77, DTYPES[target])
    got = same(_text(source, target), [given, out], len(given), 32, widths=(0, 1, 8, 16, 64))[1]
    assert got.tolist() == _exact(numbers, DTYPES[target])


@pytest.mark.parametrize("target", INTEGERS[:6])
def test_the_rows_of_threads_that_run_alone(target):
    text = f"""kernel void k(device const float* a, device {target}* out, constant int& n, uint i [[thread_position_in_grid]]) {{
        for (int j = 0; j < n; j++) out[i * n + j] = {target}(a[i * n + j]); }}"""
    given, numbers = _given("float")
    length = len(given) // 3
    given, numbers = given[: 3 * length].copy(), numbers[: 3 * length]
    out = np.full(len(given), 77, DTYPES[target])
    got = same(text, [given, out, np.int32([length])], 3, 3, guard=False)[1]
    assert got.tolist() == _exact(numbers, DTYPES[target])


@pytest.mark.parametrize("level", LESSER)
@pytest.mark.parametrize("target", INTEGERS)
def test_on_lesser_processors(target, level):
    ir, signature = scalar_ir(_text("float", target), "k")
    numbers = _numbers()
    arrays = [numbers, np.full(len(numbers), 77, DTYPES[target])]
    cpu_program(ir, signature, target=codegen.limited(level)).run(launch(arrays, len(numbers), 32))
    assert arrays[1].tolist() == _exact(numbers, DTYPES[target])


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_no_lane_is_taken_for_itself(source, target):
    ir, _ = scalar_ir(_text(source, target), "k")
    variant = ((256, 1, 1), False, False, False, False, None)
    text = vector_code(canonical(ir), variant, 0, WIDE).text
    made = codegen.to_assembly(text, WIDE)
    assert not any(f"cvttss2{s}si" in made for s in ("", "u")), "conversions of single numbers"
