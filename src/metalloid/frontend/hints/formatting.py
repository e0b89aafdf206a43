"""M606: braces and placeholders of Python's formatting that reached the compiler."""

from __future__ import annotations

import re

from metalloid.errors import Diagnostic
from metalloid.frontend.hints.context import Context
from metalloid.records import replace

_DOUBLED = re.compile(r"\{\{|\}\}")
_FIELD = r"(?P<field>\$?\{(?P<name>[A-Za-z_]\w*)(?:![rsa])?\})"
# A brace cannot stand here in C++: as a type, as a cast, as a template argument.
_AS_TYPE = re.compile(
    r"(?:\b(?:device|constant|threadgroup|thread|const|kernel|inline)\s+|[(,<;]\s*|^\s*)"
    + _FIELD
    + r"(?:\s*[*&>]|\s+[A-Za-z_]|\)\s*[\w(])",
    re.MULTILINE,
)
_COMMENT = re.compile(r"//[^\n]*")
_DECLARES = (
    r"{field}[\s*&]*\b{name}\b",
    r"{field}[^{{}};]*?\b{name}\s*\[\[",
    r"{field}[^{{}};]*?\b(?:device|constant|threadgroup)\s[^,(){{}};]*\b{name}\s*[,)]",
)


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


def placeholder_type(diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    """`{T}` in the place of a type, anywhere on the line that could not be read."""
    found = _AS_TYPE.search(_COMMENT.sub("", context.line(diagnostic.file, diagnostic.line)))
    if found is None:
        return None
    return left_over(diagnostic, found["field"], found["name"], found.start("field") + 1, context)


def declared_with_placeholder(name: str, diagnostic: Diagnostic, context: Context) -> Diagnostic | None:
    """The cause of a name that is not declared: its declaration has a `{T}` that could not be read."""
    written = context.source.get(diagnostic.file, "")
    text = _COMMENT.sub(lambda comment: " " * len(comment[0]), written)
    for found in _AS_TYPE.finditer(text):
        field, start = re.escape(found["field"]), found.start("field")
        forms = (form.format(field=field, name=re.escape(name)) for form in _DECLARES)
        if any(re.compile(form).match(text, start) for form in forms):
            line = text.count("\n", 0, start) + 1
            there = replace(diagnostic, line=line, excerpt=context.line(diagnostic.file, line))
            column = start - text.rfind("\n", 0, start)
            return left_over(there, found["field"], found["name"], column, context)
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
