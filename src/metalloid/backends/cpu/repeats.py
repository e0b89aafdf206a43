"""Launches that run once more by one call of the native runtime, which looks at Python's arguments itself.

`runtime/again.h` says what it looks at. Where objects lie otherwise than it expects (another Python), there are none.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from metalloid.backends.backend import SCALARS, Fact
from metalloid.backends.base import Launch
from metalloid.backends.cpu import native
from metalloid.once import once

MOST = 32  # layers of a model launch the same kernel in turns
_KINDS = (
    "integer",
    "float",
    "scalar",
    "same",
    "array",
    "frozen",
    "buffer",
    "shared",
)  # in the order of runtime/again.h
_FLAGS = 0x1 | 0x100 | 0x400  # numpy's: in C's order, aligned, to be written
_Word = ctypes.c_uint64


class _Python(ctypes.Structure):
    _fields_ = [
        (name, _Word)
        for name in (
            *("type", "tuple_length", "tuple_items"),
            *("data", "axes", "lengths", "description", "flags", "flags_wanted"),
            *("array", "integer", "floating", "scalar", "to_integer", "to_double"),
            *("unlock", "lock", "hold", "drop", "from_integer", "new_tuple", "none", "main"),
        )
    ]


class _Argument(ctypes.Structure):
    _fields_ = [
        (name, _Word)
        for name in ("kind", "object", "place", "array", "value", "description", "count", "copy", "bytes")
    ]


class _Again(ctypes.Structure):
    _fields_ = [
        *(
            (name, _Word)
            for name in (
                "next",
                "launch",
                "threads",
                "number",
                "stale",
                "at_once",
                "running",
                "runs",
                "count",
            )
        ),
        ("arguments", _Argument * 32),
    ]


@once
def _python() -> _Python | None:
    """Where things lie; None where they do not lie there."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    if not getattr(sys, "_is_gil_enabled", lambda: True)():  # the interpreter's lock says who runs a launch
        return None
    head = object.__basicsize__
    places = {"data": 0, "axes": 8, "lengths": 16, "description": 40, "flags": 48}
    calls = {
        "to_integer": ctypes.pythonapi.PyLong_AsLongLongAndOverflow,
        "to_double": ctypes.pythonapi.PyFloat_AsDouble,
        "unlock": ctypes.pythonapi.PyEval_SaveThread,
        "lock": ctypes.pythonapi.PyEval_RestoreThread,
        "hold": ctypes.pythonapi.Py_IncRef,
        "drop": ctypes.pythonapi.Py_DecRef,
        "from_integer": ctypes.pythonapi.PyLong_FromLongLong,
        "new_tuple": ctypes.pythonapi.PyTuple_New,
    }
    made = _Python(
        type=head - 8,
        tuple_length=head,
        tuple_items=tuple.__basicsize__,
        **{name: head + at for name, at in places.items()},
        flags_wanted=_FLAGS,
        array=id(np.ndarray),
        integer=id(int),
        floating=id(float),
        scalar=head,
        **{name: ctypes.cast(call, ctypes.c_void_p).value or 0 for name, call in calls.items()},
        none=id(None),
        main=threading.main_thread().ident or 0,
    )
    return made if _is_right(made) else None


def _is_right(p: _Python) -> bool:
    """Whether two arrays, a tuple and numpy's numbers are what their fields say."""
    words = (ctypes.c_int64 * 2).from_address
    plain, fixed = np.zeros((3, 5), np.float32), np.zeros((2, 7), np.uint8)
    fixed.flags.writeable = False
    for array in (plain, fixed):
        at, places = id(array), (p.type, p.data, p.description)
        found = [_Word.from_address(at + place).value for place in places]
        if found != [id(np.ndarray), array.ctypes.data, id(array.dtype)]:
            return False
        axes, flags = (ctypes.c_int32.from_address(at + place).value for place in (p.axes, p.flags))
        if axes != 2 or flags & _FLAGS != array.flags.num & _FLAGS:
            return False
        if tuple(words(_Word.from_address(at + p.lengths).value)) != array.shape:
            return False
    for number in (kind(103) for kind in SCALARS):
        if ctypes.string_at(id(number) + p.scalar, number.itemsize) != number.tobytes():
            return False
    both = plain, fixed
    items = tuple(words(id(both) + p.tuple_items))
    return items == (id(plain), id(fixed)) and _Word.from_address(id(both) + p.tuple_length).value == 2


