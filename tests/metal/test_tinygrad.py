"""tinygrad 0.9.0 drives Metal through PyObjC: a network learns, and a graph of indirect commands runs.

`python -m conformance tinygrad` has all operations; this is what has to work every day.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest


def _installed() -> str:
    try:
        return version("tinygrad")
    except PackageNotFoundError:
        return ""


pytestmark = pytest.mark.skipif(_installed() != "0.9.0", reason="tinygrad 0.9.0 is not installed")

SCRIPT = """import numpy as np
from tinygrad import Device, Tensor, TinyJit

assert Device.DEFAULT == "METAL"
rng = np.random.default_rng(0)
x, w, v = (rng.random(shape, dtype=np.float32) - 0.5 for shape in ((4, 3), (3, 5), (5, 1)))
a, b, c = (Tensor(array, requires_grad=True) for array in (x, w, v))
loss = ((a @ b).relu() @ c).square().sum()
loss.backward()
hidden = np.maximum(x @ w, 0)
out = hidden @ v
assert np.allclose(loss.numpy(), (out**2).sum(), rtol=1e-5)
assert np.allclose(c.grad.numpy(), hidden.T @ (2 * out), rtol=1e-5)
assert np.allclose(b.grad.numpy(), x.T @ ((2 * out @ v.T) * (hidden > 0)), rtol=1e-5, atol=1e-6)


@TinyJit
def step(t):
    return (t * 2).sum(axis=0).realize(), (t + 1).realize()


for n in range(4):  # from the third on, an indirect command buffer
    total, more = step(Tensor(np.full((3, 4), n, np.float32)).realize())
    assert (total.numpy() == 6 * n).all() and (more.numpy() == n + 1).all()
print("learned on", Device.DEFAULT)
"""


def test_a_network_learns_and_a_graph_runs(tmp_path):
    (tmp_path / "net.py").write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, "-m", "metalloid", "run", "net.py"],
        cwd=tmp_path,
        env={**os.environ, "METAL": "1", "CACHEDB": str(tmp_path / "cache.db")},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert ran.returncode == 0 and ran.stdout == "learned on METAL\n", ran.stderr
