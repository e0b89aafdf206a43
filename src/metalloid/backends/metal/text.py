"""A kernel's text as Metal takes it: one string. Files that it includes by "..." are put in its place.

Metal compiles a string without folders to look in; `<metal_stdlib>` and its like are Metal's own.
"""

from __future__ import annotations

import re
from pathlib import Path

from metalloid.errors import CompileError, Diagnostic
from metalloid.source import Source

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"[^\n]*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*$", re.MULTILINE)
_DEEP = 64  # files inside files


def whole(source: Source) -> str:
    """The text with its own files inside."""
    return _expanded(source.text, source.name, source.directory, source, set(), 0)


def _expanded(text: str, name: str, folder: Path | None, source: Source, once: set[Path], depth: int) -> str:
    if depth > _DEEP:
        raise CompileError([Diagnostic(f"more than {_DEEP} files include each other", name, 0)])

    def put(match: re.Match[str]) -> str:
        line = text.count("\n", 0, match.start()) + 1
        found = _find(match[1], folder, source)
        if found is None:
            raise CompileError([Diagnostic(f"'{match[1]}' file not found", name, line)])
        if found in once:
            return ""
        inner = found.read_text(encoding="utf-8", errors="replace")
        if _ONCE.search(inner):
            once.add(found)
        made = _expanded(_ONCE.sub("", inner), str(found), found.parent, source, once, depth + 1)
        return f'#line 1 "{found}"\n{made}\n#line {line + 1} "{name}"'

    return _INCLUDE.sub(put, text)


def _find(name: str, folder: Path | None, source: Source) -> Path | None:
    folders = [f for f in (folder, source.directory, *source.include) if f is not None]
    return next((p.resolve() for f in folders if (p := f / name).is_file()), None)
