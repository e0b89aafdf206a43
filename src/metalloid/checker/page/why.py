"""Why a result is as it is: the chain from the launch to the value, link by link."""

from __future__ import annotations

from html import escape

from metalloid.checker.checked_launches import Checked, CheckedLaunches
from metalloid.checker.explain import explain
from metalloid.checker.explain.link import Explanation, Link
from metalloid.checker.page.words import coded
from metalloid.findings import NOTE

# What stands before a link, and its class.
_MARKS = {"yes": ("&#10003;", "yes"), "no": ("&#10007;", "no"), "remark": ("&#8211;", "remark")}
_END = "nothing on the way is broken; compare with a reference: mt.compare"


def chain(why: Explanation, odd: bool = True) -> str:
    """The links as a list, each with whether it holds; where the result is not odd, the last is a remark only."""
    rows = "".join(_row(link, odd) for link in why.links)
    end = f'<li class="end">{_END}</li>' if why.broken is None else ""
    return f'<ol class="chain">{rows}{end}</ol>'


def of_launch(checked: Checked) -> str:
    """The chain of one launch, folded where nothing is broken; nothing where its memory was not kept."""
    if not checked.launch.buffers:
        return ""
    why = explain(CheckedLaunches([checked]))
    if not why.links:
        return ""
    wrong = any(f.severity != NOTE for f in checked.findings)
    odd = why.answer is not None and (wrong or why.subject.endswith("all zeros?"))
    opened = " open" if odd else ""
    broken = f': <b class="no">{escape(why.answer.said.splitlines()[0])}</b>' if odd and why.answer else ""
    subject = why.subject[0].upper() + why.subject[1:]
    return (
        f'<details class="why"{opened}><summary>{escape(subject.rstrip("?"))}{broken or "?"}</summary>'
        f"{chain(why, odd)}</details>"
    )


def _row(link: Link, odd: bool) -> str:
    first, *rest = link.said.split("\n")
    more = "".join(f"<br>{escape(line)}" for line in rest)
    hint = (
        f'<p class="hint"><b>hint</b> {coded(link.hint)}</p>'
        if link.hint and (link.odd or not link.holds) and odd
        else ""
    )
    mark, name = _MARKS["no" if not link.holds and odd else "remark" if link.odd or not link.holds else "yes"]
    return f'<li class="{name}"><span class="mark">{mark}</span><div>{escape(first)}{more}{hint}</div></li>'
