"""A race, drawn: two threads, their accesses, and the barriers that are not between them."""

from __future__ import annotations

from html import escape

from metalloid.checker.page.words import triple
from metalloid.findings import Finding

WIDTH, LEFT, ROW, TOP = 760, 190, 64, 48
# Why nothing orders the two.
REASONS = {
    "M201": "no barrier between the two: either may come first",
    "M202": "no barrier between the two: either may come first",
    "M203": "threadgroups run in any order: nothing but an atomic orders the two",
    "M205": "the barrier's flags do not cover this memory",
    "M206": "lanes of a SIMD-group do not run in step: nothing orders the two",
}


def timeline(finding: Finding) -> str:
    """An SVG for a finding with two accesses; nothing for the others."""
    other = finding.other
    if finding.rule not in REASONS or other is None or other.location is None or finding.location is None:
        return ""
    what = str(finding.detail.get("what", "")) or (
        "read" if "read" in finding.message.split(" ")[:3] else "access"
    )
    rows = [
        (other.thread, other.threadgroup, other.location.line, other.what.removesuffix(" by"), other.excerpt),
        (finding.thread, finding.threadgroup, finding.location.line, what, finding.excerpt),
    ]
    low, high = sorted((other.location.line, finding.location.line))
    walls = finding.detail.get("barriers", ())
    before = next((line for line in reversed(walls) if line < low), 0)
    after = next((line for line in walls if line > high), 0)
    if between := [line for line in walls if low < line < high]:  # one round of a loop meets the next
        before, after = between[-1], between[0]
        rows.sort(key=lambda row: -row[2])
    height = TOP + 2 * ROW + 44
    made = [
        f'<svg class="timeline" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' aria-label="{escape(REASONS[finding.rule])}">',
        f'<text class="axis" x="{LEFT}" y="16">time &#8594;</text>',
    ]
    for at, line in ((LEFT + 45, before), (WIDTH - 60, after)):
        made += _wall(at, line, height) if line else []
    spots = []
    for n, (thread, group, line, verb, _) in enumerate(rows):
        y, x = TOP + ROW * n + ROW // 2, LEFT + 150 + 190 * n
        spots.append((x, y))
        made += [
            f'<text class="thread" x="0" y="{y - 3}">thread {triple(thread)}</text>',
            f'<text class="group" x="0" y="{y + 14}">threadgroup {triple(group)}</text>',
            f'<line class="life" x1="{LEFT}" y1="{y}" x2="{WIDTH}" y2="{y}"/>',
            f'<circle class="{"write" if "write" in verb else "read"}" cx="{x}" cy="{y}" r="8"/>',
            f'<text class="event" x="{x}" y="{y - 16 if n == 0 else y + 26}">{escape(verb)}, line {line}</text>',
        ]
    (x1, y1), (x2, y2) = spots
    made += [
        f'<line class="clash" x1="{x1 + 8}" y1="{y1 + 5}" x2="{x2 - 8}" y2="{y2 - 5}"/>',
        f'<text class="reason" x="{LEFT}" y="{height - 10}">{escape(REASONS[finding.rule])}</text>',
        "</svg>",
    ]
    return "".join(made)


def _wall(x: int, line: int, height: int) -> list[str]:
    return [
        f'<line class="barrier" x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{height - 42}"/>',
        f'<text class="barrier" x="{x}" y="{TOP - 12}">barrier, line {line}</text>',
    ]
