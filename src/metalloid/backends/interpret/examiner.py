"""The oracle as an examiner of numbers: some threadgroups run with twins beside their values.

What is noted: an address that is not where exact arithmetic would have put it; an infinity or NaN that
reaches a buffer, with the place of its birth; a half that overflowed and made a result wrong; a sum in half
that lost digits; under fast math, arithmetic on infinities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metalloid.backends.base import Launch
from metalloid.backends.interpret import lenient
from metalloid.backends.interpret.memory import Pointer
from metalloid.backends.interpret.observer import Observer
from metalloid.backends.interpret.shared_twins import shared
from metalloid.backends.interpret.thread import Thread
from metalloid.backends.interpret.twins import LOST_ULPS, Birth, Place, Real
from metalloid.backends.observe import Access, Record
from metalloid.ir.debug import Location, location
from metalloid.ir.floats import to_float
from metalloid.ir.intrinsics import ENTRY, short
from metalloid.ir.module import Instruction, Module
from metalloid.ir.types import FloatType
from metalloid.ir.values import Float, Local

ENOUGH_ADDS = 16  # additions in a narrow type before their loss is worth a word
CONSTANT = "constant"  # the operation of a NaN that the compiler has worked out
_SHARED = ("buffer", "resource")


@dataclass(frozen=True)
class Wanted:
    """What is to be looked at, and for how long."""

    steps: int = 200_000  # instructions of all threads together; about two seconds
    more: int = (
        400_000  # for those that run first, all of a threadgroup or one thread: to get as far as a store
    )
    until: float = float("inf")  # on the monotonic clock
    indices: bool = True
    floats: bool = True
    fast: bool = False  # arithmetic on infinities is noted
    calls: Callable[[Location], bool] = lambda place: (
        False
    )  # places where the user calls a function of Metal's


class Examiner(Observer):
    """Examines one launch; `records()` is what it found."""

    def __init__(self, module: Module, launch: Launch, wanted: Wanted) -> None:
        super().__init__(module, launch, float("inf"))
        self.deadline = wanted.until
        self.module, self.wanted, self.fast = module, wanted, wanted.fast
        self.left, self._more = wanted.steps + wanted.more, wanted.more
        self.births: list[Birth] = []
        self.foreign = False  # something that is not finite came from memory, or stands in the code
        self.loaded = False  # it came from memory
        self.memory: dict[tuple[int, int], Real] = {}
        self._headers: dict[int, bool] = {}
        self._stores: dict[object, tuple[Access, Any]] = {}
        self._calls: dict[str, list[Local]] | None = None
        self._nan: bool | None = None

    # What the scheduler tells.

    def begin(self, threads: Sequence[Thread]) -> None:
        self.births.clear()
        self.foreign = self.loaded = False
        self.memory.clear()
        for thread in threads:
            thread.examiner = self  # type: ignore[attr-defined]
            thread.twins, thread.moved, thread.entering = {}, {}, {}  # type: ignore[attr-defined]
            thread.load, thread.store = lenient.load, lenient.store
            thread.load_bytes, thread.store_bytes = lenient.load_bytes, lenient.store_bytes

    def first_is_done(self) -> None:
        """Those that come now have to do with what is left."""
        self.left, self._more = self.left - self._more, 0

    def barrier(self, thread: Thread, flags: int) -> None:
        pass

    def missed(self, *_: Any) -> None:
        pass

    def together(self, name: str, threads: Mapping[int, Thread], arrived: Mapping[int, Any]) -> None:
        """What lanes are about to get from each other has twins, too."""
        i = next(iter(threads.values())).current
        if not self.wanted.floats or i is None or not i.name:
            return
        found = shared(self.module.function[ENTRY], i, threads, arrived)
        into = "twins" if isinstance(i.type, FloatType) else "moved"
        for lane, thread in threads.items():
            getattr(thread, into).pop(i.name, None)
            if lane in found:
                getattr(thread, into)[i.name] = found[lane]

    def records(self) -> tuple[Record, ...]:
        return self.notes.records()

    # What the code that keeps twins tells (`twin_code`).

    def in_header(self, i: Instruction) -> bool:
        """Whether an instruction is part of a function that the user calls: its place is the call's."""
        found = self._headers.get(id(i))
        if found is None:
            place = location(self.module, i)
            found = self._headers[id(i)] = place is not None and self.wanted.calls(place)
        return found

    def given(self, t: Thread, i: Instruction) -> tuple[float, ...]:
        """The numbers that the user's call gave to the function of Metal's that an instruction is part of."""
        if not self.in_header(i):
            return ()
        if self._calls is None:
            self._calls = _arguments(self.module)
        values = ((a.type, t.registers.get(a.name)) for a in self._calls.get(i.debug, ()))
        return tuple(to_float(k, v) for k, v in values if isinstance(k, FloatType) and v is not None)

    def birth_given(self, t: Thread, i: Instruction) -> Birth | None:
        """Where a NaN was born that the user's call gave to the function of Metal's that an instruction is part of."""
        if not self.in_header(i):
            return None
        if self._calls is None:
            self._calls = _arguments(self.module)
        twins = (t.twins.get(a.name) for a in self._calls.get(i.debug, ()))  # type: ignore[attr-defined]
        return next((x.birth for x in twins if isinstance(x, Real) and x.birth), None)

    def infinity(self, t: Thread, i: Instruction, operands: tuple[float, ...], reals: Sequence[Real]) -> bool:
        """Arithmetic on an infinity, under fast math; whether it was reported."""
        if any(r.birth for r in reals):
            return False  # its birth is what matters
        detail = {"operands": operands}
        self.notes.add("infinity under fast math", self.notes.access(t, i, "computes"), detail=detail)
        return True

    def accessed(self, t: Thread, i: Instruction, at: Place, size: int, write: bool) -> None:
        if not at.wrapped:
            return
        memory = at.actual.object.memory
        detail = {"exact": at.low, "actual": at.actual.offset}
        other = self.notes.access(t, at.made, "computed by") if at.made is not None else None
        access = self.notes.access(t, i, "write" if write else "read", size)
        if other is not None and _line(other) == _line(access):
            other = None
        self.notes.add("index wraps", access, other, memory, at.actual.offset, detail)

    def stored(self, t: Thread, i: Instruction, type: FloatType, value: Real, target: Pointer) -> None:
        """A float goes into a buffer: is it what it should be?"""
        memory = target.object.memory
        if memory is None or memory.kind not in _SHARED:
            return
        result, exact = to_float(type, value.actual), value.exact
        store = self.notes.access(t, i, "stored by", type.bits // 8)
        if value.birth is not None:
            least = math.ldexp(1.0, {"half": -14}.get(type.name, -126))
            close = math.isfinite(result) and (
                not math.isfinite(exact) or abs(result - exact) <= 0.01 * abs(exact) + least
            )
            if not close:
                self._born(value.birth, store, memory, target.offset, result, exact)
        elif value.adds >= ENOUGH_ADDS and value.lost > LOST_ULPS and value.narrow and value.summed:
            detail = {
                "got": result,
                "exact": exact,
                "adds": value.adds,
                "ulps": value.lost,
                "type": value.narrow.name,
            }
            access = self.notes.access(t, value.summed, "adds")
            self._add("half loses digits", access, store, memory, target.offset, detail)
        elif math.isnan(result) and not self.loaded and self._names_nan():
            detail = {
                "operation": CONSTANT,
                "operands": (),
                "result": result,
                "stored": result,
                "exact": exact,
            }
            self._add("not a number", store, store, memory, target.offset, detail)

    def _names_nan(self) -> bool:
        """Whether a NaN stands in the code: the compiler has worked out what a thread gets on some way."""
        if self._nan is None:
            operands = (o for i in self.module.function[ENTRY].instructions() for o in i.operands)
            self._nan = any(isinstance(o, Float) and math.isnan(o.value) for o in operands)
        return self._nan

    def _born(
        self, birth: Birth, store: Access, memory: Any, offset: int, result: float, exact: float
    ) -> None:
        place = self.notes.access_at(birth.instruction, birth.thread, birth.threadgroup, "born in")
        detail = {
            "operation": _operation(birth.instruction),
            "operands": birth.operands,
            "given": birth.given,
            "result": birth.result,
            "stored": result,
            "exact": exact,
        }
        self._add("half overflow" if birth.half else "not a number", place, store, memory, offset, detail)

    def _add(
        self, kind: str, place: Access, store: Access, memory: Any, offset: int, detail: Mapping[str, Any]
    ) -> None:
        """Each place once, with the first store that showed it."""
        first = self._stores.setdefault((kind, place.location), (store, memory))
        other = None if _line(first[0]) == _line(place) else first[0]
        self.notes.add(kind, place, other, first[1], offset, detail)


def _arguments(module: Module) -> dict[str, list[Local]]:
    """By the place of code: the floats that come into it from elsewhere, each once.

    Metal's functions have no places of their own: all their code is at the user's call.
    """
    parts: dict[str, list[Instruction]] = {}
    for i in module.function[ENTRY].instructions():
        parts.setdefault(i.debug, []).append(i)
    found: dict[str, list[Local]] = {}
    for node, code in parts.items():
        own = {i.name for i in code}
        taken = (o for i in code if i.opcode != "phi" for o in i.operands)
        used = (o for o in taken if isinstance(o, Local) and isinstance(o.type, FloatType))
        found[node] = list({o.name: o for o in used if o.name not in own}.values())
    return found


def _line(access: Access) -> int:
    return access.location.line if access.location else 0


def _operation(i: Instruction) -> str:
    """A short name for what made it."""
    names = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
    names |= dict.fromkeys(("fptrunc", "uitofp", "sitofp"), "conversion")
    if i.opcode == "call":
        return short(i.called.removeprefix("llvm.")).split(".")[0]
    return names.get(i.opcode, i.opcode)
