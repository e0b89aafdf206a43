"""Examples of pages: fenced blocks, with what the words after a fence say about them.

```python              runs, with the names of the blocks above it on the page
```python mlx          the same, where MLX is installed; a console block then has a process of its own
```console apart       in a process of its own
```python mac          needs a Mac's GPU; nobody has run it elsewhere
```python file=x.py    a file of the page, beside the files of examples/
```output              what the Python block above it prints; `...` stands for anything
```console             `$ metalloid ...`, and what it prints; `...` stands for anything
```shell, ```text, ``` to be read
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```([a-z]*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    words: tuple[str, ...]
    text: str
    line: int

    @property
    def file(self) -> str:
        return next((w.removeprefix("file=") for w in self.words if w.startswith("file=")), "")

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(w for w in self.words if "=" not in w and w != "signature")

    @property
    def runs(self) -> bool:
        return not self.file and "signature" not in self.words and self.language in ("python", "console")


@dataclass(frozen=True)
class Page:
    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        found = _FENCE.finditer(self.text)
        return tuple(
            Block(m[1], tuple(m[2].split()), m[3], self.text.count("\n", 0, m.start()) + 1) for m in found
        )

    @cached_property
    def prose(self) -> str:
        return _FENCE.sub("", self.text)


def pages() -> list[Page]:
    """README and the rest; pages of rules have tests of their own (`tests/checker/test_pages.py`)."""
    outside = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [Page(path) for path in [*outside, *sorted((ROOT / "docs").rglob("*.md"))]]


def commands(block: Block) -> list[tuple[str, str]]:
    """(command, output) of a console block; a line that ends with a backslash goes on in the next."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    found = (re.split(r"(?<!\\)\n", part, maxsplit=1) for part in parts)
    return [(command.replace("\\\n", " "), shown) for command, shown in found]


def alike(shown: str, printed: str) -> bool:
    """Whether a text is what a page shows: which threads come first depends on the width of the machine."""
    pattern = ".*".join(re.escape(part) for part in _blind(shown).split("..."))
    return re.fullmatch(pattern, _blind(printed)) is not None


def _blind(text: str) -> str:
    return re.sub(r"thread (?:\(|\.\.\.).*", "thread", text)