class _Method(ctypes.Structure):
    """PyMethodDef of Python's stable ABI."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_ONE_ARGUMENT = 0x8  # METH_O


@once
def _functions(python: int) -> Callable[[int], tuple[Any, ...]]:
    """`mt_again` and `mt_is_again` as functions of Python's own, for the launches whose first lies at an address."""
    runtime = native.runtime()
    runtime.python(python)
    named = ((b"again", runtime.again), (b"is_again", runtime.is_again))
    methods = [_Method(name, call, _ONE_ARGUMENT) for name, call in named]
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    make = kind(("PyCFunction_NewEx", ctypes.pythonapi))
    return lambda first: tuple([make(ctypes.addressof(method), first, None) for method in methods])


# A launch, what it needs to be alive, and what tells how it stopped.
Made = tuple[_Again, Any, Callable[[int, Callable[[], Launch]], None]]


class Worth:
    """Whether to remember one more launch. Where those that made room had not run again, the next are let pass, twice
    as many each time: of a thousand arrays that take turns, none is worth it."""

    FEW, LONGEST = 4, 1 << 12

    __slots__ = ("_left", "_wait")

    def __init__(self) -> None:
        self._wait = self._left = 0

    def asked(self) -> bool:
        self._left -= 1
        return self._left < 0

    def gone(self, runs: Sequence[int]) -> None:
        """Launches were forgotten that had run so often."""
        if runs:
            self._wait = min(2 * self._wait + 1, self.LONGEST) if min(runs) < self.FEW else 0
        self._left = self._wait


class Repeats:
    """Those of one kernel and size. `go(arguments)` runs one of them: 0, -1 where there is none, else what `stopped` is
    to be given. `has(arguments)` gives what has to be kept until one runs, or None."""

    __slots__ = ("_changing", "_first", "_made", "go", "has", "worth")

    def __init__(self, python: _Python) -> None:
        self.worth = Worth()
        self._changing = threading.Lock()
        self._made: list[Made] = []
        self._first = _Word(0)
        self.go: Callable[[tuple[Any, ...]], int]
        self.has: Callable[[tuple[Any, ...]], tuple[Any, ...] | None]
        self.go, self.has = _functions(ctypes.addressof(python))(ctypes.addressof(self._first))

    def add(
        self,
        launch: int,
        threads: int,
        facts: Sequence[Fact],
        kept: Any,
        stopped: Callable[[int, Callable[[], Launch]], None],
        at_once: bool = False,
    ) -> Callable[[object], None] | None:
        """One more launch, of the record at an address. `kept` is alive as long as it may run, and nobody else's.
        `at_once`: `has` leaves it out.
        Gives what is to be called where a buffer among its arguments is gone; None where another thread (or a
        finaliser in this one) is about to add another."""
        if not self._changing.acquire(blocking=False):
            return None
        try:
            before = self._made
            made = self._with_room(before)
            one = _Again(0, launch, threads, _number(before), 0, at_once, 0, 0, len(facts))
            for n, fact in enumerate(facts):
                kind, *rest = fact
                one.arguments[n] = _Argument(_KINDS.index(kind), *rest)
            made.append((one, kept, stopped))
            self._link(made)
            # Nothing leads to the others any more; one that another thread has started meanwhile stays until the next.
            self._made = [m for m in before if m[0].running and m not in made] + made
        finally:
            self._changing.release()
        return lambda _: setattr(one, "stale", 1)

    def _with_room(self, before: list[Made]) -> list[Made]:
        """Those that stay: the latest, and those that run; other threads start and end some meanwhile. One that was
        interrupted before anybody could make its record new counts as running for good."""
        live = [made for made in before if made[0].running or not made[0].stale]
        over, kept = sum(not made[0].running for made in live) - MOST + 1, []
        for made in live:
            if over > 0 and not made[0].running:
                over -= 1
            else:
                kept.append(made)
        self.worth.gone([made[0].runs for made in before if made not in kept])
        return kept

    def _link(self, made: Sequence[Made]) -> None:
        """The latest first. Another thread may go along the old links meanwhile, and into the new ones: from each
        launch they lead to earlier ones."""
        following = 0
        for one, *_ in made:
            one.next, following = following, ctypes.addressof(one)
        self._first.value = following

    def stopped(self, status: int, told: Callable[[], Launch]) -> None:
        """Say what became of a launch that did not end well. It may run again once its record is new."""
        for one, _, tell in self._made:
            if one.number == status >> 8:
                try:
                    tell(status & 0xFF, told)
                finally:
                    one.running = 0


def _number(made: Sequence[Made]) -> int:
    return 1 + max((one.number for one, *_ in made), default=0)


def repeats() -> Repeats | None:
    """None where objects lie otherwise than expected."""
    python = _python()
    return Repeats(python) if python is not None else None
