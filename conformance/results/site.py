"""The packages that hold references: gguf's quantisers, MLX on the CPU, mlx-lm's models.

They are installed beside the checkout, never into metalloid's own environment, and only the modules
that are needed are imported: a package's own __init__ would ask for much more.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.packages import MLX_LM, STORE, fetch

SITE = STORE / "site"
PINNED = {"gguf": "0.19.0", "mlx": "0.32.4", "mlx-cpu": "0.32.4"}


def install(*packages: str) -> None:
    """Into .conformance/site, without dependencies; done once. Packages that share a folder come together: a second run
    of pip leaves folders that are there as they are."""
    if not all(list(SITE.glob(f"{p.replace('-', '_')}-{PINNED[p]}.dist-info")) for p in packages):
        wanted = [f"{package}=={PINNED[package]}" for package in packages]
        target = ["--quiet", "--no-deps", "--target", str(SITE), *wanted]
        subprocess.run([sys.executable, "-m", "pip", "install", *target], check=True)
    if str(SITE) not in sys.path:
        sys.path.append(str(SITE))


def bare_package(name: str, folder: Path) -> None:
    """A package whose modules can be imported while its __init__ is not run."""
    module = ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules.setdefault(name, module)


@cache
def gguf() -> Any:
    """gguf.constants: the types and their block sizes."""
    install("gguf")
    bare_package("gguf", SITE / "gguf")
    return importlib.import_module("gguf.constants")


@cache
def gguf_quants() -> Any:
    """gguf.quants: quantisers and dequantisers in numpy."""
    gguf()
    return importlib.import_module("gguf.quants")


@cache
def mlx() -> Any:
    """mlx.core, on the CPU."""
    install("mlx", "mlx-cpu")
    return importlib.import_module("mlx.core")


def mlx_lm(module: str, utils: ModuleType) -> Any:
    """A module of mlx-lm, as in `models.gated_delta`; `utils` stands for mlx_lm.utils."""
    mlx()
    folder = fetch(MLX_LM) / "mlx_lm"
    bare_package("mlx_lm", folder)
    for part in ("models", "kernels", "tuner"):
        bare_package(f"mlx_lm.{part}", folder / part)
    sys.modules.setdefault("mlx_lm.utils", utils)
    return importlib.import_module(f"mlx_lm.{module}")
