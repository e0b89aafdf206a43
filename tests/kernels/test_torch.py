"""The operators of PyTorch, with PyTorch's own checkers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.kernels.helpers import normal
from tests.kernels.test_primitives import CASES, NAMES

torch = pytest.importorskip("torch", reason="torch is not installed")
every = pytest.mark.parametrize(("name", "shapes", "settings"), CASES, ids=NAMES)


def operator(name):
    from metalloid.kernels import torch as mk

    return getattr(mk, name)


def some(shapes, dtype=np.float64):
    return tuple(torch.from_numpy(normal(shape, dtype, i)).requires_grad_() for i, shape in enumerate(shapes))


@every
def test_gradcheck(name, shapes, settings):
    op = operator(name)
    assert torch.autograd.gradcheck(lambda *a: op(*a, **settings), some(shapes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that float32 has few digits
        assert torch.autograd.gradcheck(
            lambda *a: op(*a, **settings),
            some(shapes, np.float32),
            eps=1e-3 if name == "max" else 2e-2,
            atol=2e-2,
            rtol=2e-2,
        )


@every
def test_opcheck(name, shapes, settings):
    torch.library.opcheck(
        operator(name).default,
        some(shapes, np.float32),
        settings,
        test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
    )


def test_whole_of_opcheck_for_one_of_each_kind():
    for name, shapes, settings in (CASES[0], CASES[2]):
        torch.library.opcheck(operator(name).default, some(shapes, np.float32), settings)


@every
def test_vmap(name, shapes, settings):
    op = operator(name)
    x = tuple(torch.from_numpy(normal((3, *shape), np.float32, i)) for i, shape in enumerate(shapes))
    wanted = torch.stack([op(*(a[i] for a in x), **settings) for i in range(3)])
    assert torch.allclose(torch.func.vmap(lambda *a: op(*a, **settings))(*x), wanted, atol=1e-5)
    first = tuple(a[0].requires_grad_() for a in x)
    y = op(*first, **settings)
    changes = torch.from_numpy(normal((4, *y.shape), np.float32, 9))
    many = torch.autograd.grad(y, first, changes, retain_graph=True, is_grads_batched=True)
    for i in range(4):
        for a, b in zip(many, torch.autograd.grad(y, first, changes[i], retain_graph=True), strict=True):
            assert torch.allclose(a[i], b, atol=1e-4)


def test_gradients_agree_with_pytorch():
    from metalloid.kernels import torch as mk

    x, w = some(((5, 33), (33,)), np.float32)
    mk.rms_norm(x, w, 1e-5).square().sum().backward()
    ours = x.grad.clone(), w.grad.clone()
    x.grad = w.grad = None
    torch.nn.functional.rms_norm(x, (33,), w, 1e-5).square().sum().backward()
    assert torch.allclose(ours[0], x.grad, atol=1e-4) and torch.allclose(ours[1], w.grad, atol=1e-3)


def test_derivatives_of_derivatives_are_refused():
    from metalloid.kernels import torch as mk

    (x,) = some(((5,),), np.float32)
    (first,) = torch.autograd.grad(mk.silu(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="silu_vjp"):
        first.sum().backward()
