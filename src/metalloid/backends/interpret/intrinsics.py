"""Calls: `llvm.*`, and the `__mt_*` intrinsics that a thread can do alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from metalloid.backends.base import LogMessage
from metalloid.backends.interpret import maths, numbers
from metalloid.backends.interpret.instructions import Maker, Run
from metalloid.backends.interpret.memory import text_at
from metalloid.backends.interpret.positions import POSITIONS
from metalloid.errors import DeviceError
from metalloid.ir import intrinsics as table
from metalloid.ir.floats import to_float
from metalloid.ir.module import Instruction
from metalloid.ir.types import FLOAT, IntType

_TYPES = re.compile(r"(\.(v\d+)?([if]\d+|bf16|p\d+|sl_.*))+$")


def waiting(name: str) -> str:
    """What a call waits for: "barrier", "simd" or nothing."""
    found = table.intrinsic(name)
    return {"threadgroup": "barrier", "simdgroup": "simd"}.get(found.among, "") if found else ""


def intrinsic(maker: Maker, i: Instruction) -> Run:
    """The meaning of a call that needs no other thread."""
    name = i.called
    operands = tuple(maker.operand(o) for o in i.operands)
    if name.startswith("llvm."):
        return _llvm(i, _TYPES.sub("", name.removeprefix("llvm.")), operands)
    short = table.short(name)
    if short in POSITIONS:
        position, axis = POSITIONS[short], operands[0]
        return lambda t: numbers.wrap(position(t, axis(t)), 32)
    if short in OWN:
        run = OWN[short]
        return lambda t: run(t, *(o(t) for o in operands))
    raise DeviceError(f"[interpret] the kernel calls '{name}', which is no intrinsic")


def _llvm(i: Instruction, name: str, operands: tuple[Run, ...]) -> Run:
    if name in NOTHING:
        return lambda t: None
    if name in MEMORY:
        memory = MEMORY[name]
        return lambda t: memory(t, *(o(t) for o in operands[:3]))
    if name == "ldexp" and isinstance(i.operands[1].type, IntType):
        width = i.operands[1].type.bits
        value, power = operands
        compute = maths.function(name, i.operands[0].type, i.type)
        assert compute is not None
        return lambda t: compute(value(t), numbers.wrap(numbers.signed(power(t), width), 32))
    meaning = maths.function(name, i.operands[0].type, i.type) if i.operands else None
    if meaning is None:
        raise DeviceError(f"[interpret] the kernel calls '{i.called}', which the oracle does not know")
    return lambda t: meaning(*(o(t) for o in operands))


# Hints and marks that change nothing.
NOTHING = frozenset(
    ("assume", "lifetime.start", "lifetime.end", "experimental.noalias.scope.decl", "donothing", "sideeffect")
)


def _copy(t: Any, target: Any, source: Any, size: int) -> None:
    if size:
        t.store_bytes(target, t.load_bytes(source, size))


def _fill(t: Any, target: Any, value: int, size: int) -> None:
    if size:
        t.store_bytes(target, bytes([value]) * size)


MEMORY: dict[str, Callable[..., None]] = {
    "memcpy": _copy,
    "memcpy.inline": _copy,
    "memmove": _copy,
    "memset": _fill,
    "memset.inline": _fill,
}


def _log_begin(t: Any, format: Any, level: int) -> None:
    t.log = [text_at(format), level]


def _log_end(t: Any) -> None:
    format, level, *arguments = t.log
    t.messages.append(LogMessage(format, level, tuple(arguments), t.position))


OWN: dict[str, Callable[..., Any]] = {
    "buffer": lambda t, index: t.buffer(index),
    "threadgroup": lambda t, index: t.threadgroup_memory(index),
    "fence": lambda t, flags, order, scope: t.fence(flags, order, scope),
    "log_begin": _log_begin,
    "log_i32": lambda t, value: t.log.append(numbers.signed(value, 32)),
    "log_i64": lambda t, value: t.log.append(numbers.signed(value, 64)),
    "log_f32": lambda t, bits: t.log.append(to_float(FLOAT, bits)),
    "log_end": _log_end,
    "check_bounds": lambda t, size, index: t.left_array(numbers.signed(size, 32), numbers.signed(index, 64)),
}
