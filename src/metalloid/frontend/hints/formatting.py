"""M606: braces and placeholders of Python's formatting that reached the compiler."""

from __future__ import annotations

import re
from dataclasses import replace

from metalloid.errors import Diagnostic
from metalloid.frontend.hints.context import Context

_DOUBLED = re.compile(r"\{\{|\}\}")


def doubled_braces(diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    """`{{` where one brace is meant: the text was written for an f-string that it never went through."""
    line = context.line(diagnostic.file, diagnostic.line)
    found = _DOUBLED.search(line)
    if found is None or (
        re.search(r"=\s*\{\{|\}\}\s*[;,)]", line) and "struct" not in line and "enum" not in line
    ):
        return None
    return replace(
        diagnostic,
        rule="M606",
        column=found.start() + 1,
        length=2,
        message=f"'{found.group()}' reached the compiler: braces doubled for Python's formatting",
        hint="put `f` in front of the Python string, or write single braces where the text is not formatted",
    )


def placeholder_braces(diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    """`{name}` where no block can be: a field of an f-string or of `.format` that nobody filled in."""
    line = context.line(diagnostic.file, diagnostic.line)
    here = diagnostic.column - 1
    for found in re.finditer(r"\$?\{\{?([A-Za-z_]\w*(?:\[\w+\]|\.\w+)?)(?:![rsa])?(?::[^{}]*)?\}\}?", line):
        if found.start() <= here <= found.end():
            return left_over(diagnostic, found.group(), found.group(1), found.start() + 1, context)
    return None


def left_over(diagnostic: Diagnostic, text: str, name: str, column: int, context: Context) -> Diagnostic:
    instead = (
        f"; or pass '{name}' in template=[...]" if context.form == "mlx" else "; or pass it in defines={...}"
    )
    return replace(
        diagnostic,
        rule="M606",
        column=column,
        length=len(text),
        message=f"'{text}' reached the compiler: a placeholder of Python's formatting that was not filled in",
        hint=f"put `f` in front of the Python string or call .format({name}=...){instead}",
    )
