"""How many threadgroups are worked on as one (coarse.py): as few bytes for each product as registers have room for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from metalloid.analysis.intervals.prove import access
from metalloid.backends.base import Triple
from metalloid.backends.cuda.coarse import Coarsened, possible, varying
from metalloid.backends.cuda.fast_math import relaxed
from metalloid.backends.cuda.regions import Regions
from metalloid.backends.cuda.variant import read_only
from metalloid.ir import Block, Function, Module
from metalloid.ir.intrinsics import ENTRY, MATRIX_PRODUCT
from metalloid.ir.loops import loops
from metalloid.ir.types import FLOAT, I32
from metalloid.ir.values import Local

SUMS = 128  # floats of a thread that products are added up in
MOST = 64 << 10  # bytes of threadgroup memory; a GPU has room for as many in one block
_COUNTS = (1, 2, 4, 8)


@dataclass(frozen=True)
class _Cost:
    """Bytes of a round that differ along neither axis, the first, the second, and both."""

    none: float = 0
    first: float = 0
    second: float = 0
    both: float = 0

    def of(self, x: int, y: int) -> float:
        return (self.none + self.first * x + self.second * y + self.both * x * y) / (x * y)


def tile_sizes(
    straight: Coarsened, size: Triple, groups: Triple, local: int, processors: int, known: Mapping[str, int]
) -> Iterator[Triple]:
    """Numbers of threadgroups along each axis that may be worked on as one, the best first."""
    module = straight.module
    function = module.function[ENTRY]
    bodies = _bodies(function)
    if not grows(module):
        return
    regions = Regions(module, function, size)
    quiet = read_only(function)
    if not regions.complete or quiet is None or not possible(function, quiet, regions):
        return
    differ = [varying(function, axis, regions, known) for axis in (0, 1)]
    sums = max(max(sum(i.type == kind for i in b.phis) for kind in (FLOAT, I32)) for b in bodies)
    shared = sum(regions.length(next(iter(r))) for r in regions.variables.values())
    cost = _cost(bodies, regions, differ[0] or set(), differ[1] or set())
    found = []
    for x in _COUNTS:
        for y in _COUNTS:
            if (x > 1 and differ[0] is None) or (y > 1 and differ[1] is None):
                continue
            if x > groups[0] or y > groups[1] or x * y * sums > SUMS or x * y * (local + shared) > MOST:
                continue
            blocks = -(-groups[0] // x) * -(-groups[1] // y) * groups[2]
            if blocks < processors:
                continue
            again = blocks * x * y / math.prod(groups)  # the last ones reach back (parts.py)
            found.append((cost.of(x, y) * again, x * y, (x, y, 1)))
    for _, many, factors in sorted(found):
        if many == 1:
            return
        yield factors


def grows(module: Module) -> bool:
    """Whether tensor cores may do what a kernel multiplies in its loops."""
    return relaxed(module) and bool(_bodies(module.function[ENTRY]))


def _bodies(function: Function) -> list[Block]:
    """Blocks of loops that multiply matrices of 16 bits."""
    inside = loops(function).innermost
    found = []
    for block in function.blocks:
        products = [i for i in block.instructions if i.called == MATRIX_PRODUCT]
        if block.name in inside and products and all(_narrow(function, i.operands[0]) for i in products):
            found.append(block)
    return found


def _narrow(function: Function, value: object) -> bool:
    made = function.definitions.get(value.name) if isinstance(value, Local) else None
    return made is not None and made.opcode == "fpext"


def _cost(bodies: list[Block], regions: Regions, one: set[str | int], two: set[str | int]) -> _Cost:
    sums = [0.0, 0.0, 0.0, 0.0]
    for block in bodies:
        for n, i in enumerate(block.instructions):
            what = access(i)
            if what is None:
                continue
            keys = {
                regions.of.get((block.name, n)),
                i.name,
                *(o.name for o in i.operands if isinstance(o, Local)),
            }
            sums[bool(keys & one) + 2 * bool(keys & two)] += what[1]
    return _Cost(*sums)
