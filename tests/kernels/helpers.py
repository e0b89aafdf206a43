"""What every test of the kernel library uses: inputs, the measure of an error, the oracle as the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import ml_dtypes
import numpy as np

from metalloid.backends import interpret
from metalloid.runtime.watch import Watcher, watchers

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = (np.dtype(np.float32), np.dtype(np.float16), BFLOAT16)
ODD = (1, 15, 16, 17, 31, 32, 33, 127, 255, 256, 257, 509)


def normal(shape, dtype=np.float32, seed: int = 0) -> np.ndarray:
    """Normal numbers with a sign and a mean: never only zeros or ones."""
    return (np.random.default_rng(seed).standard_normal(shape) + 0.1).astype(dtype)


def exact(array: np.ndarray) -> np.ndarray:
    return np.asarray(array).astype(np.float64)


def close(got: np.ndarray, wanted: np.ndarray, scale: np.ndarray | float | None = None) -> None:
    """float32: within 1e-5 of the scale (the largest number of the result where none is given).
    float16, bfloat16: within one rounding of that."""
    assert got.shape == np.shape(wanted), (got.shape, np.shape(wanted))
    if got.size == 0:
        return
    assert np.isfinite(exact(got)).all(), "not finite"
    size = np.abs(wanted).max() if scale is None else scale
    allowed = 1e-5 * size + np.zeros(np.shape(wanted))
    if got.dtype.itemsize == 2:
        info = ml_dtypes.finfo(got.dtype)
        allowed += np.maximum(np.abs(wanted), float(info.smallest_normal)) * float(info.eps)
    error = np.abs(exact(got) - wanted)
    worst = np.unravel_index(np.argmax(error - allowed), error.shape)
    assert (error <= allowed).all(), (
        f"{got.dtype} off by {error[worst]:.3g} at {worst}: {got[worst]} for {wanted[worst]}"
    )


class _Oracle(Watcher):
    """Runs every launch on the interpreter instead of the engine."""

    launches = 0

    def before(self, kernel, launch) -> bool:
        self.launches += 1
        interpret.run(kernel.ir, launch)
        return True


@contextmanager
def oracle() -> Iterator[_Oracle]:
    watcher = _Oracle()
    watchers.append(watcher)
    try:
        yield watcher
    finally:
        watchers.remove(watcher)


def same_on_oracle(function, *arguments, tolerance: float = 1e-6, **named) -> None:
    """The engine and the oracle agree, bit for bit or to a rounding where sums are grouped differently."""
    got = function(*arguments, **named)
    with oracle() as watcher:
        wanted = function(*arguments, **named)
    assert watcher.launches, "no kernel ran"
    for a, b in zip(_tuple(got), _tuple(wanted), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        scale = max(np.abs(exact(b)).max(initial=0), 1e-30)
        eps = 0 if a.dtype.kind in "iu" else max(tolerance, float(ml_dtypes.finfo(a.dtype).eps))
        np.testing.assert_allclose(exact(a), exact(b), rtol=0, atol=eps * scale)


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)
