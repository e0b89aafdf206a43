"""A map of the errors of one output: which elements are wrong, at a glance."""

from __future__ import annotations

import numpy as np

from metalloid.comparing.inputs import Array

ROWS, COLUMNS = 40, 64
MARKS = ".+#"  # none of it wrong, some, all


def error_map(wrong: Array) -> str:
    """Rows and columns of the last two axes; where there are more than fit, each mark stands for a block."""
    flat = wrong.reshape(-1, wrong.shape[-1]) if wrong.ndim > 1 else wrong.reshape(1, -1)
    if not flat.size or flat.all():
        return f"    all {flat.size} elements are wrong"
    down, across = -(-flat.shape[0] // ROWS), -(-flat.shape[1] // COLUMNS)
    lines: list[str] = []
    before = ""
    for top in range(0, flat.shape[0], down):
        blocks = (flat[top : top + down, left : left + across] for left in range(0, flat.shape[1], across))
        marks = "".join(_mark(block) for block in blocks)
        if marks != before:
            lines.append(f"    {top:>6}  {marks}")
        elif not lines[-1].endswith("same"):
            lines.append("       ...  the same")
        before = marks
    scale = "one element" if down == across == 1 else f"{down} x {across} elements, + where some are wrong"
    return "\n".join([*lines, f"    . right, # wrong; each mark is {scale}"])


def _mark(block: Array) -> str:
    return MARKS[2 if np.all(block) else 1 if np.any(block) else 0]
