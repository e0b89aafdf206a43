"""Machine code that an earlier version has made is never found: its key tells every file that has a say in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import metalloid
from metalloid.backends import passes_key

PACKAGE = Path(metalloid.__file__).parent
LOADED = "import sys, {}; print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('metalloid.')))"


@pytest.mark.parametrize(
    ("device", "modules"),
    [
        ("cpu", "metalloid.backends.cpu.pipeline, metalloid.backends.cpu.program"),
        ("cuda", "metalloid.backends.cuda.ptx, metalloid.backends.cuda.form"),
    ],
)
def test_every_file_that_makes_code_is_told(device: str, modules: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(modules)], capture_output=True, text=True, check=True
    )
    loaded = {Path(file).relative_to(PACKAGE) for file in done.stdout.split()}
    told = {Path(folder, name) for folder, found in passes_key.files(device) for name, *_ in found}
    assert len(loaded) > 50 and not loaded - told


def test_a_file_that_changes_changes_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("backends/cpu/lower", "ir", "targets", "analysis", "transforms", "llvm"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(passes_key, "_PACKAGE", tmp_path)
    key = passes_key.passes_key.__wrapped__
    seen = {key("cpu", 1), key("cpu", 2)}
    for file in ("types.py", "backends/sites.py", "backends/cpu/lower/masked.py", "ir/text.py"):
        (tmp_path / file).write_text("x = 1\n")
        seen.add(key("cpu", 1))
    assert len(seen) == 6
