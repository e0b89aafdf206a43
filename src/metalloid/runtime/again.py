"""The same launch once more: it runs as it is, where its arguments still are what they were.

Memory of the device stays where it is until it is released; an array of the caller's may be resized, retyped or made
read-only in place, and is looked at.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.runtime.buffer import Buffer

_address = ctypes.addressof
_exported = ctypes.c_char.from_buffer  # refuses what is not writable or not contiguous
Repeat = Callable[[Callable[[], Launch]], bool]


class Again:
    """A launch as it was: the same memory, the same numbers. `start` runs it, or says that something has changed."""

    __slots__ = ("_arrays", "_buffers", "_numbers", "spare", "start")

    def __init__(self, arguments: tuple[Any, ...], spare: Any, start: Repeat) -> None:
        # Weak: a plan keeps no memory alive. (numpy resizes no array that has weak references.) Numbers are told apart
        # by their types as well: 1 is not 1.0.
        self._numbers = [(n, type(a)) for n, a in enumerate(arguments) if type(a) is int or type(a) is float]
        self._buffers = [(n, weakref.ref(a)) for n, a in enumerate(arguments) if type(a) is Buffer]
        self._arrays = [
            (n, a.dtype, a.nbytes, _address(_exported(a)))
            for n, a in ((n, _own(a)) for n, a in enumerate(arguments))
            if a is not None
        ]
        self.spare, self.start = spare, start

    def same(self, arguments: tuple[Any, ...]) -> bool:
        """For arguments of its own key. An array may have been changed in place: its type, its size, its memory."""
        for n, kind in self._numbers:
            if type(arguments[n]) is not kind:
                return False
        for n, held in self._buffers:
            buffer: Any = held()
            if buffer is not arguments[n] or buffer._array is None:  # another, or released
                return False
        try:
            for n, dtype, size, at in self._arrays:  # which array it is does not matter: the memory does
                array: Any = arguments[n]
                if type(array) is Buffer:
                    array = array._array
                if array.dtype is not dtype or array.nbytes != size or _address(_exported(array)) != at:
                    return False
        except (
            AttributeError,
            TypeError,
            ValueError,
            BufferError,
        ):  # no array, not writable any more, or with gaps
            return False
        return True


def _own(value: Any) -> Any:
    """The caller's own array, which he may resize: a launch has to look where it lies."""
    if type(value) is Buffer:
        return value._array if value.shared else None
    return value if type(value) is np.ndarray else None


def key_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([a if type(a) is int or type(a) is float else id(a) for a in arguments])


def repeats(value: Any, dtype: Any, arrays: bool) -> bool:
    """Whether a launch with the same argument finds the same memory, or the same number. `arrays`: whether the device
    works in the caller's own."""
    if type(value) is Buffer and value._parent is not None:
        return False  # a slice
    if type(value) is np.ndarray and not arrays:
        return False
    array = _own(value)
    if array is not None:
        return array.dtype is dtype and array.flags.carray  # what can be looked at quickly
    return type(value) in (int, float, Buffer)
