"""docs/checking.md beside what `tests/docs` runs: its script, its test, its list of rules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from metalloid.cli import group
from metalloid.rules import index

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "checking.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def files(tmp_path, monkeypatch):
    for _, name, text in BLOCKS:
        if name:
            (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_script_of_the_page_is_not_in_order_for_every_size(files):
    result = CliRunner().invoke(group, ["check", "train.py", "120"], catch_exceptions=False)
    assert result.exit_code == 1 and "M106" in result.stdout


def test_the_test_of_the_page_passes(files):
    plugin = ["-p", "metalloid.pytest_plugin"] if not _installed() else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, "--strict-markers"]
    done = subprocess.run(command, cwd=files, capture_output=True, text=True, timeout=200)
    assert "1 passed" in done.stdout, done.stdout


def _installed():
    from importlib.metadata import entry_points

    return any(point.value == "metalloid.pytest_plugin" for point in entry_points(group="pytest11"))


def test_the_list_of_rules_is_that_of_the_pages():
    text = (DOCS / "rules.md").read_text(encoding="utf-8")
    assert text == index() + "\n", "make it again: metalloid rule --markdown > docs/rules.md"
    prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)]+)\)", text + prose):
        assert (DOCS / link).is_file()
