"""Where a zero comes from: the way of a stored value, walked back through the thread that stored it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metalloid.backends.base import Launch, Triple
from metalloid.backends.interpret import Did, trace
from metalloid.checker.case import Case
from metalloid.ir.debug import Location
from metalloid.ir.floats import to_float
from metalloid.ir.intrinsics import is_ours, short
from metalloid.ir.module import Instruction
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Float, Int, Local, Value

_CASTS = (
    "trunc",
    "zext",
    "sext",
    "fptrunc",
    "fpext",
    "fptoui",
    "fptosi",
    "uitofp",
    "sitofp",
    "bitcast",
    "freeze",
)
_FACTORS = ("fmul", "mul", "and", "shl", "lshr", "ashr", "sdiv", "udiv", "fdiv", "srem", "urem")
_WORDS = {
    **dict.fromkeys(("fmul", "mul"), "*"),
    **dict.fromkeys(("fadd", "add"), "+"),
    **dict.fromkeys(("fsub", "sub"), "-"),
    **dict.fromkeys(("fdiv", "sdiv", "udiv"), "/"),
    **dict.fromkeys(("srem", "urem", "frem"), "%"),
    "shl": "<<",
    "lshr": ">>",
    "ashr": ">>",
    "and": "&",
    "or": "|",
    "xor": "^",
}
_MOST_STEPS = 10_000
CONSTANT = "the value is the constant 0 from the start, and nothing was added to it"


@dataclass(frozen=True)
class Origin:
    """In words, and the place where it happens."""

    words: str
    location: Location | None = None


def of_zero(case: Case, launch: Launch, thread: Triple, index: int, element: int, size: int) -> Origin | None:
    """Why the thread stored 0 in this element of the buffer at `index`; None where that cannot be told.

    `launch` has buffers that may be changed.
    """
    log = trace(case.code.module, launch, thread)
    first, last = element * size, (element + 1) * size
    for at in range(len(log) - 1, -1, -1):
        did = log[at]
        if not did.name and did.pointer and did.pointer.object.index == index:
            inside = first <= did.pointer.offset < last
            if inside and did.instruction is not None and did.instruction.opcode == "store":
                return _Walk(case, log).back(did.instruction.operands[0], at, did.instruction)
    return None


class _Walk:
    def __init__(self, case: Case, log: list[Did]) -> None:
        self.case, self.log = case, log
        self.made: dict[str, list[int]] = {}
        for at, did in enumerate(log):
            if did.name:
                self.made.setdefault(did.name, []).append(at)
        self.block_of = {id(b.terminator): b.name for b in case.code.function.blocks}

    def back(self, value: Value, before: int, user: Instruction) -> Origin:
        """From a value that is zero to where it became so."""
        for _ in range(_MOST_STEPS):
            place = self.case.code.location(user)
            if not isinstance(value, Local):
                return Origin(CONSTANT, place)
            at = self._made_before(value.name, before)
            made = self.case.code.defined.get(value.name)
            if at < 0 or made is None:
                return Origin("the value is 0", place)
            step = self._step(made, self.log[at], at)
            if isinstance(step, Origin):
                return step
            value, before = step, at
            if made.opcode != "phi":  # a phi stands where ways meet, not where something is computed
                user = made
        return Origin("the value is 0")

    def _step(self, made: Instruction, did: Did, at: int) -> Value | Origin:
        place = self.case.code.location(made)
        if made.opcode == "phi":
            label = self._came_from(did)
            return next((v for v, name in made.cases if name == label), made.operands[0])
        if made.opcode == "load":
            return Origin(self._loaded(made, did), place)
        if made.opcode == "select":
            chosen = made.operands[1] if self._value(made.operands[0], at) else made.operands[2]
            if not isinstance(chosen, Local):  # also what the compiler makes of 1 / n in whole numbers
                return Origin("a condition, or a division in whole numbers, gives 0 here", place)
            return chosen
        zero = [o for o in made.operands if _is_zero(o, self._value(o, at))]
        if is_ours(made.called):
            name = short(made.called).rsplit("_", 1)[0]
            return zero[0] if zero else Origin(f"{name} gives 0", place)
        if made.opcode in _CASTS:
            said = f"{self._shown(made.operands[0], at)} becomes 0 when it is converted to {made.type}"
            return made.operands[0] if zero else Origin(said, place)
        if made.opcode in _FACTORS and zero:
            return next((o for o in zero if isinstance(o, Local)), zero[0])
        if made.called.startswith(("llvm.fma.", "llvm.fmuladd")) and zero:
            return next((o for o in zero if o is not made.operands[2]), zero[0])
        if zero and len(zero) == len(made.operands):  # what was made last says more than the start of a sum
            return max(zero, key=lambda o: self._made_before(o.name, at) if isinstance(o, Local) else -2)
        return Origin(self._computed(made, at), place)

    def _computed(self, made: Instruction, at: int) -> str:
        sign = _WORDS.get(made.opcode)
        values = [self._shown(o, at) for o in made.operands]
        if sign and len(values) == 2:
            whole = " in whole numbers" if sign == "/" and isinstance(made.type, IntType) else ""
            return f"{values[0]} {sign} {values[1]} is 0{whole}"
        if made.opcode in ("icmp", "fcmp"):  # also what the compiler makes of a division by a variable
            return f"what is computed from {' and '.join(values)}, a condition or a division in whole numbers, is 0"
        name = made.called.removeprefix("llvm.").split(".")[0] or made.opcode
        return f"{name}({', '.join(values)}) is 0"

    def _loaded(self, made: Instruction, did: Did) -> str:
        pointer = did.pointer
        memory = pointer.object.memory if pointer else None
        if pointer is None or memory is None:
            return "a value that was read is 0"
        name = self.case.called(memory)
        each = self.case.element_size(memory) or max(1, memory.bytes and 4)
        element = pointer.offset // each
        if not 0 <= pointer.offset < pointer.object.size:
            return f"{name} was read outside (element {element}), which gives 0"
        if memory.kind == "buffer":
            data = np.frombuffer(pointer.object.data, np.uint8)
            every = "; every element of it is 0" if not data.any() else ""
            return f"{name} holds 0 at element {element}{every}"
        words = "threadgroup memory " if memory.kind in ("threadgroup", "variable") else ""
        return f"{words}{name} holds 0 at element {element}"

    def _came_from(self, did: Did) -> str:
        return self.block_of.get(id(did.instruction), "") if did.instruction is not None else ""

    def _made_before(self, name: str, before: int) -> int:
        return next((at for at in reversed(self.made.get(name, ())) if at < before), -1)

    def _value(self, value: Value, before: int) -> Any:
        if isinstance(value, Local):
            at = self._made_before(value.name, before)
            return self.log[at].value if at >= 0 else None
        return value.bits if isinstance(value, Float) else value.value if isinstance(value, Int) else None

    def _shown(self, value: Value, before: int) -> str:
        found = self._value(value, before)
        if isinstance(value.type, FloatType) and isinstance(found, int):
            return f"{to_float(value.type, found):g}"
        if isinstance(value.type, IntType) and isinstance(found, int):
            half = 1 << value.type.bits - 1
            return str(found - 2 * half if found >= half > 1 else found)
        return "a value"


def _is_zero(value: Value, found: Any) -> bool:
    if not isinstance(found, int):
        return False
    sign = 1 << value.type.bits - 1 if isinstance(value.type, FloatType) else 0
    return found in (0, sign) if sign else found == 0
