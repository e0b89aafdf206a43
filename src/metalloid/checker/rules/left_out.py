"""M311: an input of which one part is read again and again, by a position that its index leaves out.

A batch of three has three times the data. Where the grid has three along an axis, that axis says where an output is
written, and no index of an input asks for it, all three read the first third: inside bounds, and wrong. What an index
can reach is known where nothing but positions and arguments makes it (`proofs`); a part that is no such fraction of
the input, or less than two elements, says nothing, and neither does a rest that holds one value (a cache that is
filled so far). Inputs of whole numbers are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.evaluate import Evaluator
from metalloid.analysis.intervals.values import TooLong
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.base import Launch
from metalloid.checker.case import Case, nbytes
from metalloid.checker.proofs import evaluator_of
from metalloid.checker.rules.mixed import GRID, GROUP, axes
from metalloid.findings import Finding
from metalloid.ir.layout import scalar_bytes
from metalloid.ir.module import Function, Instruction
from metalloid.types import Matrix, Parameter, Scalar, Vector

_FEWEST = 2  # elements: one is a number that all take
_LOOKED_AT = 1 << 20  # elements of each part
_DEVICE = 1
_MOVES = ("getelementptr", "phi", "select", "freeze")
Axis = tuple[str, int]  # a position, and 0, 1 or 2


def left_out(case: Case) -> Iterator[Finding]:
    launch = case.launch
    inputs = [p for p in case.kernel.signature.buffers if _is_input(case, p)]
    if case.observation.stopped or launch.resources or not inputs or not _extents(launch):
        return
    known = evaluator_of(case.kernel, launch)
    if known is None:
        return
    function, evaluator = known
    asked = _asked(function)
    extents = {axis: size for axis, size in _extents(launch).items() if axis in asked}
    reads = _reads(function, evaluator.roots, {p.index for p in inputs})
    for parameter in inputs:
        loads, total = reads.get(parameter.index, []), nbytes(launch.buffers[parameter.index])
        taken = frozenset().union(*(axes(function.definitions, i.operands[0], GRID, GROUP) for i in loads))
        free = {axis: n for axis, n in extents.items() if axis[1] not in taken and total % n == 0}
        used = _used(function, evaluator, loads) if free else 0
        missing = next((axis for axis, n in free.items() if used * n == total), None)
        if (
            missing is not None
            and used >= _FEWEST * parameter.type.size
            and _holds_data(case, parameter, used)
        ):
            yield _finding(case, parameter, loads[0], missing, used)


def _is_input(case: Case, p: Parameter) -> bool:
    """Of numbers that are computed with: sizes, strides and positions, whole numbers, have parts of their own."""
    number = p.type.element if isinstance(p.type, Vector | Matrix) else p.type
    real = isinstance(number, Scalar) and "float" in number.dtype.numpy_name
    return real and p.access == "read" and not p.reference and p.index in case.launch.buffers


def _holds_data(case: Case, p: Parameter, used: int) -> bool:
    """Whether the part that nobody reads is data as the other is: the rest of a cache that is filled so far is zeros,
    what stands behind a tensor may be poison."""
    data = np.frombuffer(memoryview(case.launch.buffers[p.index]).cast("B"), np.uint8)
    elements = data[: len(data) // p.type.size * p.type.size].reshape(-1, p.type.size)
    at = used // p.type.size
    read, rest = elements[:at][:_LOOKED_AT], elements[at:][:_LOOKED_AT]
    return not (rest == rest[0]).all() or bool((read == rest[0]).all())


def _extents(launch: Launch) -> dict[Axis, int]:
    """How many there are along each axis, where it is more than one."""
    found = {(GRID, axis): size for axis, size in enumerate(launch.grid)}
    found |= {(GROUP, axis): size for axis, size in enumerate(launch.threadgroups)}
    return {axis: size for axis, size in found.items() if size > 1}


def _reads(function: Function, roots: UnderlyingObjects, inputs: set[int]) -> dict[int, list[Instruction]]:
    """The loads of each input; none of an input that anything else reads, or of all where a pointer may be any."""
    found: dict[int, list[Instruction]] = {}
    other: set[int] = set()
    for i in function.instructions():
        if i.opcode in _MOVES:
            continue
        for operand in i.operands:
            root = roots.root(operand) if hasattr(operand.type, "space") else None
            if root is not None and root.kind == "unknown":
                return {}
            if root is None or root.kind != "buffer" or root.index not in inputs:
                continue
            if i.opcode == "load":
                found.setdefault(root.index, []).append(i)
            else:
                other.add(root.index)
    return {index: loads for index, loads in found.items() if index not in other}


def _used(function: Function, evaluator: Evaluator, loads: list[Instruction]) -> int:
    """Bytes from the start of a buffer that these loads can reach; 0 where that is not known."""
    most = 0
    try:
        for i in loads:
            at = evaluator.at(i.operands[0], function.home[i.name])
            if at is None:
                continue  # nobody gets here
            at = S.signed(at, 64)
            if at.lo < 0:
                return 0
            most = max(most, at.hi + scalar_bytes(i.type))
    except (TooLong, RecursionError):
        return 0
    return most


def _asked(function: Function) -> frozenset[Axis]:
    """The axes that say where something is stored in device memory."""
    stores = [i.operands[1] for i in function.instructions() if i.opcode == "store"]
    stores = [s for s in stores if getattr(s.type, "space", 0) == _DEVICE]
    return frozenset(
        (p, axis) for s in stores for p in (GRID, GROUP) for axis in axes(function.definitions, s, p)
    )


def _finding(case: Case, parameter: Parameter, load: Instruction, axis: Axis, used: int) -> Finding:
    name, memory, each = parameter.name, case.launch.buffers[parameter.index], parameter.type.size
    part, total, times = used // each, nbytes(memory) // each, nbytes(memory) // used
    what, position = "threads" if axis[0] == GRID else "threadgroups", _named(case, axis)
    everybody = "both" if times == 2 else f"all {times}"
    message = (
        f"{everybody} {what} along {'xyz'[axis[1]]} read the same {part} of the {total} elements of '{name}': the index"
        f" leaves {position} out, which decides where the result is stored"
    )
    shared = f"pass {part} elements, if {everybody.split()[0]} are to share them"
    hint = f"add {position} * {part} to the index of '{name}'; or {shared}"
    found = replace(case.at_launch("M311", message, hint), buffer=name)
    place = case.place(case.code.location(load))
    return replace(found, location=place, excerpt=case.line(place)) if place and place.line else found


def _named(case: Case, axis: Axis) -> str:
    """A position along an axis, as the kernel writes it."""
    found = next((p for p in case.kernel.parameters if p.builtin == axis[0]), None)
    if found is not None and not isinstance(found.type, Vector):
        return found.name
    return f"{found.name if found else axis[0]}.{'xyz'[axis[1]]}"
