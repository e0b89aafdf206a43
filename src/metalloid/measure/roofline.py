"""A roofline: what the machine allows at each intensity, and where kernels are. One self-contained HTML page.

Left of the ridge memory is the limit, right of it arithmetic; the height of a point over its intensity is what it
reached, the line above it what it could.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, log10

from metalloid.measure.kernel import Measurement
from metalloid.measure.machine import Machine
from metalloid.measure.timing import shown

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 860, 460, 70, 50, 20, 20
_LETTER, _LINE = 7.0, 14.0  # of a label, about

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #fbfbfd; --faint: #d9d9e0; --roof: #3457d5; --dot: #c2410c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8ee; --paper: #16161a; --faint: #3a3a44; --roof: #8aa4ff; --dot: #ff9d5c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 980px; padding: 0 1rem; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font-size: 12px; }
.grid { stroke: var(--faint); stroke-width: 1; } .roof { stroke: var(--roof); stroke-width: 2.5; fill: none; }
.dot { fill: var(--dot); } .drop { stroke: var(--dot); stroke-dasharray: 3 4; opacity: .5; }
table { border-collapse: collapse; width: 100%; margin-top: 1rem; }
th, td { text-align: right; padding: .35rem .6rem; border-bottom: 1px solid var(--faint);
  font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } td { white-space: nowrap; }
"""


class _Chart:
    """Logarithmic axes over everything that is to be seen."""

    def __init__(self, machine: Machine, found: Sequence[Measurement]) -> None:
        ridge = machine.peak / machine.bandwidth
        across = [m.work.intensity for m in found] + [ridge / 8, ridge * 8]
        up = [m.rate for m in found] + [machine.peak * 1.5, machine.attainable(min(across)) / 2]
        self.low_x, self.high_x = floor(log10(min(across))), ceil(log10(max(across)))
        self.low_y, self.high_y = floor(log10(min(up))), ceil(log10(max(up)))

    def x(self, intensity: float) -> float:
        share = (log10(intensity) - self.low_x) / (self.high_x - self.low_x)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, rate: float) -> float:
        share = (log10(rate) - self.low_y) / (self.high_y - self.low_y)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)

    def axes(self) -> Iterable[str]:
        for power in range(self.low_x, self.high_x + 1):
            x = self.x(10.0**power)
            yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
            yield f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{10.0**power:g}</text>'
        for power in range(self.low_y, self.high_y + 1):
            y = self.y(10.0**power)
            yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** (power - 9):g}</text>'
        yield f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 10}" text-anchor="middle">operations per byte</text>'
        yield f'<text transform="translate(16 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">GFLOP/s</text>'


def page(
    machine: Machine,
    found: Sequence[Measurement],
    title: str = "Roofline",
    others: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The page: a chart, and a table of the same figures; `others` are columns to add, how long others take."""
    more = others or {}
    note = f"<p>{escape(', '.join(more))}: how many times as long they take here.</p>" if more else ""
    visible = [m for m in found if m.work.operations and m.work.moved]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f"<h1>{escape(title)}</h1><p>{escape(machine.name)}: copies {machine.bandwidth / 1e9:.1f} GB/s, computes"
        f" {machine.peak / 1e9:.0f} GFLOP/s in float32 ({machine.origin}).</p>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="roofline">'
        f"{''.join(_drawing(machine, visible))}</svg>"
        f"<table><thead><tr>{''.join(f'<th>{escape(h)}</th>' for h in (*_HEADINGS, *more))}</tr></thead><tbody>"
        f"{''.join(_row(machine, m, [c[n] for c in more.values()]) for n, m in enumerate(found))}"
        f"</tbody></table>{note}</html>\n"
    )


def _drawing(machine: Machine, found: Sequence[Measurement]) -> Iterable[str]:
    chart = _Chart(machine, found)
    yield from chart.axes()
    ridge = machine.peak / machine.bandwidth
    corners = [10.0**chart.low_x, ridge, 10.0**chart.high_x]
    points = " ".join(f"{chart.x(i):.1f},{chart.y(machine.attainable(i)):.1f}" for i in corners)
    yield f'<polyline class="roof" points="{points}"/>'
    dots = [(chart.x(m.work.intensity), chart.y(m.rate)) for m in found]
    taken = [(x - 5, x + 5, y + 4) for x, y in dots]
    for m in sorted(found, key=lambda m: -m.rate):
        x, y, roof = (
            chart.x(m.work.intensity),
            chart.y(m.rate),
            chart.y(machine.attainable(m.work.intensity)),
        )
        label = f"{m.name} ({m.share(machine):.0%})"
        side, anchor = (10, "start") if x < _WIDTH * 0.7 else (-10, "end")
        start = x + side - (len(label) * _LETTER if anchor == "end" else 0)
        lower = _free(taken, start, start + len(label) * _LETTER, y + 14)
        yield f'<line class="drop" x1="{x:.1f}" x2="{x:.1f}" y1="{roof:.1f}" y2="{y:.1f}"/>'
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        yield f'<text x="{x + side:.1f}" y="{lower:.1f}" text-anchor="{anchor}">{escape(label)}</text>'


def _free(taken: list[tuple[float, float, float]], start: float, end: float, y: float) -> float:
    """The first height from y downwards where a label runs into no other; it is taken then."""
    while any(start < right and left < end and abs(y - other) < _LINE for left, right, other in taken):
        y += 2
    taken.append((start, end, y))
    return y


_HEADINGS = ("kernel", "median", "spread", "GB/s", "GFLOP/s", "FLOP per byte", "limit", "of it")


def _row(machine: Machine, m: Measurement, more: Sequence[str]) -> str:
    cells = (
        m.name,
        shown(m.timing.median),
        f"{m.timing.spread:.0%}",
        f"{m.bandwidth / 1e9:.1f}",
        f"{m.rate / 1e9:.1f}",
        f"{m.work.intensity:.2f}",
        m.bound(machine),
        f"{m.share(machine):.0%}",
        *more,
    )
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
