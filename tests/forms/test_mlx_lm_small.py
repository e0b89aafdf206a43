"""Tiny models of mlx-lm's architectures with kernels: the same tokens with and without, the same gradients of LoRA."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.forms.mlx_lm_small import MODELS


@pytest.mark.skipif(find_spec("mlx_lm") is None, reason="mlx-lm is not installed")
@pytest.mark.parametrize("model", MODELS)
def test_tokens_and_gradients_are_the_same_with_kernels_and_without(model):
    command = [sys.executable, "-m", "tests.forms.mlx_lm_small", model]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{model} ")
