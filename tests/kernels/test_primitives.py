"""Derivatives: rules against differences in float64, kernels against the rules in float64; batches against loops."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.kernels import primitive as module
from metalloid.kernels.primitives import PRIMITIVES
from tests.kernels.helpers import DTYPES, close, exact, normal

# name, shapes of the inputs, settings
CASES = [
    ("rms_norm", ((3, 17), (17,)), {"eps": 1e-3}),
    ("layer_norm", ((2, 3, 17), (17,), (17,)), {"eps": 1e-3}),
    ("softmax", ((3, 19),), {}),
    ("softmax", ((5, 3, 2),), {"axis": 1}),
    ("silu", ((33,),), {}),
    ("gelu", ((3, 11),), {}),
    ("gelu", ((3, 11),), {"tanh": True}),
    ("swiglu", ((3, 11), (3, 11)), {}),
    ("rope", ((2, 5, 12),), {"offset": 3, "dims": 8}),
    ("rope", ((2, 5, 12),), {"interleaved": True, "base": 100.0, "scale": 0.5}),
    ("matmul", ((5, 7), (7, 3)), {}),
    ("matmul", ((5, 7), (3, 7)), {"transpose_b": True}),
    ("matmul", ((2, 1, 5, 7), (3, 7, 4)), {}),
    ("matmul", ((2, 5, 7), (3, 7)), {"transpose_b": True}),
    ("matmul", ((7,), (7, 3)), {}),
    ("matmul", ((2, 5, 7), (7,)), {}),
    ("matmul", ((7,), (7,)), {}),
    ("attention", ((1, 4, 3, 8), (1, 2, 5, 8), (1, 2, 5, 8)), {"causal": True}),
    ("attention", ((2, 3, 8), (2, 5, 8), (2, 5, 8)), {"scale": 0.7}),
    ("sum", ((4, 9),), {}),
    ("sum", ((4, 3, 9),), {"axis": 0}),
    ("max", ((4, 9),), {}),
    ("max", ((4, 3, 9),), {"axis": 1}),
]
NAMES = [f"{name}{shapes}{settings or ''}" for name, shapes, settings in CASES]
every = pytest.mark.parametrize(("name", "shapes", "settings"), CASES, ids=NAMES)


def some(shapes, dtype=np.float64, seed=0):
    return tuple(normal(shape, dtype, seed + i) for i, shape in enumerate(shapes))


@every
def test_rules_against_differences(name, shapes, settings):
    p, step = PRIMITIVES[name], 1e-6
    x, dx = some(shapes), some(shapes, seed=10)
    y = p(*x, **settings)
    assert y.shape == p.shape_rule(*shapes, **{**p.settings, **settings})
    plus = p(*(a + step * t for a, t in zip(x, dx, strict=True)), **settings)
    minus = p(*(a - step * t for a, t in zip(x, dx, strict=True)), **settings)
    moved = p.jvp(x, dx, **settings)
    np.testing.assert_allclose(moved, (plus - minus) / (2 * step), rtol=1e-6, atol=1e-7)
    g = normal(y.shape, np.float64, 20)
    gradients = p.vjp(x, g, **settings)
    assert [a.shape for a in gradients] == [a.shape for a in x]
    both = sum(float((a * t).sum()) for a, t in zip(gradients, dx, strict=True))
    assert np.isclose(both, float((g * moved).sum()), rtol=1e-9)  # <J^T g, dx> = <g, J dx>
    parts = [
        p.jvp(x, tuple(t if i == j else None for j, t in enumerate(dx)), **settings) for i in range(len(x))
    ]
    np.testing.assert_allclose(sum(parts), moved, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@every
def test_kernels_against_the_rules_in_float64(name, shapes, settings, dtype):
    p = PRIMITIVES[name]
    x, dx = some(shapes, dtype), some(shapes, dtype, 10)
    wide, moved = tuple(map(exact, x)), tuple(map(exact, dx))
    y = p(*x, **settings)
    g = normal(y.shape, dtype, 20)
    close(y, p.reference(*wide, **settings), 10)
    near(p.jvp(x, dx, **settings), p.jvp(wide, moved, **settings))
    for got, wanted in zip(p.vjp(x, g, **settings), p.vjp(wide, exact(g), **settings), strict=True):
        assert got.dtype == dtype
        near(got, wanted)


def near(got, wanted):
    """Within the roundings of a few steps: derivatives of halves pass through results that are halves."""
    scale = max(float(np.abs(wanted).max()), 1.0)
    error = {4: 2e-5, 2: 3e-3 if got.dtype == np.float16 else 2.5e-2}[got.dtype.itemsize]
    np.testing.assert_allclose(exact(got), wanted, rtol=0, atol=error * scale)


@every
def test_batches_against_loops(name, shapes, settings):
    p = PRIMITIVES[name]
    n = len(shapes)
    for mapped in ((True,) * n, (True,) + (False,) * (n - 1), (False,) * (n - 1) + (True,)):
        x = tuple(
            normal((3, *shape) if m else shape, np.float32, i)
            for i, (shape, m) in enumerate(zip(shapes, mapped, strict=True))
        )
        each = [tuple(a[i] if m else a for a, m in zip(x, mapped, strict=True)) for i in range(3)]
        results = [p(*inputs, **settings) for inputs in each]
        last = tuple(
            np.ascontiguousarray(np.moveaxis(a, 0, -1)) if m else a for a, m in zip(x, mapped, strict=True)
        )
        for inputs, axis in ((x, 0), (last, -1)):
            axes = tuple(axis if m else None for m in mapped)
            got = p.vmap(inputs, axes, **settings)
            np.testing.assert_allclose(got, np.stack(results), rtol=1e-5, atol=1e-5)
        g = normal((3, *results[0].shape), np.float32, 9)
        got = p.vjp_vmap(x, g, (*(0 if m else None for m in mapped), 0), **settings)
        wanted = [p.vjp(inputs, g[i], **settings) for i, inputs in enumerate(each)]
        for a, b in zip(got, zip(*wanted, strict=True), strict=True):
            np.testing.assert_allclose(a, np.stack(b), rtol=1e-5, atol=1e-5)


def test_numpy_serves_where_no_device_is(monkeypatch):
    x, w = normal((3, 17)), normal(17, seed=1)
    wanted = PRIMITIVES["rms_norm"](x, w)
    monkeypatch.setattr(module, "devices", lambda: ())
    monkeypatch.setattr(module, "KERNELS", None)
    np.testing.assert_allclose(PRIMITIVES["rms_norm"](x, w), wanted, rtol=1e-5)
    PRIMITIVES["rms_norm"].vjp((x, w), x)
    PRIMITIVES["rms_norm"].vmap((x, x), (0, 0))


def test_refusals():
    p = PRIMITIVES["rms_norm"]
    x, w = normal((3, 17)), normal(17)
    with pytest.raises(mt.LaunchError, match=r"\[rms_norm\] expected settings of eps, got 'epsilon'"):
        p(x, w, epsilon=1e-5)
    with pytest.raises(mt.LaunchError, match=r"\[rms_norm\] expected 2 arrays \(x, weight\), got 1"):
        p(x)
    with pytest.raises(
        mt.LaunchError, match=r"\[rms_norm vjp\] expected a change of shape \(3, 17\), got \(17,\)"
    ):
        p.vjp((x, w), w)
    with pytest.raises(
        mt.LaunchError, match=r"\[rms_norm jvp\] expected a tangent of weight of shape \(17,\), got \(3, 17\)"
    ):
        p.jvp((x, w), (None, x))
    with pytest.raises(
        mt.LaunchError, match=r"\[rms_norm vmap\] expected mapped axes of one length, got \[3, 17\]"
    ):
        p.vmap((x, x), (0, 1))


def test_temporaries_return_to_the_pool():
    pool = mt.device().pool
    for name, shapes, settings in CASES:
        p, x = PRIMITIVES[name], some(shapes, np.float32)
        g = np.ones(p(*x, **settings).shape, np.float32)
        before = pool.stats().bytes_in_use
        p.vjp(x, g, **settings)
        p.jvp(x, x, **settings)
        assert pool.stats().bytes_in_use == before, name
