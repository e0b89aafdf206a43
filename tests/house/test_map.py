"""docs/design/house.md has a row for each folder, and the files that it and recipes.md name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import metalloid

HERE = Path(metalloid.__file__).parent
ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "docs" / "design"


def test_every_folder_has_a_row() -> None:
    folders = [
        path for parent in (HERE, HERE / "backends") for path in parent.iterdir() if any(path.glob("*.py"))
    ]
    names = {f"{path.relative_to(HERE).as_posix()}/" for path in folders}
    first = [
        line.split("|")[1] for line in (DESIGN / "house.md").read_text().splitlines() if line.startswith("|")
    ]
    rows = {name for cell in first for name in re.findall(r"`([\w/]+)`", cell)}
    assert len(names) > 20 and names - rows == set()


@pytest.mark.parametrize("page", ["house.md", "recipes.md"])
def test_files_that_are_named_are_there(page: str) -> None:
    named = set(re.findall(r"`([\w./]+\.(?:py|h|cpp|txt|md))`", (DESIGN / page).read_text()))
    folders = ("src", "tests", "docs", "docsite", "conformance")
    there = [f"/{p.relative_to(ROOT).as_posix()}" for f in folders for p in (ROOT / f).rglob("*.*")]
    own = re.compile("NAME|FAMILY|Mnnn")  # the reader's
    named = {name for name in named if not own.search(name)}
    lost = {name for name in named if not any(path.endswith(f"/{name}") for path in there)}
    assert len(named) > 20 and lost == set()
