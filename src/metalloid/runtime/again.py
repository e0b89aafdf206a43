"""The same launch once more: it runs as it is, where its arguments still are what they were.

Memory of the device stays where it is until it is released; an array of the caller's may be resized, retyped or made
read-only in place, and is looked at.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from metalloid.backends.backend import SCALARS, Fact
from metalloid.backends.base import Launch
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.contents import frozen

_address = ctypes.addressof
_exported = ctypes.c_char.from_buffer  # refuses what is not writable or not contiguous
_MOST = 8
Repeat = Callable[[Callable[[], Launch]], bool]
Told = Callable[[tuple[Any, ...]], Launch]
Array = np.ndarray[Any, Any]


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
    return tuple([a if type(a) is int else _told_apart(a) for a in arguments])


def _told_apart(value: Any) -> Any:
    """0.0 and -0.0 are equal, and not the same number."""
    kind = type(value)
    if kind is float:
        return value or str(value)
    return (kind, value.tobytes()) if kind in SCALARS else id(value)


def repeats(value: Any, converted: bool = False) -> bool:
    """Whether a launch with the same argument finds the same memory, or the same number; `converted`: what was made
    of a value."""
    if converted and frozen(value):
        return True
    if type(value) is Buffer and value._parent is not None:
        return False  # a slice
    array = _own(value)
    if array is not None:
        return bool(array.flags.c_contiguous and array.flags.aligned)  # what can be looked at quickly
    return type(value) in (int, float, Buffer) or type(value) in SCALARS


def fact(value: Any, place: int) -> Fact | None:
    """What an argument that repeats has to be the next time, in numbers; None where that cannot be said. `place` is
    where the launch reads it: a copy of a parameter that code rests on, where its elements lie elsewhere; or a copy
    of an array that was converted, as it was."""
    kind = type(value)
    if kind in (bool, tuple, bytes):
        return Fact("same", id(value))
    if kind is int:
        return Fact("integer", value=value & (1 << 64) - 1) if -(1 << 63) <= value < 1 << 63 else None
    if kind is float:
        return Fact("float", value=struct.unpack("Q", struct.pack("d", value))[0])
    if kind in SCALARS:
        bits = int.from_bytes(value.tobytes(), "little")
        return Fact("scalar", value=bits, description=id(kind), bytes=value.nbytes)
    array = value._array if kind is Buffer else value
    if array is None:  # released since
        return None
    memory = {"value": array.ctypes.data, "description": id(array.dtype), "elements": array.size}
    if place != memory["value"]:
        memory |= {"copy": place, "bytes": array.nbytes}
    if kind is not Buffer:
        return Fact("array" if array.flags.writeable else "frozen", **memory)
    if not _place():
        return None
    return Fact("shared" if value.shared else "buffer", id(value), _place(), id(array), **memory)


@cache
def _place() -> int:
    """Where a buffer has its array; 0 where it cannot be told."""
    array = np.zeros(1)
    buffer = Buffer.__new__(Buffer)  # nobody hears of it
    buffer._array = array
    places = range(object.__basicsize__, Buffer.__basicsize__, 8)
    found = [at for at in places if ctypes.c_uint64.from_address(id(buffer) + at).value == id(array)]
    return found[0] if len(found) == 1 else 0


class Repeats(Protocol):
    """Launches of one plan that run once more. `go(arguments)` gives 0, or -1 where none of them has these arguments,
    or what `stopped` is to be given."""

    @property
    def go(self) -> Callable[[tuple[Any, ...]], int]: ...

    @property
    def has(self) -> Callable[[tuple[Any, ...]], tuple[Any, ...] | None]:
        """The arguments where `go` would run one, and the arrays of buffers among them: who runs it later keeps them,
        since a buffer may be released meanwhile."""
        ...

    def stopped(self, status: int, told: Callable[[], Launch]) -> None: ...

    def worth(self) -> bool:
        """Whether a launch that ran just now may be one to repeat."""
        ...

    @property
    def contents(self) -> bool:
        """Whether it compares the contents of parameters that are memory."""
        ...

    def keep(
        self,
        arguments: tuple[Any, ...],
        places: Sequence[int],
        spare: Any,
        code: Any,
        addresses: list[int],
        lengths: list[int],
        converted: Mapping[int, Array] = MappingProxyType({}),
    ) -> bool:
        """Repeat this launch from now on, with a spare that nobody else has any more. `places` are the addresses of
        the arguments one by one; `converted` is what was made of some of them."""
        ...


class Snapshot:
    """An array that was converted, as it was: rows of a matrix are not a line of as many numbers."""

    def __init__(self, array: Array) -> None:
        self._copy = array.copy()
        self._shape = np.array(array.shape, np.int64)

    def fact(self, array: Array) -> Fact | None:
        found = fact(array, self._copy.ctypes.data)
        if found is None:
            return None
        return found._replace(place=1 + array.ndim, array=self._shape.ctypes.data)


class ByArguments:
    """The device looks at the arguments itself."""

    contents = True

    def __init__(self, quick: Any, found: Any) -> None:
        self._quick, self._found = quick, found
        self.go, self.has, self.stopped = found.go, found.has, found.stopped
        self.worth = found.worth.asked

    def keep(
        self,
        arguments: tuple[Any, ...],
        places: Sequence[int],
        spare: Any,
        code: Any,
        addresses: list[int],
        lengths: list[int],
        converted: Mapping[int, Array] = MappingProxyType({}),
    ) -> bool:
        as_given = {n: Snapshot(a) for n in converted if type(a := arguments[n]) is np.ndarray}
        facts = [
            as_given[n].fact(a) if n in as_given else fact(a, places[n]) for n, a in enumerate(arguments)
        ]
        if None in facts:
            return False
        kept: list[object] = [
            *(spare, *converted.values(), *as_given.values()),
            *(a.dtype for a in map(_own, arguments) if a is not None),  # known by their places
            *(a for a, found in zip(arguments, facts, strict=True) if found and found.kind == "same"),
        ]
        at_once = bool(as_given)  # an array may be another by the time that a command buffer runs
        gone = self._quick.repeat(
            self._found, spare.room, code, addresses, lengths, facts, kept, at_once=at_once
        )
        if gone is None:
            return False
        # Another buffer may come to lie where one was.
        kept += [weakref.ref(a, gone) for a in arguments if type(a) is Buffer]
        return True


class ByKey:
    """Launches of buffers and numbers, found by a key."""

    contents = False

    def __init__(self, quick: Any, told: Told) -> None:
        self._repeat, self._told = quick.again, told
        self._kept: dict[tuple[Any, ...], Again] = {}

    def go(self, arguments: tuple[Any, ...]) -> int:
        key = key_of(arguments)
        again = self._kept.pop(key, None)  # nobody else starts it meanwhile
        if again is None or not again.same(arguments) or not again.start(lambda: self._told(arguments)):
            return -1
        self._kept[key] = again
        return 0

    def has(self, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        again = self._kept.get(key_of(arguments))
        if again is None or not again.same(arguments):
            return None
        return tuple([a._array if type(a) is Buffer else a for a in arguments])

    def stopped(self, status: int, told: Callable[[], Launch]) -> None:
        """Those that stop say so themselves."""

    def worth(self) -> bool:
        return True

    def keep(
        self,
        arguments: tuple[Any, ...],
        places: Sequence[int],
        spare: Any,
        code: Any,
        addresses: list[int],
        lengths: list[int],
        converted: Mapping[int, Array] = MappingProxyType({}),
    ) -> bool:
        if converted or any(type(a) is np.ndarray for a in arguments):
            return False
        start = self._repeat(spare.room, code, addresses, lengths)
        if start is None:
            return False
        try:
            again = Again(arguments, spare, start)
        except (TypeError, ValueError, BufferError):  # an array that cannot be looked at quickly
            return False
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[key_of(arguments)] = again
        return True


def repeats_of(quick: Any, told: Told) -> Repeats | None:
    """What a device has to repeat launches with."""
    found = quick.repeats() if hasattr(quick, "repeats") else None
    if found is not None:
        return ByArguments(quick, found)
    return ByKey(quick, told) if hasattr(quick, "again") else None
