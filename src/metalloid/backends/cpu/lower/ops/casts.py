"""Casts between integers, floats and pointers."""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.pointers import absolute
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops.bfloat import (
    int_to_bfloat,
    is_bfloat,
    narrow_bfloat,
    odd_float,
    widen_bfloat,
)
from metalloid.backends.cpu.lower.ops.nibble_to_float import looked_up, masked
from metalloid.backends.cpu.lower.results import SHORT, affine, result, typed, varies
from metalloid.errors import NotVectorised
from metalloid.ir import Instruction
from metalloid.ir.types import Type


def cast(e: Emitter, i: Instruction) -> None:
    shape = e.shape(i.value)
    if e.width > 1 and shape is not None and shape.terms:
        affine(e, i, _cast_base(e, i), lambda: _convert(e, i, True))
        return
    vector = varies(e, i)
    result(e, i, vector, _convert(e, i, vector))


def _cast_base(e: Emitter, i: Instruction) -> str:
    made = e.get(i.operands[0])
    source, target = made.type, lowered(i.type)
    if source == target:
        assert made.base is not None
        return made.base
    shape, before = e.shape(i.value), e.shape(i.operands[0])
    assert shape is not None and before is not None
    if i.opcode == "zext" and not shape.exact and before.exact:
        # Lanes may wrap round the 2^32: then the base is taken as the small negative number it stands for.
        low, high = (
            e.put(f"sext {source} {made.base} to {target}"),
            e.put(f"zext {source} {made.base} to {target}"),
        )
        top = _upper(e, made, target)
        end = e.put(f"add {target} {high}, {top}")
        wraps = e.put(f"icmp ugt {target} {end}, {(1 << int(source[1:])) - 1}")
        return e.put(f"select i1 {wraps}, {target} {low}, {target} {high}", "b")
    return e.put(f"{i.opcode} {source} {made.base} to {target}", "b")


def _upper(e: Emitter, made: Val, target: str) -> str:
    """How far the highest lane lies above the base."""
    total = "0"
    for coefficient, pattern in made.terms:
        if coefficient:
            scalar = e.coefficient(coefficient, target)
            high = e.put(f"mul {target} {scalar}, {max(pattern)}")
            low = e.put(f"mul {target} {scalar}, {min(pattern)}")
            more = e.put(f"icmp sgt {target} {high}, {low}")
            part = e.put(f"select i1 {more}, {target} {high}, {target} {low}")
        else:
            part = str(max(pattern))
        total = part if total == "0" else e.put(f"add {target} {total}, {part}")
    return total


def _convert(e: Emitter, i: Instruction, vector: bool) -> str:
    value = i.operands[0]
    source, target = value.type, i.type
    if i.opcode in ("ptrtoint", "ptrtoaddr"):
        return _resize(e, absolute(e, value, vector), "i64", lowered(target), vector)
    ref = e.ref(value, vector)
    a, b = typed(e, lowered(source), vector), typed(e, lowered(target), vector)
    match i.opcode:
        case "inttoptr":
            return _resize(e, ref, lowered(source), "i64", vector)
        case "trunc" | "zext" | "sext":
            return e.put(f"{i.opcode} {a} {ref} to {b}")
        case "bitcast":
            return ref if a == b else e.put(f"bitcast {a} {ref} to {b}")
        case "addrspacecast":
            return ref
        case "fptosi" | "fptoui":
            if is_bfloat(source):
                ref, a = widen_bfloat(e, ref, vector), typed(e, "float", vector)
            real = "float" if is_bfloat(source) else lowered(source)
            return _to_int(e, i.opcode, real, lowered(target), ref, vector)
        case "fpext" | "fptrunc":
            return _refloat(e, ref, source, target, vector)
        case "uitofp" | "sitofp":
            if is_bfloat(target):
                return int_to_bfloat(e, i.opcode, ref, lowered(source), vector)
            if vector and (digit := masked(e, i)):
                return looked_up(e, digit)
            return e.put(f"{i.opcode} {a} {ref} to {b}")
    raise NotVectorised(f"[engine] {i.opcode} is not supported")


def _resize(e: Emitter, ref: str, source: str, target: str, vector: bool) -> str:
    have, want = int(source[1:]), int(target[1:])
    if have == want:
        return ref
    return e.put(
        f"{'zext' if have < want else 'trunc'} {typed(e, source, vector)} {ref} to {typed(e, target, vector)}"
    )


def _to_int(e: Emitter, opcode: str, source: str, target: str, ref: str, vector: bool) -> str:
    n = f"v{e.width}" if vector else ""
    short = SHORT[source]
    a, b = typed(e, source, vector), typed(e, target, vector)
    name = f"llvm.{opcode}.sat.{n}{target}.{n}{short}"
    e.out.declare(name, f"declare {b} @{name}({a})")
    return e.put(f"call {b} @{name}({a} {ref})")


def _refloat(e: Emitter, ref: str, source: Type, target: Type, vector: bool) -> str:
    if is_bfloat(source):
        wide = widen_bfloat(e, ref, vector)
        return (
            wide
            if str(target) == "float"
            else e.put(
                f"{'fptrunc' if str(target) == 'half' else 'fpext'} {typed(e, 'float', vector)} {wide}"
                f" to {typed(e, lowered(target), vector)}"
            )
        )
    if is_bfloat(target):
        if str(source) == "half":
            ref = e.put(f"fpext {typed(e, 'half', vector)} {ref} to {typed(e, 'float', vector)}")
        elif str(source) == "double":
            ref = odd_float(e, ref, vector)
        return narrow_bfloat(e, ref, vector)
    opcode = "fpext" if target.bits > source.bits else "fptrunc"  # type: ignore[union-attr]
    return e.put(f"{opcode} {typed(e, lowered(source), vector)} {ref} to {typed(e, lowered(target), vector)}")
