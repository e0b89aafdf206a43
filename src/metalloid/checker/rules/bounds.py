"""M305 by the kernel's own conditions: they let through positions that the launch does not have.

`if (p.x >= w || p.y >= h) return;` says that w times h threads write. Where the output has so many elements, and the
positions of the launch stay below w or h, the grid is too small, whatever the inputs are: the sizes of a product of
matrices, a count of threadgroups for threads, a division that rounds down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.evaluate import Evaluator
from metalloid.analysis.intervals.values import TooLong
from metalloid.backends.base import Triple
from metalloid.checker.case import Case
from metalloid.checker.proofs import evaluator_of
from metalloid.ir.intrinsics import is_ours
from metalloid.ir.module import Instruction
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value

_MOST = 8  # conditions that are looked at
_INCLUSIVE = ("le", "gt")


@dataclass(frozen=True)
class Bound:
    """A condition on a position: below `limit` it may go on, and the launch has positions below `ran`."""

    axis: int
    ran: int
    limit: int


def too_few(case: Case, count: int, total: int) -> tuple[Bound, ...]:
    """The conditions that together let through a thread for every element, where the launch has too few of these;
    none where what was written is not what they and the launch leave."""
    found = list(dict.fromkeys(_bounds(case)))[:_MOST]
    for size in (3, 2, 1):
        for some in combinations(found, size):
            every, ran = prod(b.limit for b in some), prod(min(b.ran, b.limit) for b in some)
            apart = len({b.axis for b in some}) == size
            if apart and 0 < ran < every and total % every == 0 and total // every * ran == count:
                return tuple(sorted(some, key=lambda bound: bound.axis))
    return ()


def needed(grid: Triple, lacking: Sequence[Bound]) -> tuple[int, ...]:
    """A grid that has them all: no more axes than it takes."""
    sizes = list(grid)
    for bound in lacking:
        sizes[bound.axis] = bound.limit
    last = max(n for n, size in enumerate(sizes) if size > 1 or n == 0)
    return tuple(sizes[: last + 1])


def shown(sizes: tuple[int, ...]) -> str:
    return str(sizes if len(sizes) > 1 else sizes[0])


def said(lacking: Sequence[Bound]) -> str:
    """The kernel's condition lets 36 x 20 threads write, and 5 x 3 of them ran."""
    limits, rans = [str(b.limit) for b in lacking], [str(min(b.ran, b.limit)) for b in lacking]
    along = f" along {'xyz'[lacking[0].axis]}" if len(lacking) == 1 else ""
    return f"the kernel's condition lets {' x '.join(limits)} threads{along} write, and {' x '.join(rans)} of them ran"


def _bounds(case: Case) -> Iterator[Bound]:
    made = evaluator_of(case.kernel, case.launch)
    if made is None:
        return
    function, evaluator = made
    for i in function.instructions():
        if i.opcode == "icmp" and i.predicate not in ("eq", "ne") and isinstance(i.operands[0].type, IntType):
            try:
                bound = _bound(evaluator, function.definitions, function.home[i.name], i)
            except (TooLong, RecursionError):
                return
            if bound is not None:
                yield bound


def _bound(evaluator: Evaluator, made: Mapping[str, Instruction], block: str, i: Instruction) -> Bound | None:
    left, right = i.operands
    word = i.predicate[-2:]
    axes = _axes(made, left)
    if axes is None:
        left, right, axes = right, left, _axes(made, right)
        word = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}[word]
    if axes is None or len(axes) != 1:
        return None
    assert isinstance(left.type, IntType)
    position, limit = evaluator.at(left, block), evaluator.at(right, block)
    if position is None or limit is None or not limit.one:
        return None
    position, limit = S.small(position, left.type.bits), S.small(limit, left.type.bits)
    if position.lo != 0:
        return None
    return Bound(axes.pop(), position.hi + 1, limit.lo + (word in _INCLUSIVE))


def _axes(made: Mapping[str, Instruction], value: Value) -> set[int] | None:
    """The axes of the positions that a value is computed from; None where it is made of anything else."""
    found: set[int] = set()
    seen: set[str] = set()
    work = [value]
    while work:
        one = work.pop()
        if isinstance(one, Int):
            continue
        i = made.get(one.name) if isinstance(one, Local) else None
        if i is None or i.opcode in ("load", "phi", "select"):
            return None
        if i.name in seen:
            continue
        seen.add(i.name)
        if i.opcode == "call":
            if not is_ours(i.called) or len(i.operands) != 1 or not isinstance(i.operands[0], Int):
                return None
            if "position_in" in i.called:
                found.add(i.operands[0].value)
        else:
            work += i.operands
    return found or None
