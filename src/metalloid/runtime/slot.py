"""What one parameter accepts on the short road of a launch (`plan.py`), and what values become that are not simply its
memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from metalloid.backends.backend import SCALARS
from metalloid.runtime.arguments import WRITES, argument, element
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.contents import content
from metalloid.runtime.kernel_code import KernelCode
from metalloid.types import Matrix, Parameter, Scalar, Struct, Vector

MOST_KNOWN = 64  # of memory, and of numbers for each

# Python numbers that go into a parameter as they are: which, how, from where to where.
_PLAIN: dict[Any, tuple[type, Any, float, float]] = {
    np.dtype(kind): (int, cell, int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    for kind, cell in (
        (np.int8, ctypes.c_int8),
        (np.uint8, ctypes.c_uint8),
        (np.int16, ctypes.c_int16),
        (np.uint16, ctypes.c_uint16),
        (np.int32, ctypes.c_int32),
        (np.uint32, ctypes.c_uint32),
        (np.int64, ctypes.c_int64),
        (np.uint64, ctypes.c_uint64),
    )
}
_LARGEST = float(np.finfo(np.float32).max)
_PLAIN[np.dtype(np.float32)] = (float, ctypes.c_float, -_LARGEST, _LARGEST)
_NOTHING: tuple[Any, Any, float, float] = (None, None, 0, 0)
_WHOLE = 1 << 24  # whole numbers up to here are floats


def plain(wanted: type, value: Any) -> Any:
    """A number of numpy's as Python's, a truth as 0 or 1, a whole one as a float where that is wanted and holds it."""
    if type(value) in SCALARS:
        value = value.item()
    if type(value) is bool:
        value = int(value)
    if wanted is float and type(value) is int and -_WHOLE <= value <= _WHOLE:
        return float(value)
    return value


class Slot:
    """What one parameter accepts on the short road."""

    __slots__ = ("cell", "dtype", "high", "index", "low", "made", "number", "parameter", "size", "written")

    def __init__(self, parameter: Parameter) -> None:
        self.parameter, self.index = parameter, parameter.index
        self.dtype = element(parameter.type)
        self.written = parameter.access in WRITES
        self.size = parameter.type.size if parameter.reference else 0
        if isinstance(parameter.type, Vector) and parameter.type.length == 3:
            self.dtype = None  # rows of three are looked at closely
        if isinstance(parameter.type, Matrix) and parameter.reference:
            self.dtype = None  # rows become columns
        if isinstance(parameter.type, Struct) and parameter.reference:
            self.dtype = np.dtype(np.uint8)  # its bytes, when they are as many as they should be
        scalar = parameter.reference and isinstance(parameter.type, Scalar) and not self.written
        self.number, self.cell, self.low, self.high = _PLAIN.get(self.dtype, _NOTHING) if scalar else _NOTHING
        self.made: dict[
            Any, np.ndarray[Any, Any]
        ] = {}  # parameters that values were converted to, by their contents


def is_of(found: np.ndarray[Any, Any], value: Any) -> bool:
    """Whether what a parameter gets is the caller's own memory, perhaps as another type."""
    return isinstance(value, np.ndarray) and np.may_share_memory(found, value)


def as_parameter(kernel: KernelCode, slot: Slot, value: Any, raw: bool) -> np.ndarray[Any, Any] | None:
    """The same as `_converted`; what a value was converted to serves all that are equal to it."""
    key = None if raw or slot.written else content(value)
    found = slot.made.get(key) if key is not None else None
    if found is None:
        found = _converted(kernel, slot, value, raw)
        if key is not None and found is not None and not is_of(found, value):
            if len(slot.made) >= MOST_KNOWN:
                slot.made.clear()
            slot.made[key] = found
    return found


def _converted(kernel: KernelCode, slot: Slot, value: Any, raw: bool) -> np.ndarray[Any, Any] | None:
    """What a parameter gets of a value that is not simply its memory; None where the long road has to say. A buffer is
    memory and no values: nothing in it is converted."""
    if value is None:
        return None
    if not raw:
        return argument(kernel.signature, slot.parameter, value, [], kernel.device)
    value = value.memory() if type(value) is Buffer else value
    if isinstance(value, np.ndarray):
        return value if value.size else None
    return np.frombuffer(bytearray(value), np.uint8) if isinstance(value, bytes) and value else None
