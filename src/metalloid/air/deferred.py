"""Sizes that Apple's compiler leaves to whoever knows the layout: those of tensors in a kernel's own memory.

Such a variable is `alloca i8, i64 %size`, and %size what a small function without parameters returns: it is worked out
here, since the variable must have a size before anything is optimised.
"""

from __future__ import annotations

from metalloid.ir.module import Function, Instruction, Module
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value

SIMD_WIDTH = 32
_SIDE, _HELD = 16, 8  # of a fragment, and elements of it in a lane: metalloid/tensor_fragments.h
_DEEPEST = 16  # functions that call each other
_SIZE_OF_MATRIX = "__tensorops_impl_matmul2d_op_cooperative_tensor_data_size"
_SIZE_OF_TENSOR = "air.get_descriptor_size_tensor"
_SAME = ("trunc", "zext", "sext", "bitcast", "freeze")


def number(module: Module, function: Function, value: Value, depth: int = 0) -> int | None:
    """What a value is, where that can be told without running anything."""
    if isinstance(value, Int):
        return value.value
    if not isinstance(value, Local) or depth > _DEEPEST:
        return None
    made = function.definitions.get(value.name)
    if made is None:
        return None
    if made.opcode in _SAME:
        return number(module, function, made.operands[0], depth + 1)
    if made.opcode in ("mul", "add", "shl"):
        return _arithmetic(module, function, made, depth)
    return _called(module, function, made, depth) if made.opcode == "call" else None


def _arithmetic(module: Module, function: Function, made: Instruction, depth: int) -> int | None:
    left, right = (number(module, function, o, depth + 1) for o in made.operands)
    if (
        left is None
        or right is None
        or not isinstance(made.type, IntType)
        or (made.opcode == "shl" and right > 63)
    ):
        return None
    result = {"mul": left * right, "add": left + right, "shl": left << right if made.opcode == "shl" else 0}[
        made.opcode
    ]
    return result & ((1 << made.type.bits) - 1)


def _called(module: Module, function: Function, made: Instruction, depth: int) -> int | None:
    if made.called.startswith("air.get_simdgroup_size."):
        return SIMD_WIDTH
    given = [number(module, function, o, depth + 1) for o in made.operands]
    if made.called == _SIZE_OF_TENSOR:
        return None if given[0] is None else 16 + 16 * given[0]
    if made.called == _SIZE_OF_MATRIX:
        numbers = [g for g in given if g is not None]
        return _size_of_matrix(*numbers) if len(numbers) == 12 else None
    callee = module.function.get(made.called)
    if callee is None or len(callee.blocks) != 1 or made.operands:
        return None
    last = callee.entry.terminator
    return number(module, callee, last.operands[0], depth + 1) if last.operands else None


def _size_of_matrix(
    operand: int,
    m: int,
    n: int,
    k: int,
    ta: int,
    tb: int,
    _r: int,
    _mode: int,
    left: int,
    right: int,
    result: int,
    threads: int,
) -> int | None:
    """Bytes that a lane holds of an operand, as metalloid/tensor_fragments.h lays it out."""
    shapes = {0: (k, m) if ta else (m, k), 1: (n, k) if tb else (k, n), 2: (m, n)}
    if operand not in shapes:
        return None
    rows, columns = shapes[operand]
    fragments = -(-rows // _SIDE) * -(-columns // _SIDE)
    each = -(-fragments // max(1, threads // SIMD_WIDTH))
    return each * _HELD * ((left, right, result)[operand] & 255) // 8
