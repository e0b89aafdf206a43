"""Evidence about an output that is written in part: were all of its elements meant?

A part may be on purpose: a cache that is filled so far, one head of a packed tensor, the border that a stencil
leaves alone. What speaks for all of it: an input as long as the output, or longer by a whole number of elements that
an argument names; a thread for every element, turned away by a condition that looks at nothing but positions and
arguments; an axis of the position that indexes it and that the grid lacks.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from metalloid.checker.case import Case
from metalloid.checker.code import GROUP
from metalloid.checker.guards import (
    Store,
    between_positions,
    buffers_of,
    looks_at_data,
    placed_by_data,
    stores_to,
)
from metalloid.ir.intrinsics import full
from metalloid.ir.values import Int, Local
from metalloid.runtime.arguments import element
from metalloid.types import Scalar

_POSITION = full("thread_position_in_grid")
_LOOKED_AT = 1 << 20  # elements that are looked at, spread over a large array


def inputs(case: Case) -> list[int]:
    """How many elements each array has that is only read."""
    return [
        case.elements(p.index)
        for p in case.kernel.signature.buffers
        if p.access == "read" and not p.reference and p.index in case.launch.buffers
    ]


def numbers(case: Case) -> list[int]:
    """The whole numbers among the scalar arguments."""
    found = []
    for parameter in case.kernel.signature.buffers:
        memory, kind = case.launch.buffers.get(parameter.index), element(parameter.type)
        if (
            isinstance(parameter.type, Scalar)
            and memory is not None
            and kind is not None
            and kind.kind in "iu"
        ):
            data = bytes(memoryview(memory).cast("B"))
            if len(data) == kind.itemsize:
                found.append(int(np.frombuffer(data, kind)[0]))
    return found


def whole(case: Case, total: int) -> bool:
    """Whether the other arguments say that all elements are results."""
    lengths = inputs(case)
    return not lengths or total in lengths


def rows(case: Case, total: int) -> bool:
    """Whether an input has so many elements for each of the output's as an argument says."""
    return any(number > 1 and total * number in inputs(case) for number in numbers(case))


def lacking_axis(case: Case, index: int) -> int:
    """The axis of the thread's position that a store's address asks for and the grid does not have; 0 where none is. An
    axis that has one thread in front of one with more was given so: a batch of one."""
    code, lacking = case.code, 0
    for axis in (1, 2):
        if any(size != 1 for size in case.launch.grid[axis:]):
            continue
        names = {
            i.name
            for i in code.function.instructions()
            if i.called == _POSITION and isinstance(i.operands[0], Int) and i.operands[0].value == axis
        }
        if names and any(_made_of(case, names, store) for store in stores_to(case, index)):
            lacking = lacking or axis
    return lacking


def _made_of(case: Case, names: set[str], store: Store) -> bool:
    """Whether the address of a store is computed from one of these values."""
    seen: set[str] = set()
    work = [store.pointer]
    while work:
        value = work.pop()
        if not isinstance(value, Local) or value.name in seen:
            continue
        seen.add(value.name)
        made = case.code.defined.get(value.name)
        if value.name in names:
            return True
        if made is not None and made.opcode != "load":
            work += made.operands
    return False


def by_groups(case: Case, index: int) -> bool:
    """Whether each threadgroup has a place of its own in an output."""
    ran = [s for s in stores_to(case, index) if s.count]
    return bool(ran) and all(GROUP in s.address for s in ran)


def turned_away(case: Case, index: int, touched: np.ndarray[Any, Any], memory: Any) -> bool:
    """Whether there was a thread for every element of a fresh output, and position alone kept some from storing."""
    total, threads = len(touched), prod(case.launch.grid)
    if total not in inputs(case) or not (touched[0] or touched[-1]):
        return False
    every = threads >= total and not _is_stencil(case, total)
    if not (every or _gaps(touched, threads)) or not fresh(touched, memory):
        return False
    stores = stores_to(case, index)
    if any(looks_at_data(case, s) or placed_by_data(case, s) for s in stores):
        return False
    if any("device load" in s.address for s in stores) and not _rectangle(case, touched):
        return False  # a band, the edge of a shape: no bound of an axis
    return not all(between_positions(case, s) for s in stores)


def handed_out(case: Case, index: int) -> bool:
    """Whether data decided who stores and at which place: a counter, or a sum, hands places out."""
    ran = [s for s in stores_to(case, index) if s.count]
    return bool(ran) and all(looks_at_data(case, s) and placed_by_data(case, s) for s in ran)


def _rectangle(case: Case, touched: np.ndarray[Any, Any]) -> bool:
    """Whether what was written is a first part, or some columns of some rows, as bounds of axes leave it."""
    if not touched[int(np.argmin(touched)) :].any():
        return True
    for width in {*case.launch.grid, *numbers(case)}:
        if 1 < width < len(touched) and len(touched) % width == 0:
            rows = touched.reshape(-1, width)
            if (rows == np.outer(rows.any(axis=1), rows.any(axis=0))).all():
                return True
    return False


def _gaps(touched: np.ndarray[Any, Any], threads: int) -> bool:
    """Whether each thread has several elements side by side and left out the same of them as all others."""
    if threads < 2 or len(touched) % threads or len(touched) == threads:
        return False
    shares = touched.reshape(threads, -1)
    return bool((shares == shares[0]).all())


def fresh(touched: np.ndarray[Any, Any], memory: Any) -> bool:
    """Whether what nobody wrote looks like memory that was just made: zeros. Another value has somebody put there."""
    data = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
    elements = data[: len(data) // len(touched) * len(touched)].reshape(len(touched), -1)
    step = max(1, len(touched) // _LOOKED_AT)
    first = elements[int(np.argmin(touched))]
    return not first.any() and not elements[::step][~touched[::step]].any()


def _is_stencil(case: Case, total: int) -> bool:
    """Whether an input as long as the output is read at several places by each thread: borders are left alone."""
    code = case.code
    for parameter in case.kernel.signature.buffers:
        if parameter.access != "read" or parameter.reference or case.elements(parameter.index) != total:
            continue
        addresses = {
            getattr(i.operands[0], "name", "")
            for i in code.function.instructions()
            if i.opcode == "load" and parameter.index in buffers_of(code, i.operands[0])
        }
        if len(addresses) > max(1, parameter.type.size // 4):
            return True
    return False
