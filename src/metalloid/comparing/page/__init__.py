"""A comparison as one HTML page: the verdict, the smallest failing case, where the errors are, what was varied."""

from __future__ import annotations

from html import escape
from importlib import resources

from metalloid.comparing.compared import Compared
from metalloid.comparing.page.errors import drawn
from metalloid.comparing.page.smallest import smallest
from metalloid.comparing.page.varied import varied
from metalloid.web import chips, document, embedded, made_by


def html(result: Compared) -> str:
    """The page of a comparison."""
    body = "\n".join([_head(result, made_by()), *_parts(result), varied(result), _refusals(result)])
    return document(f"metalloid: {result.summary()}", body, _style())


def notebook(result: Compared) -> str:
    """The same for a notebook, without what is long."""
    return embedded("\n".join([_head(result), *_parts(result)]), _style())


def _style() -> str:
    return (resources.files(__name__) / "style.css").read_text(encoding="utf-8")


def _parts(result: Compared) -> list[str]:
    if result.example is None:
        return []
    about = result.larger or result.example
    return [smallest(result.example), _pattern(result), drawn(about)]


def _head(result: Compared, made: str = "") -> str:
    failed, refused = len(result.failures), len(result.refused)
    right = len(result.outcomes) - failed - refused
    counts = [("error", f"{failed} wrong")] * bool(failed) + [("good", f"{right} right")] * bool(right)
    counts += [("note", f"{refused} refused")] * bool(refused)
    said = result.summary().removeprefix("compare: ")
    orders = (
        f"<p>Small cases ran in {result.scheduled} orders of their threads.</p>"
        if result.scheduled > 1
        else ""
    )
    return (
        f'<header class="{"bad" if failed else "good"}"><p class="name">metalloid compare</p>'
        f"<h1>{escape(said[0].upper() + said[1:])}</h1>{chips(counts)}{orders if not failed else ''}{made}</header>"
    )


def _pattern(result: Compared) -> str:
    """What all wrong cases have in common."""
    said = []
    if result.common:
        said.append(
            f"wrong exactly where <b>{escape(result.common.text)}</b>: {result.common.wrong} cases;"
            f" {result.common.right} others are right"
        )
    if result.limit:
        name, below, above = result.limit
        said.append(
            f"right for small, wrong for large: right up to <b>{escape(name)}={below}</b>, wrong from"
            f" <b>{escape(name)}={above}</b> on"
        )
    rows = "".join(f"<li>{words}</li>" for words in said)
    head = "<h2>What the wrong cases have in common</h2>"
    return f'<section>{head}<ul class="card facts">{rows}</ul></section>' if said else ""


def _refusals(result: Compared) -> str:
    kinds: dict[str, int] = {}
    for outcome in result.refused:
        kinds[outcome.message] = kinds.get(outcome.message, 0) + 1
    rows = "".join(f"<li>{escape(said)} <small>{count} cases</small></li>" for said, count in kinds.items())
    head = "<h2>Refused: nothing was computed</h2>"
    return f'<section>{head}<ul class="card facts">{rows}</ul></section>' if kinds else ""
