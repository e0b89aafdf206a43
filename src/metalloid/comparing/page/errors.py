"""The error map: every element of an output as a square, the darker the further it is from the reference."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from metalloid.comparing.compared import Example
from metalloid.comparing.inputs import Array
from metalloid.comparing.judge import shown

ROWS, COLUMNS, SIDE = 64, 64, 12
# The largest error of a square as a share of the largest expected value, and its class.
LEVELS = ((1e-3, "low"), (1e-1, "some"), (1.0, "high"))
_LEGEND = (
    ("fine", "right"),
    ("low", "below 0.001"),
    ("some", "below 0.1"),
    ("high", "below 1"),
    ("far", "1 and more, NaN"),
)


def drawn(example: Example) -> str:
    """The map of a case; nothing where no element of it can be shown."""
    first, wrong, error = example.outcome.first, example.wrong, example.error
    if first is None or wrong is None or error is None or wrong.size < 2:
        return ""
    got, expected = example.got[first.output], example.expected[first.output]
    size = np.abs(expected.astype(np.float64)) if expected.size else np.zeros(1)
    most = float(np.max(size[np.isfinite(size)], initial=0.0)) or 1.0
    flat = [a.reshape(-1, a.shape[-1]) for a in map(np.atleast_2d, (wrong, error, got, expected))]
    down, across = -(-flat[0].shape[0] // ROWS), -(-flat[0].shape[1] // COLUMNS)
    cells = [
        _cell(flat, top, left, down, across, most, first.index if wrong.ndim < 3 else None)
        for top in range(0, flat[0].shape[0], down)
        for left in range(0, flat[0].shape[1], across)
    ]
    columns, rows = -(-flat[0].shape[1] // across), -(-flat[0].shape[0] // down)
    width, height = columns * SIDE, rows * SIDE
    each = "A square is one element" if down == across == 1 else f"A square is {down} x {across} elements"
    legend = "".join(f'<span class="key {kind}">{escape(words)}</span>' for kind, words in _LEGEND)
    count = f"{int(wrong.sum()):,} of {wrong.size:,} elements of <b>{escape(first.output)}</b> are wrong"
    return (
        f"<section><h2>Where the errors are, in <code>{escape(str(example.case))}</code></h2>"
        f'<figure class="card"><figcaption>{count}. {each}; rows down, columns across. Errors as a share of the'
        f' largest expected value, {shown(most)}:</figcaption><p class="legend">{legend}</p>'
        f'<svg class="errors" viewBox="0 0 {width} {height}" style="width:min(100%, {_shown_width(columns)}px)"'
        f' role="img" aria-label="which elements are wrong">{"".join(cells)}</svg></figure></section>'
    )


def _shown_width(columns: int) -> int:
    return columns * (SIDE if columns > 48 else 2 * SIDE if columns > 8 else 3 * SIDE)


def _cell(
    flat: list[Array], top: int, left: int, down: int, across: int, most: float, first: tuple[int, ...] | None
) -> str:
    part = np.s_[top : top + down, left : left + across]
    wrong, error, got, expected = (array[part] for array in flat)
    x, y = left // across * SIDE, top // down * SIDE
    kind = _level(wrong, error, most)
    here = first is not None and (0, *first)[-2:] == (top, left) and down == across == 1
    if wrong.size == 1:
        said = f"[{top}, {left}] is {shown(_only(got))}; expected {shown(_only(expected))}"
    else:
        said = f"rows {top} to {top + wrong.shape[0] - 1}, columns {left} to {left + wrong.shape[1] - 1}:"
        said += f" {int(wrong.sum())} of {wrong.size} wrong"
    return (
        f'<rect class="{kind}{" first" if here else ""}" x="{x}" y="{y}" width="{SIDE - 1}" height="{SIDE - 1}">'
        f"<title>{escape(said)}</title></rect>"
    )


def _level(wrong: Array, error: Array, most: float) -> str:
    if not wrong.any():
        return "fine"
    share = float(np.max(error[wrong])) / most
    return next((name for limit, name in LEVELS if share < limit), "far")


def _only(array: Array) -> Any:
    return array.reshape(-1)[0].item()
