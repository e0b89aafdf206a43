"""What PyTorch compiles for `compile_shader`: its own headers are at hand, and math is safe unless asked otherwise."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from metalloid.source import MathMode, Source

FAST_MATH = "PYTORCH_MPS_FAST_MATH"


def shader_source(text: str, name: str = "shader.metal") -> Source:
    return Source(text, name=name, include=_headers(), math=_math(), form="torch")


def _math() -> MathMode:
    return "fast" if os.environ.get(FAST_MATH, "0") == "1" else "safe"


@cache
def _headers() -> tuple[Path, ...]:
    """The folder with <c10/metal/...>, found without importing PyTorch; nothing where it is not installed."""
    spec = find_spec("torch")
    folders = [Path(place) / "include" for place in (spec and spec.submodule_search_locations) or ()]
    return tuple(folder for folder in folders if (folder / "c10" / "metal").is_dir())
