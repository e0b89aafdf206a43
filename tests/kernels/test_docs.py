"""The examples of docs/kernels.md run as they stand."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import metalloid.kernels as mk

PAGE = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_run():
    names: dict[str, object] = {}
    assert len(blocks("python")) == 3
    for example in blocks("python"):
        exec(compile(example, "kernels.md", "exec"), names)


@pytest.mark.parametrize("package", ["torch", "mlx"])
def test_the_examples_of_other_packages_run(package):
    pytest.importorskip({"torch": "torch", "mlx": "mlx.core"}[package], reason=f"{package} is not installed")
    (example,) = blocks(f"python {package}")
    exec(compile(example, "kernels.md", "exec"), {})


def test_every_function_is_in_the_table():
    table = PAGE.split("## What there is")[1].split("Matrix products have")[0]
    for name in mk.__all__:
        assert re.search(rf"`{name}\b", table), name
        assert hasattr(importlib.import_module("metalloid.kernels"), name)
