"""The examples in docs/forms run, each page from top to bottom."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "forms"
NEEDS = {"mlx.md": "mlx", "torch.md": "torch", "ci.md": "mlx"}


def blocks(page: str, language: str = "python") -> list[tuple[str, str]]:
    """(file name, text) of every code block; the file name is empty for examples that run in place."""
    text = (PAGES / page).read_text()
    return re.findall(rf"^```{language}(?: file=(\S+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", sorted(p.name for p in PAGES.glob("*.md") if blocks(p.name)))
def test_the_examples_of_a_page_run(page, tmp_path):
    needed = NEEDS.get(page)
    examples = blocks(page)
    if needed and find_spec(needed) is None:
        first = next(
            at for at, (_, text) in enumerate(examples) if re.search(rf"^import {needed}\b", text, re.M)
        )
        examples = examples[:first]  # what comes before it runs without
        if not examples:
            pytest.skip(f"{needed} is not installed")
    script = tmp_path / "example.py"
    script.write_text("\n".join(text for name, text in examples if not name))
    subprocess.run([sys.executable, "-W", "error", str(script)], check=True, stdout=subprocess.DEVNULL)
    files = [(name, text) for name, text in examples if name]
    for name, text in files:
        (tmp_path / name).write_text(text)
    if files:
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert "3 passed" in done.stdout and "skipped" not in done.stdout


def test_the_pages_name_each_other_and_the_workflow_installs_metalloid():
    linked = set(re.findall(r"\((\w+\.md)\)", (PAGES / "README.md").read_text()))
    assert linked == {p.name for p in PAGES.glob("*.md")} - {"README.md"}
    ((_, workflow),) = blocks("ci.md", "yaml")
    assert "pip install pytest" in workflow and "metalloid" in workflow and "\t" not in workflow
