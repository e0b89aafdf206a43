"""The README's list of commands: each can be typed as it stands, in examples/."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from metalloid.cli import group
from tests.docs.blocks import ROOT, Page

README = Page(ROOT / "README.md")
LISTED = next(block.text for block in README.blocks if block.text.startswith("metalloid demo  "))
LINES = [line.split(" #")[0].split() for line in LISTED.splitlines()]
# What is not run here: it serves until it is ended, needs a compiler's minute, or has tests of its own.
ELSEWHERE = {"studio", "lsp", "chat", "cc", "demo", "ls"}
QUICK = {"bench": ["--seconds", "0.01"], "tune": ["--seconds", "0.001", "--threadgroup", "64"]}


def launch() -> list[str]:
    """The options of the line that has them all."""
    (full,) = (line for line in LINES if line[1:3] == ["run", "add.metal"])
    return full[3:]


def words(line: list[str]) -> list[str]:
    given = [*line[1:-1], *launch()] if line[-1] == "..." else line[1:]
    return [*given, *QUICK.get(line[1], [])]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_of_the_list_are_in_the_examples():
    for line in LINES:
        for name in re.findall(r"[\w/]+\.(?:metal|py|m)\b", " ".join(line)):
            assert (ROOT / "examples" / name).is_file(), name


@pytest.mark.parametrize(
    "line",
    [
        line
        for line in LINES
        if line[1] not in ELSEWHERE and line[2:3] != ["-m"] and "pyobjc" not in str(line)
    ],
    ids=lambda line: "-".join(line[1:3]),
)
def test_a_command_of_the_list_runs(line, folder):
    if "torch_silu.py" in line:
        pytest.importorskip("torch")
    result = CliRunner().invoke(group, words(line), catch_exceptions=False)
    assert result.exit_code == 0, f"{shlex.join(line)}\n{result.output}"
    assert result.output
