"""Calls: of LLVM's own functions, of AIR's, and of functions that Apple's compiler left uninlined."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from metalloid.air import shapes
from metalloid.air.intrinsics import known, symbol
from metalloid.air.lowering import Lowering, lane
from metalloid.air.matrices import MATRICES
from metalloid.air.refused import Refused
from metalloid.air.tensors import is_tensor_operation
from metalloid.ir.module import CallStyle, Instruction, Module
from metalloid.ir.types import I1, VOID, FloatType, PointerType, VectorType
from metalloid.ir.values import Global, Int, Value

# Hints for an optimiser that has had its turn.
_DROPPED = (
    "llvm.assume",
    "llvm.lifetime.",
    "llvm.dbg.",
    "llvm.experimental.noalias.scope.decl",
    "llvm.invariant.",
    "llvm.prefetch",
)
_MEMORY = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")
_VECTOR = re.compile(r"\.v\d+(?=[a-z])")  # `.v4f32` in a name
_REDUCTIONS = {
    "add": "add",
    "mul": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "fadd": "fadd",
    "fmul": "fmul",
}


def lower_call(work: Lowering, i: Instruction) -> None:
    name = i.called
    if not name:
        raise Refused("it calls a function by its address, which is not supported")
    if name.startswith(_DROPPED):
        return
    if name.startswith(_MEMORY):
        _copy(work, i)
    elif name.startswith("llvm.vector.reduce."):
        _reduce(work, i)
    elif name.startswith("llvm."):
        _each(work, i, _VECTOR.sub(".", name))
    elif name in work.module.function and work.module.function[name].blocks:
        _own(work, i)
    else:
        _intrinsic(work, i)


def refuse_unknown(module: Module) -> None:
    """Name what a kernel calls and nobody knows, before anything else about it is."""
    declared = [f.name for f in module.functions if not f.blocks and not f.name.startswith("llvm.")]
    if unknown := [name for name in declared if not _supported(name)]:
        tensors = [name for name in unknown if name.startswith("__tensorops")]
        raise Refused(f"'{(tensors or unknown)[0]}' is not supported")


def _supported(name: str) -> bool:
    return _family(name) in _SPECIAL | MATRICES or known(_VECTOR.sub(".", name)) or is_tensor_operation(name)


def _family(name: str) -> str:
    return name.removeprefix("air.").split(".")[0].removeprefix("fast_")


def _intrinsic(work: Lowering, i: Instruction) -> None:
    name = i.called
    if handler := (_SPECIAL | MATRICES).get(_family(name)):
        handler(work, i)
        return
    scalar = _VECTOR.sub(".", name)
    if not known(scalar) and not is_tensor_operation(name):
        raise Refused(f"'{name}' is not supported")
    _each(work, i, scalar)


def _each(work: Lowering, i: Instruction, name: str) -> None:
    """Call a function of scalars for every element."""
    target = name if name.startswith("llvm.") else symbol(name)
    widths = {shapes.lanes(t) for t in (i.type, *(o.type for o in i.operands))} - {0}
    if len(widths) > 1:
        raise Refused(f"'{i.called}' takes vectors of different sizes")
    count = widths.pop() if widths else 0
    result = shapes.value(i.type)
    operands = [_elements(work, o, count or 1) for o in i.operands]
    for k in range(count or 1):
        called = "" if result == VOID else lane(i.name, k) if count else i.name
        given = tuple(o[k] for o in operands)
        work.declared.setdefault(target, (result, tuple(o.type for o in given)))
        callee = Global(target, PointerType(0))
        work.emit(Instruction("call", result, given, name=called, callee=callee, flags=i.flags))


def _elements(work: Lowering, value: Value, count: int) -> tuple[Value, ...]:
    """One argument for each call; a pointer beside vectors is to a vector."""
    if count > 1 and isinstance(value.type, PointerType):
        raise Refused("it calls a function with a vector and a pointer, which is not supported")
    return work.each(value, count)


def _copy(work: Lowering, i: Instruction) -> None:
    operands = tuple(work.one(o) for o in i.operands)
    kind = i.called.split(".")[1]
    spaces = "".join(f".p{o.type.space}" for o in operands if isinstance(o.type, PointerType))
    name = f"llvm.{kind}{spaces}.{operands[2].type}"
    words = i.style.argument_attributes
    aligned = tuple(" ".join(re.findall(r"align \d+", w)) for w in words)
    work.declared.setdefault(name, (VOID, tuple(o.type for o in operands)))
    style = CallStyle(argument_attributes=aligned if any(aligned) else ())
    work.emit(replace(i, operands=operands, callee=Global(name, PointerType(0)), style=style))


def _own(work: Lowering, i: Instruction) -> None:
    """A function of the module: vectors go in element by element and come out as arrays."""
    operands = tuple(o for given in i.operands for o in work.each(given, 1))
    style = CallStyle()
    if not isinstance(i.type, VectorType):
        work.emit(replace(i, type=shapes.value(i.type), operands=operands, style=style))
        return
    whole = work.emit(
        replace(i, type=shapes.inside(i.type), operands=operands, style=style, name=work.fresh())
    )
    for k in range(shapes.lanes(i.type)):
        type = shapes.value(i.type)
        work.emit(Instruction("extractvalue", type, (whole,), name=lane(i.name, k), indices=(k,)))


def _reduce(work: Lowering, i: Instruction) -> None:
    operation = i.called.split(".")[3]
    *first, given = i.operands
    elements = list(work.lanes(given))
    total = work.one(first[0]) if first else elements.pop(0)
    for element in elements:
        if operation in _REDUCTIONS:
            total = work.temporary(_REDUCTIONS[operation], total.type, total, element, flags=i.flags)
        else:
            kind = f"f{total.type.bits}" if isinstance(total.type, FloatType) else str(total.type)
            spelled = {"fmax": "maxnum", "fmin": "minnum"}.get(operation, operation)
            total = work.call(f"llvm.{spelled}.{kind}", total.type, total, element)
    work.alias(i.name, total)


def _dot(work: Lowering, i: Instruction) -> None:
    """In float and rounded once, as the header has it."""
    left, right = (work.lanes(o) for o in i.operands)
    float_ = FloatType("float", 32)
    wide = [
        tuple(v if v.type == float_ else work.temporary("fpext", float_, v) for v in side)
        for side in (left, right)
    ]
    total = work.temporary("fmul", float_, wide[0][0], wide[1][0])
    for a, b in zip(wide[0][1:], wide[1][1:], strict=True):
        total = work.call("llvm.fma.f32", float_, a, b, total)
    result = shapes.value(i.type)
    work.alias(i.name, total if result == float_ else work.temporary("fptrunc", result, total))


def _vote(opcode: str) -> Callable[[Lowering, Instruction], None]:
    def lower(work: Lowering, i: Instruction) -> None:
        given = i.operands[0]
        total, *rest = work.each(given, 1)
        for element in rest:
            total = work.temporary(opcode, I1, total, element)
        work.alias(i.name, total)

    return lower


def _uniform(work: Lowering, i: Instruction) -> None:
    """Feeds assumptions only."""
    for k in range(max(1, shapes.lanes(i.type))):
        work.alias(lane(i.name, k) if shapes.lanes(i.type) else i.name, Int(I1, 1))


_SPECIAL: dict[str, Callable[[Lowering, Instruction], None]] = {
    "dot": _dot,
    "all": _vote("and"),
    "any": _vote("or"),
    "is_uniform": _uniform,
}
