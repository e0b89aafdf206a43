"""docs/kernels.md is complete; `tests/docs` runs its examples."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import metalloid.kernels as mk

PAGE = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text(encoding="utf-8")


def test_every_function_is_in_the_table():
    table = PAGE.split("## What there is")[1].split("Matrix products have")[0]
    for name in mk.__all__:
        assert re.search(rf"`{name}\b", table), name
        assert hasattr(importlib.import_module("metalloid.kernels"), name)
