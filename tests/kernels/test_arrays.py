"""What goes in comes out as the same kind; what cannot go in is refused with both sides shown."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
import metalloid.kernels as mk
from metalloid.kernels.arrays import contiguous, rows
from tests.kernels.helpers import BFLOAT16, normal


def test_wrong_shapes_and_dtypes_show_both():
    x, w = normal((2, 8)), normal(8)
    with pytest.raises(mt.LaunchError, match=r"\[rms_norm\] expected weight of shape \(8,\), got \(7,\)"):
        mk.rms_norm(x, w[:7])
    with pytest.raises(mt.LaunchError, match=r"\[rms_norm\] expected weight of float32 .*, got float16"):
        mk.rms_norm(x, w.astype(np.float16))
    with pytest.raises(
        mt.LaunchError, match=r"\[rms_norm\] expected .* float32, float16 or bfloat16, got float64"
    ):
        mk.rms_norm(x.astype(np.float64), w)
    with pytest.raises(mt.LaunchError, match=r"\[rms_norm\] expected an array .*, got a list"):
        mk.rms_norm([1.0, 2.0], w)


def test_strides_serve_without_a_copy():
    x = normal((6, 40))
    for view in (x, x[:, :33], x[::2, 3:30], x[1:2]):
        memory, stride = rows(view)
        assert np.may_share_memory(memory, x)
        assert stride == view.strides[0] // 4
    for view in (x.T, x[:, ::2], x[::-1]):
        assert not np.may_share_memory(rows(view)[0], x)
        assert (rows(view)[0].reshape(view.shape) == view).all()
    assert contiguous(x) is x


def test_results_return_to_the_pool():
    pool = mt.device().pool
    x, w = normal((64, 1024)), normal(1024)
    mk.rms_norm(x, w)
    before = pool.stats()
    for _ in range(5):
        mk.rms_norm(x, w)
    after = pool.stats()
    assert after.misses == before.misses
    assert after.bytes_in_use == before.bytes_in_use


def test_torch_tensors_give_torch_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, w = torch.from_numpy(normal((3, 33))), torch.from_numpy(normal(33))
    wanted = torch.nn.functional.rms_norm(x, (33,), w, 1e-5)
    assert torch.allclose(mk.rms_norm(x, w, 1e-5), wanted, atol=1e-5)
    halves = mk.rms_norm(x.bfloat16(), w.bfloat16(), 1e-5)
    assert halves.dtype is torch.bfloat16
    assert torch.allclose(halves.float(), wanted, atol=0.05)
    assert torch.allclose(mk.rms_norm(x.T.contiguous().T, w), wanted, atol=1e-5)


def test_mlx_arrays_give_mlx_arrays():
    mx = pytest.importorskip("mlx.core", reason="mlx is not installed")
    x, w = mx.array(normal((3, 33))), mx.array(normal(33))
    wanted = mx.fast.rms_norm(x, w, 1e-5)
    assert mx.allclose(mk.rms_norm(x, w, 1e-5), wanted, atol=1e-5)
    halves = mk.rms_norm(x.astype(mx.bfloat16), w.astype(mx.bfloat16), 1e-5)
    assert halves.dtype == mx.bfloat16
    assert mx.allclose(halves.astype(mx.float32), wanted, atol=0.05)


def test_bfloat16_of_numpy():
    assert mk.rms_norm(normal((2, 5), BFLOAT16), normal(5, BFLOAT16)).dtype == BFLOAT16
