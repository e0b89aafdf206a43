"""The page of a bench: a roofline, and a table of the same figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import resources

from metalloid.measure.chart import Chart
from metalloid.measure.kernel import Measurement
from metalloid.measure.machine import Machine
from metalloid.measure.timing import shown
from metalloid.web import document, made_by

WIDE, NARROW = (940, 480), (390, 430)

# Heading and cell of each column about one measurement.
_COLUMNS: dict[str, Callable[[Measurement, Machine], str]] = {
    "kernel": lambda m, machine: escape(m.name),
    "median": lambda m, machine: shown(m.timing.median),
    "spread": lambda m, machine: f"{m.timing.spread:.0%}",
    "GB/s": lambda m, machine: f"{m.bandwidth / 1e9:.1f}",
    "GFLOP/s": lambda m, machine: f"{m.rate / 1e9:.1f}",
    "FLOP per byte": lambda m, machine: f"{m.work.intensity:.2f}",
    "limit": lambda m, machine: m.bound(machine),
    "of it": lambda m, machine: _bar(m.share(machine)),
}


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
    drawn = "".join(
        Chart(machine, visible, *size).svg(name) for name, size in (("broad", WIDE), ("narrow", NARROW))
    )
    body = (
        f'<header><p class="name">metalloid bench</p><h1>{escape(title)}</h1>'
        f"<p>{escape(machine.name)}: copies {machine.bandwidth / 1e9:.1f} GB/s, computes"
        f" {machine.peak / 1e9:,.0f} GFLOP/s in float32 ({escape(machine.origin)}).</p>{made_by()}</header>\n"
        f'<div class="card">{drawn}</div>\n<div class="card wide">{_table(machine, found, more)}{note}</div>'
    )
    style = (resources.files("metalloid.measure") / "style.css").read_text(encoding="utf-8")
    return document(f"metalloid: {title}", body, style)


def _table(machine: Machine, found: Sequence[Measurement], more: Mapping[str, Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in (*_COLUMNS, *more))
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{cell(m, machine)}</td>" for cell in _COLUMNS.values())
        + "".join(f"<td>{escape(column[n])}</td>" for column in more.values())
        + "</tr>"
        for n, m in enumerate(found)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _bar(share: float) -> str:
    return f'{share:.0%}<span class="bar"><i style="width:{min(1.0, share):.0%}"></i></span>'
