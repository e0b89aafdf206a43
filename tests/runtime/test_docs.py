"""The examples in docs/forms run, each page from top to bottom."""

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
