"""Vectors: what happens to a scalar happens to each component; geometry; selection."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.math.cases import CASES
from tests.math.scalar_jit import Kernel, Module, build

RNG = np.random.default_rng(11)
COUNT = 500
COMPONENTWISE = [c for c in CASES if c.plain and not c.integer_last and not c.integer_result]
SLOTS = {2: 2, 3: 4, 4: 4}  # a float3 takes the room of four


def vectors(n: int, dtype: str = "float32", low: float = -3, high: float = 3) -> NDArray[np.generic]:
    return RNG.uniform(low, high, (COUNT, SLOTS[n])).astype(dtype)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_componentwise_functions(n: int) -> None:
    """Including clamp, mix and the rest with three arguments."""
    calls = {c.name: f"{c.name}({', '.join('abc'[: c.arity])})" for c in COMPONENTWISE}
    calls |= {"clamp_s": "clamp(a, -1.0f, 1.0f)", "max_s": "max(a, 0.5f)"}
    calls |= {"mix_s": "mix(a, b, 0.25f)", "isnan": "float(n)(isnan(a))", "signbit": "float(n)(signbit(a))"}
    kernels = []
    for name, call in calls.items():
        vector = call.replace("float(n)", f"float{n}")
        kernels.append(Kernel(f"{name}_v", (f"float{n}",) * 4, vector))
        kernels.append(Kernel(f"{name}_s", ("float",) * 4, call.replace("float(n)", "float")))
    module = build(kernels, "safe")
    a, b, c = (vectors(n) for _ in range(3))
    a[::7] = np.nan
    for name in calls:
        whole = module(f"{name}_v", a, b, c, dtype="float32", width=SLOTS[n])[:, :n]
        parts = module(f"{name}_s", a.ravel(), b.ravel(), c.ravel(), dtype="float32")
        np.testing.assert_array_equal(whole, parts.reshape(a.shape)[:, :n], err_msg=name)


def test_common_functions() -> None:
    module = build(
        [
            Kernel("clamp3", ("float",) * 4, "clamp(a, min(b, c), max(b, c))"),
            Kernel("mix3", ("float",) * 4, "mix(a, b, c)"),
            Kernel("step2", ("float",) * 3, "step(a, b)"),
            Kernel("smoothstep3", ("float",) * 4, "smoothstep(min(a, b), max(a, b), c)"),
            Kernel("fmedian", ("float",) * 4, "fmedian3(a, b, c)"),
            Kernel("fmax33", ("float",) * 4, "fmax3(a, b, c)"),
            Kernel("fmin33", ("half",) * 4, "fmin3(a, b, c)"),
        ],
        "safe",
    )
    a, b, c = RNG.uniform(-3, 3, (3, 5000)).astype(np.float32)
    low, high = np.minimum(a, b), np.maximum(a, b)
    assert (module("clamp3", c, a, b, dtype="float32") == np.clip(c, low, high)).all()
    np.testing.assert_allclose(
        module("mix3", a, b, c, dtype="float32"), a + (b - a) * c, rtol=1e-5, atol=1e-5
    )
    assert (module("step2", a, b, dtype="float32") == (b >= a)).all()
    t = np.clip((c - low) / (high - low), 0, 1)
    np.testing.assert_allclose(
        module("smoothstep3", a, b, c, dtype="float32"), t * t * (3 - 2 * t), atol=1e-6
    )
    assert (module("fmedian", a, b, c, dtype="float32") == np.median([a, b, c], axis=0)).all()
    assert (module("fmax33", a, b, c, dtype="float32") == np.max([a, b, c], axis=0)).all()
    h = np.stack([a, b, c]).astype(np.float16)
    assert (module("fmin33", *h, dtype="float16") == np.min(h, axis=0)).all()


@pytest.fixture(scope="module")
def geometry() -> Module:
    kernels = []
    for n in (2, 3, 4):
        f, h = f"float{n}", f"half{n}"
        kernels += [
            Kernel(f"dot{n}", ("float", f, f), "dot(a, b)"),
            Kernel(f"half_dot{n}", ("half", h, h), "dot(a, b)"),
            Kernel(f"distance{n}", ("float", f, f), "distance(a, b)"),
            Kernel(f"distance_squared{n}", ("float", f, f), "distance_squared(a, b)"),
            Kernel(f"length{n}", ("float", f), "length(a)"),
            Kernel(f"fast_length{n}", ("float", f), "fast::length(a)"),
            Kernel(f"length_squared{n}", ("float", f), "length_squared(a)"),
            Kernel(f"normalize{n}", (f, f), "normalize(a)"),
            Kernel(f"fast_normalize{n}", (f, f), "fast::normalize(a)"),
            Kernel(f"reflect{n}", (f, f, f), "reflect(a, b)"),
            Kernel(f"refract{n}", (f, f, f), "refract(a, b, 0.7f)"),
            Kernel(f"refract_dense{n}", (f, f, f), "refract(a, b, 1.8f)"),
            Kernel(f"faceforward{n}", (f, f, f), "faceforward(a, b, a)"),
        ]
    kernels.append(Kernel("cross", ("float3",) * 3, "cross(a, b)"))
    return build(kernels, "safe")


@pytest.mark.parametrize("n", [2, 3, 4])
def test_geometry(geometry: Module, n: int) -> None:
    slots = SLOTS[n]
    a, b = vectors(n), vectors(n)
    x, y = a[:, :n].astype(np.float64), b[:, :n].astype(np.float64)

    def check(name: str, *arguments: NDArray[np.generic], expected: NDArray[np.float64]) -> None:
        width = slots if expected.ndim == 2 else 1
        got = geometry(f"{name}{n}", *arguments, dtype="float32", width=width)
        np.testing.assert_allclose(got[:, :n] if expected.ndim == 2 else got, expected, rtol=3e-6, atol=3e-6)

    def dot(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sum(p * q, axis=1)

    size = np.sqrt(dot(x, x))
    check("dot", a, b, expected=dot(x, y))
    check("distance", a, b, expected=np.sqrt(dot(x - y, x - y)))
    check("distance_squared", a, b, expected=dot(x - y, x - y))
    check("length", a, expected=size)
    check("fast_length", a, expected=size)
    check("length_squared", a, expected=dot(x, x))
    check("normalize", a, expected=x / size[:, None])
    check("fast_normalize", a, expected=x / size[:, None])
    check("faceforward", a, b, expected=np.where(dot(x, y)[:, None] < 0, x, -x))

    a[:, :n] /= np.linalg.norm(a[:, :n], axis=1, keepdims=True)
    b[:, :n] /= np.linalg.norm(b[:, :n], axis=1, keepdims=True)
    i, m = a[:, :n].astype(np.float64), b[:, :n].astype(np.float64)
    d = dot(m, i)
    check("reflect", a, b, expected=i - 2 * d[:, None] * m)
    for name, eta in (("refract", 0.7), ("refract_dense", 1.8)):
        k = 1 - eta**2 * (1 - d**2)
        clear = np.abs(k) > 1e-3
        bent = eta * i - (eta * d + np.sqrt(np.maximum(k, 0)))[:, None] * m
        expected = np.where(k[:, None] < 0, 0, bent)
        got = geometry(f"{name}{n}", a, b, dtype="float32", width=slots)[:, :n]
        np.testing.assert_allclose(got[clear], expected[clear], atol=2e-5)

    h, k16 = vectors(n, "float16"), vectors(n, "float16")
    exact = dot(h[:, :n].astype(np.float64), k16[:, :n].astype(np.float64))
    np.testing.assert_allclose(geometry(f"half_dot{n}", h, k16, dtype="float16"), exact, rtol=1e-3, atol=1e-3)


def test_cross(geometry: Module) -> None:
    a, b = vectors(3), vectors(3)
    got = geometry("cross", a, b, dtype="float32", width=4)[:, :3]
    np.testing.assert_allclose(
        got, np.cross(a[:, :3].astype(float), b[:, :3].astype(float)), rtol=1e-6, atol=1e-6
    )


def test_length_neither_overflows_nor_vanishes(geometry: Module) -> None:
    tests = np.array([[3e38, 0], [3e-40, 4e-40], [2e38, 2e38], [0, 0], [np.inf, 1], [np.nan, 1]], np.float32)
    got = geometry("length2", tests, dtype="float32")
    with np.errstate(all="ignore"):
        expected = np.hypot(tests[:, 0].astype(float), tests[:, 1].astype(float)).astype(np.float32)
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    unit = geometry("normalize2", tests[:4], dtype="float32", width=2)
    np.testing.assert_allclose(np.hypot(unit[:, 0], unit[:, 1]), [1, 1, 1, 0], rtol=1e-6)


def test_select_takes_b_where_true() -> None:
    module = build(
        [
            Kernel("bools", ("float4",) * 3, "select(a, b, a < b)"),
            Kernel("integers", ("float4", "float4", "float4", "int4"), "select(a, b, c)"),
            Kernel("scalar", ("float", "float", "float", "int"), "select(a, b, c > 0)"),
            Kernel("whole", ("float4", "float4", "float4", "float4"), "select(a, b, c.x > 0.0f)"),
            Kernel(
                "tests", ("int", "float4", "float4"), "all(a < b) | any(a < b) << 1 | all(not(a < b)) << 2"
            ),
        ],
        "safe",
    )
    a, b = vectors(4), vectors(4)
    mask = RNG.integers(-1, 2, a.shape).astype(np.int32)
    assert (module("bools", a, b, dtype="float32", width=4) == np.maximum(a, b)).all()
    assert (module("integers", a, b, mask, dtype="float32", width=4) == np.where(mask != 0, b, a)).all()
    flat = module("scalar", a.ravel(), b.ravel(), mask.ravel(), dtype="float32")
    assert (flat == np.where(mask > 0, b, a).ravel()).all()
    assert (module("whole", a, b, a, dtype="float32", width=4) == np.where(a[:, :1] > 0, b, a)).all()
    less = a < b
    expected = less.all(axis=1) | less.any(axis=1) * 2 | (~less).all(axis=1) * 4
    assert (module("tests", a, b, dtype="int32") == expected).all()


@pytest.mark.parametrize("mode", ["safe", "relaxed"])
def test_classes_of_floats(mode: str) -> None:
    names = ["isnan", "isinf", "isfinite", "isnormal", "signbit"]
    kernels = [Kernel(n, ("int", "float"), f"{n}(a)") for n in names]
    kernels += [Kernel(f"{n}_h", ("int", "half"), f"{n}(a)") for n in names]
    kernels += [Kernel(n, ("int", "float", "float"), f"{n}(a, b)") for n in ("isordered", "isunordered")]
    module = build(kernels, mode)  # type: ignore[arg-type]
    x = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1.2e-38, 3e38], np.float32)
    h = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 6e-8, -6e-5, 6.2e-5, 65504], np.float16)
    for values, suffix in ((x, ""), (h, "_h")):
        normal = np.isfinite(values) & (np.abs(values) >= np.finfo(values.dtype).tiny)
        models = [np.isnan(values), np.isinf(values), np.isfinite(values), normal, np.signbit(values)]
        for name, expected in zip(names, models, strict=True):
            assert (module(name + suffix, values, dtype="int32") == expected).all(), name
    y = x[::-1]
    assert (module("isordered", x, y, dtype="int32") == ~(np.isnan(x) | np.isnan(y))).all()
    assert (module("isunordered", x, y, dtype="int32") == (np.isnan(x) | np.isnan(y))).all()
