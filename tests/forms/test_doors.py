"""A door (`metalloid.mlx`) is found by every way that leads to a form: `mt.mlx`, `metalloid run`, the pages."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from docsite.api import SECTIONS

import metalloid as mt
from metalloid.forms.attach import FORMS
from tests.house.imports import files, imports

ROOT = Path(__file__).parents[2]
PACKAGE = Path(mt.__file__).parent
GRAPH = imports(files(PACKAGE))
DOORS = sorted(
    path.stem
    for path in PACKAGE.glob("[a-z]*.py")
    if any(other.startswith("metalloid.forms.") for other in GRAPH[f"metalloid.{path.stem}"])
    and path.stem not in ("start", "pytest_plugin")  # they attach forms, and are none
)


def test_doors_are_found() -> None:
    assert {"mlx", "torch"} <= set(DOORS)


@pytest.mark.parametrize("name", DOORS)
def test_every_way_leads_to_it(name: str) -> None:
    module = importlib.import_module(f"metalloid.{name}")
    assert name in mt.__all__, "name it in metalloid/__init__.py"
    assert SECTIONS[module.__name__] == f"mt.{name}"
    served = {form.ours for form in FORMS}
    assert (module.__name__ in served) == ("install" in module.__all__), "give it a row in forms/attach.py"
    assert f"]({name}.md)" in (ROOT / "docs/forms/README.md").read_text(encoding="utf-8")
    assert (ROOT / f"docs/forms/{name}.md").is_file()
