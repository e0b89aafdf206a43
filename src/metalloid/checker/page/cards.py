"""A finding as a card: what, who, the other side, a drawing of a race, the hint."""

from __future__ import annotations

from html import escape

from metalloid.checker.page.timeline import timeline
from metalloid.checker.page.words import coded, where, who
from metalloid.findings import Finding


def card(number: int, finding: Finding, linked: bool = True) -> str:
    """`linked` cards are known by their number, and lead to the page of their rule."""
    facts = [who(finding.thread, finding.threadgroup)]
    facts += [f"{finding.count:,} times in all"] if finding.count > 1 else []
    facts += [where(finding.location)] if finding.location else []
    hint = f'<p class="hint"><b>hint</b> {coded(finding.hint)}</p>' if finding.hint else ""
    rule = f'<a href="#rule-{finding.rule}">{finding.rule}</a>' if linked else f"<b>{finding.rule}</b>"
    own = f' id="finding-{number}"' if linked else ""
    return (
        f'<article class="finding {finding.severity}"{own}>'
        f"<h3>{rule} {escape(finding.message)}</h3>"
        f'<p class="who">{escape(", ".join(f for f in facts if f))}</p>{_other(finding)}'
        f"{timeline(finding)}{hint}</article>"
    )


def _other(finding: Finding) -> str:
    side = finding.other
    if side is None:
        return ""
    line = f"<code>{escape(side.excerpt.strip())}</code>" if side.excerpt else ""
    said = " ".join(p for p in (where(side.location), side.what, who(side.thread, side.threadgroup)) if p)
    return f'<p class="side">{escape(said)} {line}</p>'
