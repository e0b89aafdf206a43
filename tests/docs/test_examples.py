"""Every example of every page runs, from top to bottom, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from metalloid.cli import group
from metalloid.framework.build import settings
from tests.docs.blocks import ROOT, Page, alike, commands, pages

# Packages and sources that an example may need, and where they are.
NEEDS = {"mlx": "mlx", "torch": "torch", "apart": "metalloid"}
LLAMA = next((ROOT / ".conformance").glob("llama-cpp-python-*/*/vendor/llama.cpp"), None)
# Pages that change the process they run in.
APART = {"docs/forms/pyobjc.md", "docs/forms/torch.md", "docs/start/torch.md"}
LIVE = [page for page in pages() if any(block.runs for block in page.blocks)]


def there(need: str) -> bool:
    special = {
        "mac": lambda: sys.platform == "darwin",
        "llama.cpp": lambda: LLAMA is not None,
        "framework": lambda: settings()["MT_PYTHON_LIBRARY"].startswith(
            "/"
        ),  # this Python has a shared library
    }
    return special[need]() if need in special else find_spec(NEEDS[need]) is not None


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", LIVE, ids=lambda page: page.name)
def test_the_examples_of_a_page_run_and_print_what_it_shows(page: Page, folder, monkeypatch):
    for block in page.blocks:
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    if page.name in APART:
        return apart(page, folder)
    names: dict[str, object] = {"__name__": "example"}
    printed = None
    for block in page.blocks:
        if not all(map(there, block.needs)):
            printed = None
        elif block.language == "python" and block.runs:
            printed = python(page, block, names)
        elif block.language == "console":
            console(block, monkeypatch)
        elif block.language == "output" and printed is not None:
            assert alike(block.text, printed), f"{page.name}:{block.line}\n{printed}"
    return None


def python(page: Page, block, names) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * block.line + block.text, page.name, "exec"), names)
    return out.getvalue()


def console(block, monkeypatch) -> None:
    if "llama.cpp" in block.needs:
        monkeypatch.chdir(LLAMA)
    for command, shown in commands(block):
        word, *words = shlex.split(command)
        if any(need in NEEDS for need in block.needs):  # MLX, PyTorch and Metal are changed: another process
            line = [sys.executable, "-m", "metalloid", *words] if word == "metalloid" else [word, *words]
            done = subprocess.run(line, capture_output=True, text=True)
            printed, said, code = done.stdout, done.stderr, done.returncode
        else:
            assert word == "metalloid", f"$ {command}: a console block runs metalloid; others are ```shell"
            result = CliRunner().invoke(group, words, catch_exceptions=False)
            printed, said, code = result.stdout, result.stderr, result.exit_code
        assert not shown.strip() or alike(shown, printed), f"$ {command}\n{printed}{said}"
        assert code == (": M" in printed), f"$ {command}\n{printed}{said}"


def apart(page: Page, folder) -> None:
    """In a process of its own; what blocks print is compared in the order of the page."""
    if not all(there(need) for block in page.blocks for need in block.needs):
        pytest.skip("a package that it needs is not installed")
    text = "\n".join(b.text for b in page.blocks if b.language == "python" and b.runs)
    (folder / "page.py").write_text(text, encoding="utf-8")
    line = [sys.executable, "-W", "error", "page.py"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    shown = "".join(b.text for b in page.blocks if b.language == "output")
    assert not shown or alike(shown, done.stdout), done.stdout
    for block in page.blocks:
        if block.language == "console":
            console(block, None)


def test_every_page_with_examples_is_looked_at():
    assert {"README.md", "docs/checking.md", "docs/comparing.md", "docs/forms/numpy.md"} <= {
        p.name for p in LIVE
    }
