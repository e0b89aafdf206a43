"""The lines of text in a Python file's string literals, each with the line of the file it is written in."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache

Row = tuple[int, Callable[[str], bool], str]


@lru_cache(maxsize=64)
def rows(python: str) -> tuple[Row, ...]:
    """(line, whether a stripped text is what is written there, the text), in the order of the file."""
    try:
        tree = ast.parse(python)
    except (SyntaxError, ValueError):
        return ()
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    lines = python.split("\n")
    found: list[Row] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found += _formatted(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            found += _plain(node, lines)
    return tuple(sorted(found, key=lambda row: row[0]))


def _plain(node: ast.Constant, file: list[str]) -> list[Row]:
    """A literal's lines, one below the other; where it is written in another way, each where its words stand."""
    lines, first, last = str(node.value).split("\n"), node.lineno, node.end_lineno or node.lineno
    tall = last - first + 1 == len(lines)
    found: list[Row] = []
    at = first
    for n, text in enumerate(lines):
        if not (bare := text.strip()):
            continue
        here = (k for k in range(at, last + 1) if bare in file[k - 1])
        at = first + n if tall else next(here, at)
        found.append((at, bare.__eq__, bare))
    return found


def _formatted(node: ast.JoinedStr) -> list[Row]:
    """An f-string's lines; a field stands for any text."""
    pattern, lines = "", list[str]()
    for part in node.values:
        if isinstance(part, ast.Constant):
            first, *more = str(part.value).split("\n")
            pattern += re.escape(first)
            for text in more:
                lines.append(pattern)
                pattern = re.escape(text)
        else:
            pattern += ".*"
    lines.append(pattern)
    tall = (node.end_lineno or node.lineno) - node.lineno + 1 == len(lines)
    found: list[Row] = []
    for n, text in enumerate(lines):
        if bare := re.sub(r"^(?:\\?[ \t])+|(?:\\?[ \t])+$", "", text):
            if bare == ".*":  # a field that fills the line says nothing about it
                continue
            found.append((node.lineno + n if tall else node.lineno, _matching(bare), bare))
    return found


def _matching(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None
