"""Lint a text that is not on disk yet."""

from __future__ import annotations

from pathlib import Path

from metalloid.errors import Diagnostic
from metalloid.forms.lint import lint_python_text
from metalloid.frontend import lint_while_typing
from metalloid.lsp.texts import PYTHON
from metalloid.source import Source


def mistakes(path: str, text: str) -> tuple[Diagnostic, ...]:
    """Every message about a text, as `metalloid lint` gives them; each about the file itself or one it includes."""
    text = text.replace("\r\n", "\n")
    if path.endswith(PYTHON):
        report = lint_python_text(text, path, _quiet)
        return (*report.diagnostics, *report.unresolved)
    return lint_while_typing(Source(text, name=path, directory=Path(path).parent)).diagnostics


def _quiet(done: int, total: int) -> None: ...
