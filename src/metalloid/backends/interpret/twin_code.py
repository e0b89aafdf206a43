"""A program that keeps twins: each of its steps runs as before, then brings the twin of its result.

A twin is found by the name of its value, and counts only while it belongs to the value that is there: what nobody
followed starts over from the value itself. What is worth a note goes to the examiner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from metalloid.backends.interpret import follow
from metalloid.backends.interpret.examiner import Examiner
from metalloid.backends.interpret.instructions import Maker
from metalloid.backends.interpret.memory import Pointer
from metalloid.backends.interpret.program import Code, PreparedBlock, Step, Stopped
from metalloid.backends.interpret.twins import Place, Real, Whole, belongs, finite, place, real, whole
from metalloid.ir.intrinsics import is_collective
from metalloid.ir.layout import data_layout
from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import FloatType, IntType, PointerType
from metalloid.ir.values import Float, Int, Local, Value

LEAST_BITS = 16  # of integers that are followed
_CHOICES = ("llvm.smin", "llvm.smax", "llvm.umin", "llvm.umax")

Get = Callable[[Any], Any]


def with_twins(code: Code, function: Function, examiner: Examiner) -> Code:
    """The same program; every step also takes care of the twins."""
    made = _Watched(examiner, function)
    blocks = {name: made.block(block, function) for name, block in code.blocks.items()}
    return Code(blocks[code.entry.name], blocks, code.nesting)


class _Watched:
    """Makes the steps of one function anew, around the ones that were there."""

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
                examiner.loaded |= not finite(type, result)
                examiner.foreign |= examiner.loaded
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


def _enter(t: Any) -> None:
    if t.entering:
        t.twins.update(t.entering)
        t.entering.clear()
