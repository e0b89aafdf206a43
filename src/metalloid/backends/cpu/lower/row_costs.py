"""From how many threads on a row is worth gangs of its own (`row_gangs.py`).

They save divisions, and that lanes are looked up one by one. A gang costs as much for idle lanes as for others, and a
row something besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.free_shape import DEEPEST, ROUNDS
from metalloid.ir import Instruction
from metalloid.ir.types import FloatType
from metalloid.targets import TargetInfo

# Cycles of a lane: one that is looked up, and a division; and of a row.
LOOKUP, DIVISION, ROW = 2, 1, 6
# What some vector instructions take besides a cycle, and those of halves that are computed as floats.
LONGER, HALF = {"fdiv": 8, "frem": 20, "llvm.sqrt": 8}, 3
FAR = 1 << 10  # bytes from lane to lane and farther are looked up, whatever is known of them


def least_row(
    known: Uniformity, inside: Uniformity, target: TargetInfo, pairs: int, widths: Sequence[int]
) -> int:
    """`known` are lanes of a flat index, `inside` those of a row, whose gangs have these widths, the least first."""
    own, saved = _lane(known, inside, target)
    saved += DIVISION * pairs
    long = ceil((widths[-1] // 2 * own + ROW) / saved)  # half of its last gang is idle, in the mean
    if not target.masks_memory:
        return max(target.lanes32, long)
    least = widths[-1] + 1
    if long > least:
        return long
    for below, width in reversed(list(zip((0, *widths), widths, strict=False))):
        gains = ceil((width * own + ROW) / (own + saved))
        least = max(gains, below + 1)
        if gains > (below + width) // 2 + 1:
            break
    return least


def _lane(known: Uniformity, inside: Uniformity, target: TargetInfo) -> tuple[float, float]:
    """Cycles of a lane in a row, and of what it is spared."""
    work, saved, flow = 0.0, 0.0, inside.flow
    for block in flow.function.blocks:
        weight = ROUNDS ** min(flow.forest.depth(block.name), DEEPEST)
        for i in block.instructions:
            if i.opcode in ("load", "store"):
                before, now = (_looked_up(u.shape(i.operands[-1])) for u in (known, inside))
                work += weight * (LOOKUP if now else 1 / target.lanes32)
                saved += weight * LOOKUP * (before and not now)
            elif i.name and inside.shape(i.value) is None:
                work += weight * _cycles(i, target) / target.lanes32
    return work, saved


def _looked_up(shape: LaneShape | None) -> bool:
    if shape is None:
        return True
    return any(
        name or max(pattern) - min(pattern) > FAR * (len(pattern) - 1) for name, pattern in shape.terms
    )


def _cycles(i: Instruction, target: TargetInfo) -> int:
    half = isinstance(i.type, FloatType) and i.type.bits == 16 and not target.fuses_halves
    name = i.called.rpartition(".")[0] if i.called else i.opcode
    return 1 + LONGER.get(name, 0) + HALF * half
