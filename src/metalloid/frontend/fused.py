"""Fuse products of vectors with the sums they go into, where both stand in one expression:  a * b + c.

For numbers clang does it (`-ffp-contract=on`), and for vectors Apple's compiler, where they are clang's own. Here they
are classes. `vec.h` marks what may be fused: products, and sums with a temporary (a named product is none). A function
that returns its product gives a temporary as well, so both operators must have been called from one function.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from metalloid.ir.debug import Frame, frames, in_headers
from metalloid.ir.module import Function, Instruction, Module
from metalloid.ir.types import FLOAT, HALF, PTR, FloatType
from metalloid.ir.values import Global, Local, Value

_MARK = ("contract",)  # relaxed and fast math have more flags, and are fused when code is made
_TYPES = (FLOAT, HALF)
_SUMS = frozenset(("fadd", "fsub"))


def fused_products(module: Module) -> Module:
    """The module with one `llvm.fmuladd` for a product and a sum of one expression, and no marks left."""
    marked = [f for f in module.functions if any(map(_marked, f.instructions()))]
    if not marked:
        return module
    for function in marked:
        module = module.with_function(_fused(module, function))
    for type in _TYPES:
        if any(i.called == _name(type) for f in module.functions for i in f.instructions()):
            module = module.declare(_name(type), type, (type,) * 3)
    return module


def _name(type: FloatType) -> str:
    return f"llvm.fmuladd.f{type.bits}"


def _marked(i: Instruction) -> bool:
    return i.flags == _MARK and (i.opcode in _SUMS or i.opcode == "fmul")


def _fused(module: Module, function: Function) -> Function:
    blocks = []
    for block in function.blocks:
        code: list[Instruction] = []
        for i in block.instructions:
            made = _sum(module, function, i) if _marked(i) and i.opcode in _SUMS else []
            code += made or [replace(i, flags=()) if _marked(i) else i]
        blocks.append(replace(block, instructions=tuple(code)))
    return _without_unused(function.with_blocks(tuple(blocks)))


def _sum(module: Module, function: Function, i: Instruction) -> list[Instruction]:
    """The code for a sum with a product in it: x - a * b is fma(-a, b, x), and a * b - x is fma(a, b, -x)."""
    for position, operand in enumerate(i.operands):
        product = function.definitions.get(operand.name) if isinstance(operand, Local) else None
        if product is None or product.opcode != "fmul" or not _marked(product):
            continue
        if not _one_expression(module, product, i):
            continue
        (a, b), c = product.operands, i.operands[1 - position]
        if i.opcode == "fadd":
            return [_fmuladd(i, a, b, c)]
        turned = Instruction(
            "fneg", i.type, (c if position == 0 else a,), f"{i.name}.negated", metadata=i.debug_only
        )
        a, c = (a, turned.value) if position == 0 else (turned.value, c)
        return [turned, _fmuladd(i, a, b, c)]
    return []


def _one_expression(module: Module, product: Instruction, total: Instruction) -> bool:
    """Whether both operators were called by one function, none of the headers'."""
    mine, other = _caller(module, product), _caller(module, total)
    return mine is not None and mine == other


def _caller(module: Module, i: Instruction) -> Frame | None:
    """The function around an operator; LLVM tells no operator of what it made of several."""
    for frame in islice(frames(module, i), 2):
        if not in_headers(frame.file):
            return frame
    return None


def _fmuladd(i: Instruction, a: Value, b: Value, c: Value) -> Instruction:
    assert isinstance(i.type, FloatType)
    callee = Global(_name(i.type), PTR)
    return Instruction("call", i.type, (a, b, c), i.name, callee=callee, metadata=i.debug_only)


def _without_unused(function: Function) -> Function:
    """Less the products that nobody reads any more."""
    blocks = tuple(
        replace(
            block,
            instructions=tuple(
                i for i in block.instructions if i.opcode != "fmul" or function.users.get(i.name)
            ),
        )
        for block in function.blocks
    )
    return function.with_blocks(blocks)
