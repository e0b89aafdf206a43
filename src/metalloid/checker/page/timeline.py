"""A race, drawn: two threads, their accesses, and the barriers that are not between them.

Twice, for wide and for narrow pages; the style shows the one that fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from metalloid.checker.page.words import triple
from metalloid.findings import Finding
from metalloid.findings.finding import Triple

# Why nothing orders the two.
REASONS = {
    "M201": "no barrier between the two: either may come first",
    "M202": "no barrier between the two: either may come first",
    "M203": "threadgroups run in any order: nothing but an atomic orders the two",
    "M205": "the barrier's flags do not cover this memory",
    "M206": "lanes of a SIMD-group do not run in step: nothing orders the two",
}
TOP, END = 48, 44  # above the first thread, below the last


@dataclass(frozen=True)
class Layout:
    """Where things are on a drawing of one width."""

    name: str
    width: int
    left: int  # where time begins
    row: int
    spots: tuple[int, int]  # where the two accesses are
    walls: tuple[int, int]  # and the barriers before and after them
    above: int  # how far from its line a thread's name is


WIDE = Layout("broad", 760, 190, 64, (340, 530), (235, 700), 3)
NARROW = Layout("narrow", 340, 0, 70, (110, 230), (4, 336), 36)


@dataclass(frozen=True)
class Row:
    thread: Triple | None
    group: Triple | None
    line: int
    verb: str


def timeline(finding: Finding) -> str:
    """SVGs for a finding with two accesses; nothing for the others."""
    other = finding.other
    if finding.rule not in REASONS or other is None or other.location is None or finding.location is None:
        return ""
    what = str(finding.detail.get("what", "")) or (
        "read" if "read" in finding.message.split(" ")[:3] else "access"
    )
    rows = [
        Row(other.thread, other.threadgroup, other.location.line, other.what.removesuffix(" by")),
        Row(finding.thread, finding.threadgroup, finding.location.line, what),
    ]
    low, high = sorted((other.location.line, finding.location.line))
    walls = finding.detail.get("barriers", ())
    before = next((line for line in reversed(walls) if line < low), 0)
    after = next((line for line in walls if line > high), 0)
    if between := [line for line in walls if low < line < high]:  # one round of a loop meets the next
        before, after = between[-1], between[0]
        rows.sort(key=lambda row: -row.line)
    reason = REASONS[finding.rule]
    return "".join("".join(_drawn(at, rows, (before, after), reason)) for at in (WIDE, NARROW))


def _drawn(at: Layout, rows: list[Row], walls: tuple[int, int], reason: str) -> Iterator[str]:
    height = TOP + 2 * at.row + END + (0 if at.left else 34)
    yield (
        f'<svg class="timeline {at.name}" viewBox="0 0 {at.width} {height}" role="img"'
        f' aria-label="{escape(reason)}">'
    )
    yield f'<text class="axis" x="{at.left}" y="14">time &#8594;</text>'
    for x, line in zip(at.walls, walls, strict=True):
        if line:
            yield f'<line class="barrier" x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{height - END + 2}"/>'
            side = "middle" if at.left else "start" if x < at.width / 2 else "end"
            yield f'<text class="barrier" x="{x}" y="{TOP - 12}" text-anchor="{side}">barrier, line {line}</text>'
    heights = [TOP + at.row * n + at.row // 2 + (0 if at.left else 14) for n in range(2)]
    for n, (row, x, y) in enumerate(zip(rows, at.spots, heights, strict=True)):
        yield from _thread(at, row, y, n)
        yield f'<circle class="{"write" if "write" in row.verb else "read"}" cx="{x}" cy="{y}" r="8"/>'
        event = y - 14 if n == 0 else y + 26
        yield f'<text class="event" x="{x}" y="{event}">{escape(row.verb)}, line {row.line}</text>'
    (x1, x2), (y1, y2) = at.spots, heights
    yield f'<line class="clash" x1="{x1 + 8}" y1="{y1 + 5}" x2="{x2 - 8}" y2="{y2 - 5}"/>'
    yield from _reason(at, reason, height)
    yield "</svg>"


def _thread(at: Layout, row: Row, y: int, n: int) -> Iterator[str]:
    thread, group = f"thread {triple(row.thread)}", f"threadgroup {triple(row.group)}"
    yield f'<line class="life" x1="{at.left}" y1="{y}" x2="{at.width}" y2="{y}"/>'
    if at.left:  # beside its line
        yield f'<text class="thread" x="0" y="{y - at.above}">{thread}</text>'
        yield f'<text class="group" x="0" y="{y + 14}">{group}</text>'
    else:  # above the first one, below the second: the way between the two stays free
        name = y - at.above if n == 0 else y + at.above + 10
        yield f'<text class="thread" x="12" y="{name}">{thread}, {group}</text>'


def _reason(at: Layout, reason: str, height: int) -> Iterator[str]:
    """On one line, or on two where it is too long for one."""
    first, mark, rest = reason.partition(": ")
    if at is WIDE or len(reason) < 48:
        yield f'<text class="reason" x="{at.left}" y="{height - 10}">{escape(reason)}</text>'
        return
    yield f'<text class="reason" x="{at.left}" y="{height - 22}">{escape(first + mark.strip())}</text>'
    yield f'<text class="reason" x="{at.left}" y="{height - 5}">{escape(rest)}</text>'
