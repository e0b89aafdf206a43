"""The oracle as an examiner of numbers: some threadgroups run with twins beside their values.

What is noted: an address that is not where exact arithmetic would have put it; an infinity or NaN that
reaches a buffer, with the place of its birth; a half that overflowed and made a result wrong; a sum in half
that lost digits; under fast math, arithmetic on infinities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metalloid.backends.base import Launch
from metalloid.backends.interpret import follow
from metalloid.backends.interpret.instructions import Maker
from metalloid.backends.interpret.memory import Object, Pointer
from metalloid.backends.interpret.observer import Observer
from metalloid.backends.interpret.program import Code, PreparedBlock, Step, Stopped
from metalloid.backends.interpret.thread import Thread
from metalloid.backends.interpret.twins import (
    Birth,
    Place,
    Real,
    Whole,
    belongs,
    finite,
    place,
    real,
    whole,
)
from metalloid.backends.observe import Access, Record
from metalloid.ir.debug import Location, location
from metalloid.ir.floats import to_float
from metalloid.ir.intrinsics import ENTRY, is_collective, short
from metalloid.ir.layout import data_layout
from metalloid.ir.module import Function, Instruction, Module
from metalloid.ir.types import FloatType, IntType, PointerType
from metalloid.ir.values import Float, Int, Local, Value

ENOUGH_ADDS = 16  # additions in a narrow type before their loss is worth a word
LOST_ULPS = 4  # of the largest sum on the way
LEAST_BITS = 16  # of integers that are followed
_SHARED = ("buffer", "resource")
_CHOICES = ("llvm.smin", "llvm.smax", "llvm.umin", "llvm.umax")

Get = Callable[[Any], Any]


@dataclass(frozen=True)
class Wanted:
    """What is to be looked at, and for how long."""

    steps: int = 200_000  # instructions of all threads together; about two seconds
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
        self.module, self.wanted, self.fast, self.left = module, wanted, wanted.fast, wanted.steps
        self.births: list[Birth] = []
        self.foreign = False  # something that is not finite came from memory
        self.memory: dict[tuple[int, int], Real] = {}
        self._headers: dict[int, bool] = {}
        self._stores: dict[object, tuple[Access, Any]] = {}
        self._calls: dict[str, list[Local]] | None = None

    # What the scheduler tells.

    def begin(self, threads: Sequence[Thread]) -> None:
        self.births.clear()
        self.foreign = False
        self.memory.clear()
        for thread in threads:
            thread.examiner = self  # type: ignore[attr-defined]
            thread.twins, thread.entering = {}, {}  # type: ignore[attr-defined]
            thread.load, thread.store = _load, _store
            thread.load_bytes, thread.store_bytes = _load_bytes, _store_bytes

    def barrier(self, thread: Thread, flags: int) -> None:
        pass

    def missed(self, *_: Any) -> None:
        pass

    def together(self, name: str, threads: Mapping[int, Thread], arrived: Mapping[int, Any]) -> None:
        pass

    def records(self) -> tuple[Record, ...]:
        return self.notes.records()

    # What the twins tell.

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

    # Code that keeps twins.

    def watched(self, code: Code, function: Function) -> Code:
        """The same program; every step also takes care of the twins."""
        made = _Watched(self, function)
        blocks = {name: made.block(block, function) for name, block in code.blocks.items()}
        return Code(blocks[code.entry.name], blocks, code.nesting)


class _Watched:
    def __init__(self, examiner: Examiner, function: Function) -> None:
        self.examiner = examiner
        self.layout = data_layout(examiner.module.datalayout)
        self.maker = Maker(examiner.module, self.layout)
        self.makers = {i.name: i for i in function.instructions() if i.name}

    def block(self, block: PreparedBlock, function: Function) -> PreparedBlock:
        phis = {i.name: i for i in function.block[block.name].phis}
        entries = {
            source: tuple((name, self._entering(phis[name], source, operand)) for name, operand in pairs)
            for source, pairs in block.phis.items()
        }
        steps = tuple(self._step(step) for step in block.steps)
        leave = block.leave

        def left(t: Any) -> str | None:
            _enter(t)
            return leave(t)

        return replace(block, phis=entries, steps=steps, leave=left)

    def _entering(self, phi: Instruction, source: str, operand: Get) -> Get:
        value = next(v for v, label in phi.cases if label == source)
        twin = self.twin(value)

        def enter(t: Any) -> Any:
            t.entering[phi.name] = twin(t)
            return operand(t)

        return enter

    def _step(self, step: Step) -> Step:
        i, run = step.instruction, step.run
        if step.wait:
            return step  # its result has no twin, which is noticed where it is used
        act = self._act(i)
        if act is None:
            return step
        examiner = self.examiner

        def watched(t: Any) -> Any:
            examiner.left -= 1
            if examiner.left < 0:
                raise Stopped("enough was seen")
            _enter(t)
            value = run(t)
            twin = act(t, value)
            if i.name:
                t.twins[i.name] = twin
            return value

        return replace(step, run=watched)

    def _act(self, i: Instruction) -> Callable[[Any, Any], Any] | None:
        """What happens to twins at an instruction: a function of thread and result; None for nothing."""
        operands = tuple(self.twin(o) for o in i.operands)
        if i.opcode in ("load", "store", "atomicrmw", "cmpxchg"):
            return self._memory(i, operands)
        rule = self._rule(i)
        if rule is None:
            return None
        return lambda t, v: rule(t, v, tuple(get(t) for get in operands))

    def _rule(self, i: Instruction) -> follow.Follow | None:
        wanted = self.examiner.wanted
        if not (wanted.floats if isinstance(i.type, FloatType) else wanted.indices):
            return None
        if i.opcode in ("select", "freeze") or i.called.startswith(_CHOICES):
            return follow.chosen(i)
        if i.opcode == "getelementptr":
            return follow.pointer(self.layout, i)
        if i.opcode in ("zext", "sext", "trunc", "fpext", "fptrunc", "uitofp", "sitofp", "bitcast"):
            return follow.cast(i) if isinstance(i.type, IntType | FloatType) else None
        if isinstance(i.type, FloatType):
            return follow.arithmetic(i)
        if isinstance(i.type, IntType) and i.opcode in ("add", "sub", "mul", "shl", "or"):
            return follow.integer(i)
        return None

    def _memory(self, i: Instruction, operands: tuple[Get, ...]) -> Callable[[Any, Any], Any]:
        writes = i.opcode != "load"
        at = operands[1 if i.opcode == "store" else 0]
        value, given = (operands[0], i.operands[0]) if i.opcode == "store" else (operands[-1], i.operands[-1])
        type = i.type if i.opcode == "load" else given.type
        size = self.layout.store_size(type)
        examiner, wanted = self.examiner, self.examiner.wanted

        def act(t: Any, result: Any) -> Any:
            where = at(t)
            if wanted.indices and isinstance(where, Place):
                examiner.accessed(t, i, where, size, writes)
            if not wanted.floats or not isinstance(type, FloatType) or where is None:
                return None
            key = id(where.actual.object), where.actual.offset
            if not writes:
                had = examiner.memory.get(key)
                if belongs(had, result):
                    return had
                examiner.foreign |= not finite(type, result)
                return None
            number = value(t)
            if isinstance(number, Real):
                examiner.stored(t, i, type, number, where.actual)
                if i.opcode == "store":
                    examiner.memory[key] = number
            return None

        return act

    def twin(self, value: Value) -> Get:
        """How the twin of a value is found: a function of a thread."""
        actual = self.maker.operand(value)
        fresh = self._fresh(value)
        if not isinstance(value, Local):
            return lambda t: fresh(t, actual(t))
        name = value.name

        def get(t: Any) -> Any:
            now = t.registers.get(name)
            found = t.twins.get(name)
            return found if belongs(found, now) else fresh(t, now)

        return get

    def _fresh(self, value: Value) -> Callable[[Any, Any], Any]:
        """A twin from nothing but the value."""
        match value.type:
            case IntType(bits) if bits >= LEAST_BITS:
                if isinstance(value, Int):  # `x - 1` is written as x + (2^32 - 1)
                    return lambda t, v: Whole(v, whole(v, bits).low, whole(v, bits).low)
                return lambda t, v: whole(v, bits)
            case IntType(bits):
                return lambda t, v: Whole(v, v, v)
            case PointerType():
                return lambda t, v: place(v) if isinstance(v, Pointer) else None
            case FloatType() as type:
                if isinstance(value, Float):
                    return lambda t, v: self._constant(type, v)
                made = self.makers.get(value.name) if isinstance(value, Local) else None
                if made is not None and is_collective(made.called):
                    return lambda t, v: _shared(t, made, type, v)
                return lambda t, v: real(type, v)
            case _:
                return lambda t, v: None

    def _constant(self, type: FloatType, bits: int) -> Real:
        self.examiner.foreign |= not finite(type, bits)
        return real(type, bits)


def _arguments(module: Module) -> dict[str, list[Local]]:
    """By the place of code: the floats that come into it from elsewhere, each once.

    Metal's functions have no places of their own: all their code is at the user's call.
    """
    parts: dict[str, list[Instruction]] = {}
    for i in module.function[ENTRY].instructions():
        if i.opcode != "phi":
            parts.setdefault(i.debug, []).append(i)
    found: dict[str, list[Local]] = {}
    for node, code in parts.items():
        own = {i.name for i in code}
        used = (o for i in code for o in i.operands if isinstance(o, Local) and isinstance(o.type, FloatType))
        found[node] = list({o.name: o for o in used if o.name not in own}.values())
    return found


def _shared(t: Any, i: Instruction, type: FloatType, value: int) -> Real:
    """What a SIMD-group computed: who brought an infinity into it is the first to have had one."""
    made = real(type, value)
    if math.isfinite(made.exact):
        return made
    if t.examiner.births:
        return replace(made, birth=t.examiner.births[0])
    if t.examiner.foreign or not ("_sum" in i.called or "_product" in i.called):
        return made
    return replace(made, birth=follow.born(t, i, type, (), made.exact))


def _line(access: Access) -> int:
    return access.location.line if access.location else 0


def _enter(t: Any) -> None:
    if t.entering:
        t.twins.update(t.entering)
        t.entering.clear()


def _operation(i: Instruction) -> str:
    """A short name for what made it."""
    names = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "fptrunc": "conversion"}
    if i.opcode == "call":
        return short(i.called.removeprefix("llvm.")).split(".")[0]
    return names.get(i.opcode, i.opcode)


def _inside(target: Object, offset: int, size: int) -> bool:
    return offset >= 0 and offset + size <= target.size


def _load(pointer: Pointer, size: int) -> int:
    return int.from_bytes(_load_bytes(pointer, size), "little")


def _store(pointer: Pointer, size: int, value: int) -> None:
    _store_bytes(pointer, value.to_bytes(size, "little"))


def _load_bytes(pointer: Pointer, size: int) -> bytes:
    target, offset = pointer.object, pointer.offset
    return bytes(target.data[offset : offset + size]) if _inside(target, offset, size) else bytes(size)


def _store_bytes(pointer: Pointer, data: bytes) -> None:
    target, offset = pointer.object, pointer.offset
    if _inside(target, offset, len(data)) and not target.constant and not target.data.readonly:
        target.data[offset : offset + len(data)] = data
