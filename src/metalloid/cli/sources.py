"""What `metalloid lint` is given: files, folders with files in them, `-` for what comes on stdin."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from metalloid.errors import MetalloidError

SUFFIXES = (".metal", ".py")
# Folders that hold other people's files, or none that anybody wrote.
_NOT_OURS = {"node_modules", "build", "dist", "site-packages", "__pycache__", "venv", "env"}


def files(paths: Iterable[Path]) -> list[Path]:
    """Files as they are; folders as the .metal and .py files in them."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(_below(path))
        elif path.exists() or str(path) == "-":
            found.append(path)
        else:
            raise MetalloidError(f"{path} does not exist.")
    return list(dict.fromkeys(found))


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir():
            if not path.name.startswith(".") and path.name not in _NOT_OURS:
                yield from _below(path)
        elif path.suffix in SUFFIXES:
            yield path


@contextmanager
def on_disk(path: Path, name: str) -> Iterator[Path]:
    """The file itself; what comes on stdin in a file of its own, called `name`."""
    if str(path) != "-":
        yield path
        return
    text = sys.stdin.read()
    suffix = Path(name).suffix if name else ".metal" if "[[" in text and "import " not in text else ".py"
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"stdin{suffix}"
        made.write_text(text, encoding="utf-8")
        yield made
