"""The pages of the rules that were broken, folded up at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from metalloid.errors import MetalloidError
from metalloid.findings import Finding
from metalloid.rules import Page, rule

_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rule_pages(findings: Iterable[Finding]) -> str:
    pages = [page for number in sorted({f.rule for f in findings}) if (page := _page(number)) is not None]
    if not pages:
        return ""
    folded = "\n".join(
        f'<details id="rule-{p.number}"><summary><b>{p.number}</b> {_inline(p.title)}</summary>{_markdown(p)}'
        "</details>"
        for p in pages
    )
    return f'<section class="rules"><h2>Rules</h2>\n{folded}\n</section>'


def _page(number: str) -> Page | None:
    try:
        return rule(number)
    except MetalloidError:
        return None


def _markdown(page: Page) -> str:
    """The little Markdown that rule pages are written in: headings, paragraphs, lists, code."""
    text = page.text.split("\n", 1)[1]
    made, end = [], 0
    for fence in _FENCE.finditer(text):
        made += [_prose(text[end : fence.start()]), f"<pre>{escape(fence[1].rstrip())}</pre>"]
        end = fence.end()
    return "\n".join([*made, _prose(text[end:])])


def _prose(text: str) -> str:
    made = []
    for part in re.split(r"\n\s*\n|\n(?=## )|(?<=\S)\n(?=- )", text.strip()):
        heading, _, rest = part.partition("\n")
        if heading.startswith("## "):
            made.append(
                f"<h3>{_inline(heading[3:])}</h3>" + (f"<p>{_inline(rest)}</p>" if rest.strip() else "")
            )
        elif part.startswith("- "):
            made.append(f'<p class="item">{_inline(part[2:])}</p>')
        elif part.strip():
            made.append(f"<p>{_inline(part)}</p>")
    return "\n".join(made)


def _inline(text: str) -> str:
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text.strip(), quote=False))
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", marked)
