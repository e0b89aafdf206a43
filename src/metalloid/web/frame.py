"""The frame around a page's body, and the one around a part of it in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from importlib import resources

CLASS = "metalloid"


@cache
def _style() -> str:
    return (resources.files(__name__.rpartition(".")[0]) / "style.css").read_text(encoding="utf-8")


def _nested(own: str) -> str:
    return f"<style>\n.{CLASS} {{\n{_style()}{own}}}\n</style>"


def document(title: str, body: str, style: str = "") -> str:
    """A whole page. `style` is what it adds to the common one."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n{_nested(style)}\n</head>\n"
        f'<body class="{CLASS} page">\n{body}\n</body>\n</html>\n'
    )


def embedded(body: str, style: str = "") -> str:
    """A part for a notebook: what `_repr_html_` gives."""
    return f'<div class="{CLASS} embedded">{_nested(style)}\n{body}\n</div>'


def chips(counts: Iterable[tuple[str, str]]) -> str:
    """Small labels in the colours of what they say: (class, text)."""
    shown = "".join(f'<span class="chip {kind}">{escape(text)}</span>' for kind, text in counts)
    return f'<p class="chips">{shown}</p>' if shown else ""
