"""Tiny models of mlx-vlm's architectures with kernels: the same tokens with and without, the same gradients of LoRA."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.forms.mlx_vlm_sizes import MORE

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_vlm") is None, reason="mlx-vlm is not installed"),
    pytest.mark.fuzz,  # minutes, and packages that weigh gigabytes
]
ROOT = Path(__file__).parents[2]


def run(module: str, *words: str) -> str:
    command = [sys.executable, "-m", f"tests.forms.{module}", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3000)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tokens_and_gradients_are_the_same_with_kernels_and_without(tmp_path):
    on = run("mlx_vlm_small", "on", str(tmp_path))
    run("mlx_vlm_small", "off", str(tmp_path))
    same = run("mlx_vlm_small", "compare", str(tmp_path))
    for name in MORE:
        assert f"{name} the same" in same, same
        (line,) = [line for line in on.splitlines() if line.startswith(f"{name} on ")]
        launched = int(line.removeprefix(f"{name} on ").split()[0])
        assert launched >= MORE[name].get("launches", 8), line


def test_images_are_resampled_alike(tmp_path):
    assert int(run("mlx_vlm_vision", "on", str(tmp_path / "on.npz")).split()[1]) >= 6
    assert run("mlx_vlm_vision", "off", str(tmp_path / "off.npz")).split()[1] == "0"
    on, off = np.load(tmp_path / "on.npz"), np.load(tmp_path / "off.npz")
    assert on.files == off.files
    for name in on.files:
        np.testing.assert_allclose(on[name], off[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_pictures_are_the_same_with_kernels_and_without(tmp_path):
    assert int(run("mlx_vlm_images", "on", str(tmp_path / "on.npz")).split()[1]) >= 12
    assert run("mlx_vlm_images", "off", str(tmp_path / "off.npz")).split()[1] == "0"
    on, off = np.load(tmp_path / "on.npz"), np.load(tmp_path / "off.npz")
    assert len(on.files) == 9 and on.files == off.files
    for name in on.files:
        if name.startswith("rgb"):
            np.testing.assert_array_equal(on[name], off[name], err_msg=name)
        else:  # bfloat16 between the layers
            np.testing.assert_allclose(on[name], off[name], rtol=2**-6, atol=2**-6, err_msg=name)
        assert np.std(on[name].astype(float)) > 0.1, name
