"""Texts that a preprocessor has nothing to do with: no macro in them, and nothing included but Metal's own headers.

Small kernels are written so, and a run of clang takes 6 to 10 ms of a processor, and twice that by the clock. What is
written here is what clang -E writes, to the byte: comments are gone, each token stands in its line, and the first one
of a line in its column. Whatever is not plainly so is left to clang.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from metalloid.patterns import pattern

_PIECE = pattern(r"//[^\n]*|/\*.*?\*/|#[^\n]*|\n|[ \t]+|[^\s/#]+|/(?!\*)", re.DOTALL)
_INCLUDE = pattern(r"#[ \t]*include[ \t]*<(\w+)>[ \t]*(?://.*)?")
_STRANGE = pattern(r"[^\w{}\[\]()<>;:+\-*/%&|^!~=,.?]|<:|:>|<%|%>|%:|\?\?")  # quotes, digraphs, ...
_WORD = pattern(r"[A-Za-z_]\w*")
_RESERVED = pattern(r"\b_[_A-Z]")  # the compiler may know more of them
_DEFINE = pattern(r"^#define (\w+)", re.MULTILINE)
_FILE = pattern(r"[\w./ +-]+", re.ASCII)  # a name that a line marker shows as it is
_FEW = 8  # empty lines are written; more of them are a line marker


def plain_text(text: str, name: str, macros: Path, given: Collection[str], stubs: Path) -> str | None:
    """What the preprocessor makes of a text that is called `name`; None where it may have something to do.

    `macros` is the file that stands in front of every source, `given` are further macros; `stubs` are Metal's headers.
    """
    words = set(_WORD.findall(text))
    if not text.isascii() or "\\" in text or _RESERVED.search(text):
        return None
    if not words.isdisjoint(_defined(macros)) or not words.isdisjoint(given):
        return None
    if not (_FILE.fullmatch(name) and _FILE.fullmatch(str(stubs))):
        return None
    try:
        return "".join(_written(text, name, stubs)) + "\n"
    except _Strange:
        return None


class _Strange(Exception):
    """Something that clang should look at."""


def _written(text: str, name: str, stubs: Path) -> Iterator[str]:
    yield f'# 1 "{name}"\n'
    at, started, new = (
        1,
        False,
        True,
    )  # the line that is being written; whether it has tokens; nothing was written
    for line, column, spaced, token in _tokens(text):
        if line - at > _FEW:
            yield f'{chr(10) if started else ""}# {line} "{name}"\n'
        else:
            yield "\n" * (line - at)
        if token.startswith("#"):
            yield f'# 1 "{_header(token, stubs)}" 1\n# {line + 1} "{name}" 2\n'
            at, started, new = line + 1, False, False  # of the line behind it, clang does not keep the column
        else:
            yield " " * (column - 1 if line > at or new else spaced) + token
            at, started, new = line, True, False


def _tokens(text: str) -> Iterator[tuple[int, int, bool, str]]:
    """(line, column, whether there is space before it, text) of tokens, and of directives, whole lines. What stands
    together stays together."""
    line, begin, end = 1, 0, 0
    spaced, first = False, True  # first: nothing but space since the line began
    for piece in _PIECE.finditer(text):
        if piece.start() != end:  # another kind of space, or a comment without an end
            break
        what, end = piece[0], piece.end()
        if what == "\n":
            line, begin, spaced, first = line + 1, end, False, True
        elif what[0] in " \t" or what.startswith(("//", "/*")):
            spaced = True
            if "\n" in what:
                if not first:  # clang goes on in the line above
                    raise _Strange
                line, begin = line + what.count("\n"), piece.start() + what.rindex("\n") + 1
        else:
            if not first if what[0] == "#" else _STRANGE.search(what):
                raise _Strange
            yield line, piece.start() - begin + 1, spaced, what
            spaced = first = False
    if end != len(text):
        raise _Strange


def _header(directive: str, stubs: Path) -> Path:
    found = _INCLUDE.fullmatch(directive)
    if found is None or not _is_empty(stubs / found[1]):
        raise _Strange
    return stubs / found[1]


@cache
def _is_empty(header: Path) -> bool:
    """Whether it is one of those whose contents come precompiled: a comment of one line."""
    try:
        text = header.read_text()
    except OSError:
        return False
    return text.startswith("//") and text.count("\n") == 1 and text.endswith("\n") and "\\" not in text


@cache
def _defined(macros: Path) -> frozenset[str]:
    return frozenset(_DEFINE.findall(macros.read_text()))
