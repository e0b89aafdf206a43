"""Functions of fast math that a GPU has an instruction for.

The front end writes them out, the same for every device. `fast::exp(x)` is 2^y with y = x * log2(e), a polynomial and a
scale; `fast::rsqrt(x)` is 1 / sqrt(x); `fast::log(x)` is a polynomial near 1. All may be off by more than the
instructions are: docs/design/nvidia.md has what was measured, over all floats. What the user wrote himself carries
fast-math flags there, and is left to LLVM.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalloid.ir import Function, Instruction, Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.types import FLOAT
from metalloid.ir.values import Float, Local, Value

_LOG2E = 1.44269502162933349609375
_LN2 = 0.693147182464599609375
_SHIFT = 12582912.0  # added to a number it leaves its nearest integer in the last bits
_RELAXED = '"no-signed-zeros-fp-math"="true"'


@dataclass(frozen=True)
class FastForm:
    """A function of the device runtime, and what it is given."""

    function: str
    of: tuple[Value, ...]


def relaxed(module: Module) -> bool:
    """Whether a kernel is compiled with relaxed or fast math."""
    return _RELAXED in " ".join([module.function[ENTRY].suffix, *module.attributes.values()])


def fast_forms(module: Module) -> dict[str, FastForm]:
    """By the name of the result; none where the kernel is compiled with safe math."""
    function = module.function[ENTRY]
    if not relaxed(module):
        return {}
    found: dict[str, FastForm] = {}
    for i in function.instructions():
        form = _exp(function, i) or _rsqrt(function, i) or _divided(i) or _log(function, i)
        if form is not None:
            found[i.name] = form
    return found


def _made(function: Function, value: Value) -> Instruction | None:
    return function.definitions.get(value.name) if isinstance(value, Local) else None


def _is(value: Value, number: float) -> bool:
    return isinstance(value, Float) and value.value == number


def _rsqrt(function: Function, i: Instruction) -> FastForm | None:
    if i.opcode != "fdiv" or i.flags or not _is(i.operands[0], 1.0):
        return None
    root = _made(function, i.operands[1])
    if root is None or root.called != "llvm.sqrt.f32" or root.flags:
        return None
    return FastForm("mtd_rsqrt", root.operands)


def _divided(i: Instruction) -> FastForm | None:
    """A division that may be off by 2.5 ulp; a reciprocal is left to LLVM, which has the instruction for it."""
    if i.opcode != "fdiv" or i.type != FLOAT or "afn" not in i.flags or _is(i.operands[0], 1.0):
        return None
    return FastForm("mtd_divided", i.operands)


def _exp(function: Function, i: Instruction) -> FastForm | None:
    """ldexp(polynomial(y - round(y)), round(y)), where y is a clamped x * log2(e)."""
    if i.called != "llvm.ldexp.f32.i64":
        return None
    power = _rounded(function, i.operands[1])
    if power is None or _argument(function, i.operands[0], power) is None:
        return None
    product = _unclamped(function, power)
    if product is None or product.opcode != "fmul" or product.flags:
        return None
    # The instruction gives 0 and infinity itself, where the polynomial needs its argument within limits.
    return FastForm("mtd_exp2", (product.value,)) if any(_is(o, _LOG2E) for o in product.operands) else None


def _log(function: Function, i: Instruction) -> FastForm | None:
    """log_edges(x, fused(e, ln 2, ...)), where x is (1 + f) * 2^e. Near 1, log2 must be closer than the instruction."""
    if i.opcode != "select" or i.type != FLOAT:
        return None
    above, inner = _made(function, i.operands[0]), _made(function, i.operands[1])
    if above is None or above.opcode != "fcmp" or above.predicate != "ogt" or not _is(above.operands[1], 0.0):
        return None
    x = above.operands[0]
    if inner is None or inner.opcode != "select" or inner.operands[2] != x:
        return None
    if (wide := _made(function, x)) is not None and wide.opcode == "fpext":
        return None
    last = _made(function, inner.operands[1])
    if last is None or last.called != "llvm.fma.f32":
        return None
    power = _made(function, last.operands[0])
    if power is None or power.opcode != "sitofp" or not _is(last.operands[1], _LN2):
        return None
    return FastForm("mtd_fast_log", (x,))


def _rounded(function: Function, value: Value) -> Value | None:
    """The y of an integer that is round(y)."""
    for opcode in ("sext", "add", "bitcast", "fadd"):
        made = _made(function, value)
        if made is None or made.opcode != opcode:
            return None
        value = made.operands[0]
        if opcode == "fadd":
            return value if _is(made.operands[1], _SHIFT) else None
    return None


def _argument(function: Function, value: Value, power: Value) -> Value | None:
    """The y - round(y) of a polynomial in it that is 1 at 0."""
    last = _made(function, value)
    if last is None or last.called != "llvm.fma.f32" or not _is(last.operands[2], 1.0):
        return None
    rest = _made(function, last.operands[0])
    return (
        last.operands[0] if rest is not None and rest.opcode == "fsub" and rest.operands[0] == power else None
    )


def _unclamped(function: Function, value: Value) -> Instruction | None:
    made = _made(function, value)
    for _ in range(2):
        if made is None or made.opcode != "select":
            return made
        inner = [o for o in made.operands[1:] if isinstance(o, Local)]
        made = _made(function, inner[0]) if len(inner) == 1 else None
    return made
