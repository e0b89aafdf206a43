"""Derivatives of what takes packed weights or ids: rules against differences, kernels against rules, frameworks."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.errors import LaunchError
from metalloid.kernels.primitives import PRIMITIVES
from tests.kernels.everything import blocks
from tests.kernels.helpers import DTYPES, close, exact, normal

IDS = np.array([[4, 0, 4], [2, 4, 2]])
WORDS = np.random.default_rng(1).integers(0, 1 << 32, (5, 16), np.uint32)


def case(name: str, dtype=np.float64) -> tuple[list[np.ndarray], dict]:
    """Inputs, constant ones among them, and settings."""
    if name == "embedding":
        return [IDS, normal((6, 33), dtype)], {}
    if name == "affine_matmul":
        parts = [normal((2, 3, 128), dtype), WORDS, normal((5, 2), dtype, 1), normal((5, 2), dtype, 2)]
        return parts, {"group_size": 64, "bits": 4}
    format = name.removeprefix("quantized_matmul ")
    return [normal((2, 3, 256), dtype), blocks(format, 5, 256)], {"format": format}


NAMES = ["embedding", "affine_matmul", *(f"quantized_matmul {f}" for f in ("q4_0", "q8_0", "q4_K", "q6_K"))]
every = pytest.mark.parametrize("name", NAMES)


def moved(inputs, seed=10):
    """Tangents; None for ids and packed weights."""
    return [
        None if a.dtype.kind in "iu" else normal(a.shape, a.dtype, seed + n) for n, a in enumerate(inputs)
    ]


@every
def test_rules_against_differences(name):
    p, (x, settings) = PRIMITIVES[name.split()[0]], case(name)
    dx, step = moved(x), 1e-6
    plus, minus = (
        p(*(a if t is None else a + sign * t for a, t in zip(x, dx, strict=True)), **settings)
        for sign in (step, -step)
    )
    along = p.jvp(x, dx, **settings)
    np.testing.assert_allclose(along, (plus - minus) / (2 * step), rtol=1e-6, atol=1e-6)
    g = normal(along.shape, np.float64, 20)
    gradients = p.vjp(x, g, **settings)
    assert [a is None for a in gradients] == [t is None for t in dx]
    both = sum(float((a * t).sum()) for a, t in zip(gradients, dx, strict=True) if t is not None)
    assert np.isclose(both, float((g * along).sum()), rtol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@every
def test_kernels_against_the_rules_in_float64(name, dtype):
    p, (x, settings) = PRIMITIVES[name.split()[0]], case(name, dtype)
    wide = [a if a.dtype.kind in "iu" else exact(a) for a in x]
    y = p.reference(*wide, **settings)
    close(p(*x, **settings), y, 10 * np.abs(y).max())
    g, tangents = normal(y.shape, dtype, 20), moved(x)
    for got, right in zip(p.vjp(x, g, **settings), p.vjp(wide, exact(g), **settings), strict=True):
        assert (got is None) == (right is None)
        if got is not None:
            near(got, right, dtype)
    along = p.jvp(wide, [None if t is None else exact(t) for t in tangents], **settings)
    near(p.jvp(x, tangents, **settings), along, dtype)


def near(got, wanted, dtype):
    """Within the roundings of a few steps."""
    assert got.dtype == dtype
    error = {4: 2e-5, 2: 1e-3 if dtype == np.float16 else 1e-2}[dtype.itemsize]
    np.testing.assert_allclose(exact(got), wanted, rtol=0, atol=error * np.abs(wanted).max())


@every
def test_batches_against_loops(name):
    p, (x, settings) = PRIMITIVES[name.split()[0]], case(name, np.float32)
    first = p.moving[0]
    for mapped in {0, first, len(x) - 1}:
        many = [np.stack([a, a[::-1], a]) if n == mapped else a for n, a in enumerate(x)]
        axes = tuple(0 if n == mapped else None for n in range(len(x)))
        each = [[a[i] if n == mapped else a for n, a in enumerate(many)] for i in range(3)]
        wanted = [p(*inputs, **settings) for inputs in each]
        np.testing.assert_allclose(p.vmap(many, axes, **settings), np.stack(wanted), rtol=1e-5, atol=1e-4)
        g = normal((3, *wanted[0].shape), np.float32, 9)
        got = p.vjp_vmap(many, g, (*axes, 0), **settings)
        loops = [p.vjp(inputs, g[i], **settings) for i, inputs in enumerate(each)]
        for n in p.moving:
            np.testing.assert_allclose(got[n], np.stack([one[n] for one in loops]), rtol=1e-4, atol=1e-3)


@every
def test_torch(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from metalloid.kernels import torch as mk

    op = getattr(mk, name.split()[0])

    def tensors(dtype):
        inputs, settings = case(name, dtype)
        found = [torch.from_numpy(a) for a in inputs]
        return [a.requires_grad_() if a.is_floating_point() else a for a in found], settings

    x, settings = tensors(np.float64)
    assert torch.autograd.gradcheck(lambda *a: op(*a, **settings), x, fast_mode=True)
    x, settings = tensors(np.float32)
    torch.library.opcheck(
        op.default,
        x,
        settings,
        test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
    )
    op(*x, **settings).sum().backward()
    assert all((a.grad is not None) == a.is_floating_point() for a in x)
    many = torch.stack([x[0].detach(), x[0].detach().flip(0)])
    rest = [a.detach() for a in x[1:]]
    got = torch.func.vmap(lambda a: op(a, *rest, **settings))(many)
    assert torch.allclose(got[1], op(many[1], *rest, **settings), atol=1e-4)


@every
def test_mlx(name):
    mx = pytest.importorskip("mlx.core", reason="mlx is not installed")
    from metalloid.kernels import mlx as mk

    p, (x, settings) = PRIMITIVES[name.split()[0]], case(name, np.float32)
    op, arrays = getattr(mk, name.split()[0]), [mx.array(a) for a in x]
    y = p(*x, **settings)
    g = normal(y.shape, np.float32, 20)
    wanted = p.vjp(x, g, **settings)
    for n in p.moving:

        def loss(moving, n=n):
            inputs = [moving if m == n else a for m, a in enumerate(arrays)]
            return (op(*inputs, **settings) * mx.array(g)).sum()

        got = np.array(mx.grad(loss)(arrays[n]))
        np.testing.assert_allclose(got, wanted[n], rtol=1e-4, atol=1e-4 * np.abs(wanted[n]).max())


def test_an_embedding_learns_as_in_pytorch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from metalloid.kernels import torch as mk

    table, ids = torch.from_numpy(normal((6, 33))).requires_grad_(), torch.from_numpy(IDS)
    mk.embedding(ids, table).square().sum().backward()
    ours, table.grad = table.grad.clone(), None
    torch.nn.functional.embedding(ids, table).square().sum().backward()
    assert torch.allclose(ours, table.grad, atol=1e-5)


def test_refusals():
    p = PRIMITIVES["quantized_matmul"]
    x, weight = normal((2, 64)), blocks("q4_0", 3, 64)
    with pytest.raises(LaunchError, match="a format of q4_0, q8_0, q4_K, q6_K, got ''"):
        p(x, weight)
    with pytest.raises(LaunchError, match=r"change of shape \(2, 3\), got \(3, 2\)"):
        p.vjp((x, weight), normal((3, 2)), format="q4_0")
    nothing = PRIMITIVES["embedding"].vjp((np.zeros((0,), int), normal((3, 5))), normal((0, 5)))
    assert nothing[0] is None and not nothing[1].any() and nothing[1].shape == (3, 5)
