"""A kernel as regions between barriers, each with what is known of its values.

Values that live across a barrier have a place in a gang's scratch: one scalar where lanes agree or differ by a constant
pattern, else one for each lane; sums of matrix products are kept as matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid.analysis.divergence import Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.underlying_objects import UnderlyingObject, UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.access.transpose import SIDE
from metalloid.backends.cpu.lower.emitter import lowered
from metalloid.backends.cpu.lower.matrix import chains
from metalloid.backends.cpu.lower.output import MatrixPlace, Output, SlotPlace
from metalloid.backends.cpu.lower.private_arrays import Scratch
from metalloid.ir import Function, Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.ir.types import PointerType
from metalloid.ir.values import Local
from metalloid.records import dataclass, replace

if TYPE_CHECKING:
    from metalloid.backends.cpu.lower.matrix.accumulators import Slots
    from metalloid.transforms.barriers.split import Split


@dataclass(frozen=True)
class Part:
    """A region, and what is known of its values."""

    module: Module
    function: Function
    roots: UnderlyingObjects
    uniformity: Uniformity


def regions(
    module: Module, objects: UnderlyingObjects, lanes: LaneLayout
) -> tuple[Split, Module, Uniformity]:
    """A kernel with barriers as a module of regions; and what is known of the values of the whole."""
    from metalloid.transforms.barriers import split

    function = module.function[ENTRY]
    known = Uniformity(Flow(function), objects, lanes, data_layout(module.datalayout))
    made = split.split(function, lambda value: _coefficients(known, value), known.varies)
    return made, split.as_module(module, made), known


def split_kernel(out: Output, module: Module, whole: UnderlyingObjects, scratch: Scratch) -> list[Part]:
    """Regions between barriers, with a place in the scratch for each value that lives across one."""
    lanes = out.lanes
    made, tidied, known = regions(module, whole, lanes)
    out.rounds = made.rounds
    slot_roots: dict[int, UnderlyingObject] = {}
    for slot in made.slots:
        shape = _keepable(known, slot.value)
        size = memory_type(slot.value.type)[1] if lowered(slot.value.type) != "i64" else 8
        at = scratch.take(size, 8) if shape is not None else scratch.take(size * lanes.width)
        out.slots[slot.number] = SlotPlace(at, shape)
        if isinstance(slot.value.type, PointerType):
            slot_roots[slot.number] = whole.of[slot.value.name]
    parts = []
    for n in range(len(made.functions)):
        part = tidied.function[f"segment{n}"]
        roots = UnderlyingObjects(part, slot_roots)
        shapes = {number: _in_region(place.shape, n) for number, place in out.slots.items()}
        parts.append(Part(tidied, part, roots, Uniformity(Flow(part), roots, lanes, out.layout, shapes)))
    if (count := chains.sums_per_register(out)) and lanes.no_tail and out.remaining is None:
        from metalloid.backends.cpu.lower.matrix import accumulators

        _place_matrices(out, accumulators.strips([part.uniformity for part in parts], count), scratch)
    return parts


def _place_matrices(out: Output, strips: list[list[Slots]], scratch: Scratch) -> None:
    """Sums of products as rows of one matrix, or of two side by side."""
    for strip in strips:
        pitch = 4 * SIDE * len(strip)
        at = scratch.take(SIDE * pitch)
        for n, slots in enumerate(strip):
            for element, number in enumerate(slots):
                place = MatrixPlace(at + 4 * SIDE * n, pitch, element)
                out.slots[number] = replace(out.slots[number], matrix=place)


def _keepable(known: Uniformity, value: Local) -> LaneShape | None:
    """The shape that a kept value has behind a barrier. One that is good for addresses only will do for pointers."""
    shape = known.shape(value)
    if shape is None or shape.exact or not shape.terms or isinstance(value.type, PointerType):
        return shape
    return None


def _coefficients(known: Uniformity, value: Local) -> frozenset[str]:
    shape = _keepable(known, value)
    return frozenset(c for c, _ in shape.terms if c) if shape is not None else frozenset()


def _in_region(shape: LaneShape | None, number: int) -> LaneShape | None:
    """The same shape with the names that coefficients have in a region."""
    if shape is None:
        return None
    from metalloid.transforms.barriers.split import kept_name

    terms = ((kept_name(number, c) if c else c, p) for c, p in shape.terms)
    return replace(shape, terms=tuple(sorted(terms)))
