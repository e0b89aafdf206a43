"""The largest that an index can be where it is used: by how it is made, by the tests on the way, round after round.

`for (uint b = t; b < 256; b += n)`: what comes into the loop is below 256 by the test before it or by the size of the
threadgroup, and what goes round by the test at its end. The same in all launches of a size of threadgroup.
"""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.highest import highest
from metalloid.analysis.lane_layout import Triple
from metalloid.analysis.lane_shape import UNKNOWN
from metalloid.analysis.tested import by_edge, by_tests
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import is_ours, short
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value

DEEPEST = 5


def at_most(flow: Flow, size: Triple, value: Value, block: str, to: str = "", depth: int = 0) -> int | None:
    """No thread that runs a block, and goes on `to` another, has a larger number, read as unsigned; None: not known.
    `size`: no threadgroup has more threads along an axis."""
    if isinstance(value, Int):
        return value.value
    if not isinstance(value, Local) or depth > DEEPEST:
        return None
    found = [by_tests(flow, value, block)[1], highest(flow.function, value)]
    if to:
        found.append(by_edge(flow.function, value, block, to)[1])
    i = flow.function.definitions.get(value.name)
    if i is not None and i.opcode == "phi":
        found.append(_joined(flow, size, i, depth))
    elif i is not None and i.opcode in ("zext", "add"):
        parts = [at_most(flow, size, o, block, to, depth + 1) for o in i.operands]
        known = [part for part in parts if part is not None]
        wraps = isinstance(i.type, IntType) and sum(known) >> i.type.bits
        found.append(sum(known) if len(known) == len(parts) and not wraps else None)
    elif i is not None and is_ours(i.called) and short(i.called) == "thread_position_in_threadgroup":
        axis = i.operands[0]
        found.append(size[axis.value] - 1 if isinstance(axis, Int) and axis.value < 3 else None)
    least = min((n for n in found if n is not None), default=UNKNOWN)
    return None if least >= UNKNOWN else least


def _joined(flow: Flow, size: Triple, phi: Instruction, depth: int) -> int | None:
    """Of what comes in along any edge."""
    home = flow.function.home[phi.name]
    found = [at_most(flow, size, value, source, home, depth + 1) for value, source in phi.cases]
    known = [n for n in found if n is not None]
    return max(known) if len(known) == len(found) else None
