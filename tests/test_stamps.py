"""Stamps tell the files of a folder apart from those that lay there before, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from metalloid.stamps import stamp, stamps


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def test_files_of_the_wanted_kinds_in_order(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a.py", "c.h", "deep/er/d.py", "__pycache__/a.pyc", "deep/__pycache__/d.py")
    assert [name for name, *_ in stamps(tmp_path)] == ["a.py", "b.py", "c.h", "deep/er/d.py"]
    assert [name for name, *_ in stamps(tmp_path, (".py",))] == ["a.py", "b.py", "deep/er/d.py"]
    assert [name for name, *_ in stamps(tmp_path, (".py", ".h"), deep=False)] == ["a.py", "b.py", "c.h"]


def test_a_file_that_is_new_gone_longer_or_later_is_told(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "deep/b.py")
    seen = [stamps(tmp_path)]
    make(tmp_path, "deep/c.py")
    seen.append(stamps(tmp_path))
    (tmp_path / "a.py").write_text("xx")
    seen.append(stamps(tmp_path))
    os.utime(tmp_path / "deep" / "b.py", ns=(1, 1))
    seen.append(stamps(tmp_path))
    (tmp_path / "a.py").unlink()
    seen.append(stamps(tmp_path))
    assert all(one != other for n, one in enumerate(seen) for other in seen[:n])
    assert stamps(tmp_path) == seen[-1]


def test_one_file_under_its_whole_path(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    (below,) = stamps(tmp_path)
    assert stamp(tmp_path / "a.py") == (str(tmp_path / "a.py"), *below[1:])
