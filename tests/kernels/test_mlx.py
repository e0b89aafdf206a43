"""The kernels inside MLX's transformations."""

from __future__ import annotations

import os

import numpy as np
import pytest

import metalloid as mt
from tests.kernels.helpers import normal
from tests.kernels.test_primitives import CASES, NAMES, PRIMITIVES

mx = pytest.importorskip("mlx.core", reason="mlx is not installed")
every = pytest.mark.parametrize(("name", "shapes", "settings"), CASES, ids=NAMES)


def operator(name):
    from metalloid.kernels import mlx as mk

    return getattr(mk, name)


def some(shapes, seed=0):
    return [mx.array(normal(shape, np.float32, seed + i)) for i, shape in enumerate(shapes)]


@every
def test_vjp_and_jvp(name, shapes, settings):
    op, p = operator(name), PRIMITIVES[name]
    x, dx = some(shapes), some(shapes, 10)
    wide, moved = ([np.array(a, np.float64) for a in arrays] for arrays in (x, dx))
    g = mx.array(normal(p(*wide, **settings).shape, np.float32, 20))
    (y,), got = mx.vjp(lambda *a: op(*a, **settings), x, [g])
    np.testing.assert_allclose(np.array(y), p(*wide, **settings), atol=1e-4)
    for a, b in zip(got, p.vjp(wide, np.array(g, np.float64), **settings), strict=True):
        np.testing.assert_allclose(np.array(a), b, rtol=1e-4, atol=1e-4)
    _, (got,) = mx.jvp(lambda *a: op(*a, **settings), x, dx)
    np.testing.assert_allclose(np.array(got), p.jvp(wide, moved, **settings), rtol=1e-4, atol=1e-4)


@every
def test_grad_against_differences(name, shapes, settings):
    op, step = operator(name), 2e-2
    x, dx = some(shapes), some(shapes, 10)

    def loss(*arrays):
        return (op(*arrays, **settings) * weights).sum()

    weights = mx.array(normal(op(*x, **settings).shape, np.float32, 20))
    gradients = mx.grad(loss, argnums=list(range(len(x))))(*x)
    gradients = gradients if isinstance(gradients, tuple | list) else (gradients,)
    along = sum(float((g * t).sum()) for g, t in zip(gradients, dx, strict=True))
    plus = float(loss(*(a + step * t for a, t in zip(x, dx, strict=True))))
    minus = float(loss(*(a - step * t for a, t in zip(x, dx, strict=True))))
    assert np.isclose(along, (plus - minus) / (2 * step), rtol=2e-2, atol=5e-2)


@every
def test_vmap_and_vmap_of_grad(name, shapes, settings):
    import metalloid.mlx

    op = operator(name)
    x = some([(3, *shape) for shape in shapes])
    with metalloid.mlx.installed():
        got = mx.vmap(lambda *a: op(*a, **settings))(*x)
        each = mx.vmap(mx.grad(lambda *a: op(*a, **settings).square().sum()))(*x)
    for i in range(3):
        part = [a[i] for a in x]
        np.testing.assert_allclose(np.array(got[i]), np.array(op(*part, **settings)), atol=1e-5)
        wanted = mx.grad(lambda *a: op(*a, **settings).square().sum())(*part)
        np.testing.assert_allclose(np.array(each[i]), np.array(wanted), rtol=1e-4, atol=1e-4)


def test_gradients_agree_with_mlx():
    x, w = some(((5, 33), (33,)))
    ours = mx.grad(lambda x, w: operator("rms_norm")(x, w, eps=1e-5).square().sum(), argnums=[0, 1])(x, w)
    theirs = mx.grad(lambda x, w: mx.fast.rms_norm(x, w, 1e-5).square().sum(), argnums=[0, 1])(x, w)
    for a, b in zip(ours, theirs, strict=True):
        assert mx.allclose(a, b, atol=1e-3)


def test_what_is_refused():
    (x,) = some(((5,),))
    silu = operator("silu")
    with pytest.raises(mt.LaunchError, match="derivatives of derivatives"):
        mx.grad(lambda x: mx.grad(lambda x: silu(x).sum())(x).sum())(x)


@pytest.mark.skipif("MLX_DISABLE_COMPILE" in os.environ, reason="mx.compile does nothing here")
def test_compile_is_refused():
    (x,) = some(((5,),))
    silu = operator("silu")
    with pytest.raises(mt.LaunchError, match="compile"):
        mx.compile(lambda x: silu(x))(x)
