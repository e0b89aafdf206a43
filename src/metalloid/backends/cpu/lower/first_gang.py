"""Regions whose work is the first gang's: what that gang does, and what is left for the others.

Behind barriers that only the first gang would notice (`barriers/gang_barriers`) everything that touches memory is done
by its lanes, which are the threadgroup's first threads. So it gets code of its own: which lanes pass a test is known,
and threadgroup arrays are in registers from the region's start to its end. The others get the region without all that.
"""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.held_arrays import held_arrays
from metalloid.backends.cpu.lower.kept_values import Part
from metalloid.backends.cpu.lower.output import HeldArray, Output
from metalloid.ir import Function
from metalloid.ir.intrinsics import GANG_BARRIER
from metalloid.records import replace
from metalloid.transforms.drop_dead import drop_dead
from metalloid.transforms.prune_edges import prune


def is_lone(out: Output, part: Part) -> bool:
    """Whether a region has barriers of the first gang, and may be written twice."""
    return not out.brief and any(i.called == GANG_BARRIER for i in part.function.instructions())


def of_first(out: Output, part: Part) -> Part:
    """The region with what is known of it where the first gang runs it."""
    return _known(out, part, part.function, replace(out.lanes, first=True))


def of_others(out: Output, part: Part) -> Part:
    """The region without blocks that only the first gang runs."""
    into = {(b.name, t) for b in part.function.blocks for t in b.successors if t in out.lone}
    left = prune(part.function, {(b, t) for b, t in into if b not in out.lone})
    return _known(out, part, drop_dead(left), out.lanes)


def held_by_first(out: Output, part: Part) -> dict[str, HeldArray]:
    """The arrays that are in registers from the start of a region of the first gang to its end: whole registers, which
    are brought from memory and go back there."""
    register = out.target.vector_bytes
    found = held_arrays(part.uniformity, part.roots, out.local_sizes, register)
    return {name: array for name, array in found.items() if out.local_sizes[name] % register == 0}


def _known(out: Output, part: Part, function: Function, lanes: LaneLayout) -> Part:
    roots = UnderlyingObjects(function, part.roots.slots)
    known = Uniformity(Flow(function), roots, lanes, out.layout, part.uniformity.known)
    return Part(part.module, function, roots, known)
