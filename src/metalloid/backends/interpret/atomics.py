"""Atomic instructions and allocas.

Threads change places only where they wait, so an atomic needs no care here:
it is a load, a computation and a store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metalloid.backends.base import MOST_PRIVATE
from metalloid.backends.interpret import maths, numbers
from metalloid.backends.interpret.accesses import loader, storer
from metalloid.backends.interpret.instructions import Maker, Run
from metalloid.backends.interpret.memory import Object, Pointer
from metalloid.backends.observe import Memory
from metalloid.errors import DeviceError
from metalloid.ir.floats import to_bits, to_float
from metalloid.ir.module import Instruction
from metalloid.ir.types import FloatType, IntType, Type

INTEGER: dict[str, Callable[[int, int, int], int]] = {  # old, operand, bits; to be wrapped
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "and": lambda a, b, bits: a & b,
    "nand": lambda a, b, bits: ~(a & b),
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "max": lambda a, b, bits: max(numbers.signed(a, bits), numbers.signed(b, bits)),
    "min": lambda a, b, bits: min(numbers.signed(a, bits), numbers.signed(b, bits)),
    "umax": lambda a, b, bits: max(a, b),
    "umin": lambda a, b, bits: min(a, b),
    "uinc_wrap": lambda a, b, bits: 0 if a >= b else a + 1,
    "udec_wrap": lambda a, b, bits: b if a == 0 or a > b else a - 1,
    "usub_cond": lambda a, b, bits: a - b if a >= b else a,
    "usub_sat": lambda a, b, bits: max(0, a - b),
}

FLOATING: dict[str, Callable[[float, float], float]] = {
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmax": maths.BINARY["maxnum"],
    "fmin": maths.BINARY["minnum"],
    "fmaximum": maths.BINARY["maximum"],
    "fminimum": maths.BINARY["minimum"],
}


def _change(operation: str, type: Type) -> Callable[[Any, Any], Any]:
    """What an atomicrmw makes of the old value and its operand."""
    if operation == "xchg":
        return lambda old, new: new
    if isinstance(type, IntType) and operation in INTEGER:
        integer, bits = INTEGER[operation], type.bits
        return lambda old, new: numbers.wrap(integer(old, new, bits), bits)
    if isinstance(type, FloatType) and operation in FLOATING:
        floating = FLOATING[operation]
        return lambda old, new: to_bits(type, floating(to_float(type, old), to_float(type, new)))
    raise DeviceError(f"[interpret] atomicrmw {operation} of {type} is not supported")


def _atomicrmw(maker: Maker, i: Instruction) -> Run:
    pointer, operand = (maker.operand(o) for o in i.operands)
    read, write, change = (
        loader(maker.layout, i.type),
        storer(maker.layout, i.type),
        _change(i.predicate, i.type),
    )
    size = maker.layout.store_size(i.type)

    def run(t: Any) -> Any:
        target = pointer(t)
        t.aligned(target, size, True)
        old = read(t, target)
        write(t, target, change(old, operand(t)))
        return old

    return run


def _cmpxchg(maker: Maker, i: Instruction) -> Run:
    pointer, expected, new = (maker.operand(o) for o in i.operands)
    type = i.operands[2].type
    read, write = loader(maker.layout, type), storer(maker.layout, type)
    size = maker.layout.store_size(type)

    def run(t: Any) -> tuple[Any, int]:
        target = pointer(t)
        t.aligned(target, size, True)
        old = read(t, target)
        same = old == expected(t)
        write(t, target, new(t) if same else old)
        return old, int(same)

    return run


def _fence(maker: Maker, i: Instruction) -> Run:
    return lambda t: None


def _alloca(maker: Maker, i: Instruction) -> Run:
    assert i.element is not None
    size, count = maker.layout.size(i.element), maker.operand(i.operands[0])
    label = f"private variable '{i.name}'"

    def run(t: Any) -> Pointer:
        room = size * count(t)
        if room > MOST_PRIVATE:
            raise DeviceError(
                f"[interpret] {label} takes {room} bytes for each thread; {MOST_PRIVATE} are the most"
            )
        what = Memory("private", name=i.name, bytes=room)
        made = Object(label, memoryview(bytearray(room)), memory=what)
        return Pointer(t.private.add(made))

    return run


ATOMIC_MAKERS: dict[str, Callable[[Maker, Instruction], Run]] = {
    "atomicrmw": _atomicrmw,
    "cmpxchg": _cmpxchg,
    "fence": _fence,
    "alloca": _alloca,
}
