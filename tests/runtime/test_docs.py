"""docs/forms beside what `tests/docs` runs: the files and the workflow of the page on CI, and that pages are listed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "forms"


def blocks(page: str, language: str = "python") -> list[tuple[str, str]]:
    """(file name, text) of every code block; the file name is empty for examples that run in place."""
    text = (PAGES / page).read_text()
    return re.findall(rf"^```{language}(?: file=(\S+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed")
def test_the_files_of_the_page_on_ci_pass(tmp_path):
    files = [(name, text) for name, text in blocks("ci.md") if name]
    for name, text in files:
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert files and "3 passed" in done.stdout and "skipped" not in done.stdout


def test_the_pages_name_each_other():
    linked = set(re.findall(r"\((\w+\.md)\)", (PAGES / "README.md").read_text()))
    assert linked == {p.name for p in PAGES.glob("*.md")} - {"README.md"}


def workflow() -> str:
    ((_, text),) = blocks("ci.md", "yaml")
    return text


def test_the_workflow_installs_what_there_is_and_runs_the_tests(tmp_path):
    install, *others = re.findall(r"^ *- run: (.*)$", workflow(), re.MULTILINE)
    assert others == ["pytest"], "the examples of the page are run with it above"
    command, verb, *wanted = shlex.split(install)
    assert (command, verb) == ("pip", "install")
    project = tomllib.loads((PAGES.parents[1] / "pyproject.toml").read_text())["project"]
    assert project["name"] in wanted
    assert set(wanted) == {"pytest", "mlx[cpu]", "metalloid"}
    if find_spec("mlx"):
        assert "cpu" in (metadata("mlx").get_all("Provides-Extra") or [])
    assert "\t" not in workflow()


def test_the_workflow_caches_where_kernels_are_kept():
    (path,) = re.findall(r"^ *path: (.*)$", workflow(), re.MULTILINE)
    if sys.platform.startswith("linux"):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("METALLOID_", "XDG_"))}
        asked = "from metalloid import config; print(config.cache_directory())"
        got = subprocess.run(
            [sys.executable, "-c", asked], env=clean, capture_output=True, text=True, check=True
        )
        assert Path(got.stdout.strip()) == Path(path).expanduser()


def test_the_lint_of_the_page_finds_its_kernel(tmp_path):
    page = (PAGES / "ci.md").read_text()
    assert "`metalloid lint src/*.py`" in page
    files = {name: text for name, text in blocks("ci.md") if name}
    (tmp_path / "test_kernels.py").write_text(files["test_kernels.py"])
    command = [
        *(sys.executable, "-c", "from metalloid.cli import main; main()"),
        *("lint", str(tmp_path / "test_kernels.py")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
