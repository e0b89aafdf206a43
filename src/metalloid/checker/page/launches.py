"""Each launch: a map of its outputs, which thread wrote which element and which nobody wrote, and why."""

from __future__ import annotations

from html import escape
from math import prod

import numpy as np

from metalloid.checker.checked_launches import Checked, CheckedLaunches
from metalloid.checker.page.why import of_launch
from metalloid.checker.page.words import counted, position, triple
from metalloid.runtime.arguments import WRITES

MOST = 12  # launches with a map
CELLS = 2048  # per map; larger outputs have several elements in a cell
SIDE = 12


def launches(report: CheckedLaunches) -> str:
    """All launches, those with findings first and those alike as one; the first few with maps."""
    alike: dict[object, list[Checked]] = {}
    for checked in sorted(report.launches, key=lambda c: not c.findings):
        found = tuple((f.rule, f.location) for f in checked.findings)
        key = checked.kernel, checked.launch.grid, checked.launch.threadgroup, found
        alike.setdefault(key, []).append(checked)
    ordered = [(group[0], len(group)) for group in alike.values()]
    shown = "\n".join(_launch(c, count, at < MOST) for at, (c, count) in enumerate(ordered[: 4 * MOST]))
    more = len(ordered) - 4 * MOST
    rest = f"<p>and {counted(more, 'kind', 'kinds')} of launches more</p>" if more > 0 else ""
    return f'<section class="launches"><h2>Launches</h2>\n{shown}{rest}\n</section>' if ordered else ""


def _launch(checked: Checked, count: int, mapped: bool) -> str:
    launch = checked.launch
    groups = counted(prod(launch.threadgroups), "threadgroup")
    facts = (
        f"grid {triple(launch.grid)}, {counted(prod(launch.grid), 'thread')}, in {groups} of"
        f" {triple(launch.threadgroup)}, {counted(prod(launch.threadgroup), 'thread')}"
    )
    maps = "".join(_map(checked, index) for index in sorted(checked.observation.writers)) if mapped else ""
    kind = next((f.severity for f in checked.findings), "good")
    found = f'<span class="chip {kind}">{counted(len(checked.findings), "finding")}</span>'
    alike = f" <small>{count:,} launches alike</small>" if count > 1 else ""
    title = f"<h3>{escape(checked.kernel)} {found}{alike}</h3>"
    why = of_launch(checked) if mapped else ""
    return f'<article class="launch card">{title}<p>{facts}</p>{maps}{why}</article>'


def _map(checked: Checked, index: int) -> str:
    case = checked.case
    parameter = case.parameters.get(index)
    if parameter is None or parameter.access not in WRITES or index not in checked.launch.buffers:
        return ""
    writers = _per_element(
        checked.observation.writers[index], checked.observation.granules.get(index, 1), parameter.type.size
    )
    if not len(writers):
        return ""
    step = -(-len(writers) // CELLS)
    cells = -(-len(writers) // step)
    columns = _columns(checked.launch.buffers[index], len(writers), step)
    missing = int((writers == 0).sum())
    drawn = []
    for cell in range(cells):
        part = writers[cell * step : (cell + 1) * step]
        x, y = cell % columns * SIDE, cell // columns * SIDE
        drawn.append(_cell(checked, parameter.name, cell * step, part, x, y))
    rows = -(-cells // columns)
    said = (
        f"every one of {counted(len(writers), 'element')} was written"
        if not missing
        else (f"{missing:,} of {counted(len(writers), 'element')} never written")
    )
    scale = f"; a square is {step:,} elements" if step > 1 else ""
    width, height = columns * SIDE, rows * SIDE
    wide = width * (2 if columns <= 32 else 1)
    return (
        f"<figure><figcaption><b>{escape(parameter.name)}</b>: {said}{scale}. "
        "A colour is a threadgroup; hover for the thread.</figcaption>"
        f'<svg class="map" viewBox="0 0 {width} {height}" style="width:min(100%, {wide}px)" role="img"'
        f' aria-label="{escape(parameter.name)}: {said}">{"".join(drawn)}</svg></figure>'
    )


def _cell(checked: Checked, name: str, first: int, writers: np.ndarray, x: int, y: int) -> str:
    last = first + len(writers) - 1
    span = f"{name}[{first}]" if last == first else f"{name}[{first}..{last}]"
    written = writers[writers != 0]
    square = f'x="{x}" y="{y}" width="{SIDE - 1}" height="{SIDE - 1}"'
    if not len(written):
        return f'<rect class="never" {square}><title>{escape(span)}: never written</title></rect>'
    thread, group = position(int(written[0]) - 1, checked.launch)
    said = f"thread {triple(thread)}"
    if len(written) > 1:
        said += f" to {triple(position(int(written[-1]) - 1, checked.launch)[0])}"
    if len(written) < len(writers):
        said += f"; {len(writers) - len(written)} never written"
    groups = checked.launch.threadgroups
    number = group[0] + groups[0] * (group[1] + groups[1] * group[2])
    hue = (215 + number * 137.508) % 360  # the first is blue: red would look like a mistake
    partly = ' class="partly"' if len(written) < len(writers) else ""
    title = f"<title>{escape(span)}: {said}, threadgroup {triple(group)}</title>"
    return f'<rect{partly} style="--hue:{hue:.0f}" {square}>{title}</rect>'


def _per_element(writers: np.ndarray, granule: int, size: int) -> np.ndarray:
    """Writers by element; one is written when all of its parts are."""
    parts = max(1, size // max(1, granule))
    whole = len(writers) // parts * parts
    rows = writers[:whole].reshape(-1, parts)
    return np.where((rows != 0).all(axis=1), rows[:, 0], 0)


def _columns(memory: object, count: int, step: int) -> int:
    """As wide as the array's rows where that can be drawn, else a width that divides well."""
    shape: tuple[int, ...] = getattr(memory, "shape", ())
    if step == 1 and len(shape) > 1 and 4 <= shape[-1] <= 96:
        return int(shape[-1])
    return min(64, max(1, -(-count // step)))
