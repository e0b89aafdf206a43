"""Mistakes of a first day with Metal: a file's name for its text, a whole kernel for a body."""

from __future__ import annotations

import re

from metalloid.errors import Diagnostic
from metalloid.frontend.hints.context import Context
from metalloid.records import replace

_FILE = re.compile(r"[^\s;{}()]+\.(?:metal|msl|metallib|air|h|txt)")
_KERNEL = re.compile(r"\[\[\s*kernel\s*\]\]\s*void\s+(\w+)|\bkernel\s+void\s+(\w+)")
_QUOTES = re.compile(r'"""|\'\'\'')
# The last lines of a text that somebody wrote the head of: what is quoted in it is a body.
_BODIES = re.compile(r".* (?:source|header)|metal_kernel")


def beginners(diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    """The better diagnostic, where it is one of these mistakes."""
    if diagnostic.severity != "error":
        return None
    return _file_name(diagnostic, context) or _whole_kernel(diagnostic, context)


def _file_name(diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    text = context.source.get(diagnostic.file, "").strip()
    if not _FILE.fullmatch(text):
        return None
    read = f"pathlib.Path({text!r})"
    takes = f"pass its contents: {read}.read_text()"
    return replace(
        diagnostic,
        rule="M601",
        message=f"'{text}' is the name of a file, not Metal text",
        hint=takes if _is_body(diagnostic, context) else f"{takes}; device.library takes {read} itself",
        column=1,
        length=len(text),
    )


def _whole_kernel(diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    if not _is_body(diagnostic, context):
        return None
    lines = context.lines(diagnostic.file)
    for number, line in enumerate(lines, 1):
        found = _KERNEL.search(line)
        if found and _one_text(diagnostic, lines, number):
            name = found[1] or found[2]
            return replace(
                diagnostic,
                rule="M601",
                message=f"'{name}' is a whole kernel, and the body of one is expected",
                hint="give what stands between its braces; parameters are written for you, from the names of inputs"
                " and outputs. Functions that it calls go into header=",
                line=number,
                column=found.start() + 1,
                length=len(found[0]),
                excerpt=line,
            )
    return None


def _one_text(diagnostic: Diagnostic, lines: list[str], number: int) -> bool:
    """Whether a line is of the text that a message is about: a Python file may hold several, each in its quotes."""
    low, high = sorted((number, diagnostic.line))
    between = lines[low : high - 1]
    return not diagnostic.file.endswith(".py") or not any(_QUOTES.search(line) for line in between)


def _is_body(diagnostic: Diagnostic, context: Context) -> bool:
    """Whether the text is put between the braces of a kernel that a form writes."""
    return context.form == "mlx" or _BODIES.fullmatch(diagnostic.file) is not None
