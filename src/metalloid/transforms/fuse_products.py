"""Fuse products with the sums they go into, where the author's math mode allows it:  a * b + c  becomes  fma(a, b, c).

LLVM's code generator does that too, but only with optimisation, and what it fuses depends on the passes before it. Done
here, a kernel's results have the same bits whichever tier its code is of: what is left to LLVM, it may not do
(`codegen.as_written`). The same goes for divisions by one number, which become one, and products.
"""

from __future__ import annotations

from collections import Counter

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import FLOAT, HALF, PTR, FloatType
from metalloid.ir.values import Global, Local, Value, const
from metalloid.records import replace

_SHORT = {32: "f32", 16: "f16"}


def fuse_products(function: Function) -> Function:
    """Products that one sum of the same block uses, and nobody else; none of bfloat, which is computed in float."""
    if all(i.opcode not in ("fmul", "fdiv") for i in function.instructions()):
        return function
    uses = Counter(name for i in function.instructions() for name in i.uses)
    return function.with_blocks(tuple(_fused(_reciprocals(block), uses) for block in function.blocks))


def _reciprocals(block: Block) -> Block:
    """Quotients by one divisor become products with its reciprocal, where there are several."""
    divisors = Counter(i.operands[1] for i in block.instructions if _may_invert(i))
    made: dict[Value, Value] = {}
    code: list[Instruction] = []
    for i in block.instructions:
        divisor = i.operands[1] if _may_invert(i) else None
        if divisor is None or divisors[divisor] < 2:
            code.append(i)
            continue
        if divisor not in made:
            one = const(i.type, 1.0)
            code.append(
                Instruction("fdiv", i.type, (one, divisor), f"{i.name}.one", i.flags, metadata=i.debug_only)
            )
            made[divisor] = code[-1].value
        code.append(replace(i, opcode="fmul", operands=(i.operands[0], made[divisor])))
    return block.with_code(tuple(code))


def _may_invert(i: Instruction) -> bool:
    return i.opcode == "fdiv" and i.type in (FLOAT, HALF) and bool({"arcp", "fast"} & {*i.flags})


def _fused(block: Block, uses: Counter[str]) -> Block:
    products = {
        i.name: i for i in block.instructions if i.opcode == "fmul" and _may_fuse(i) and uses[i.name] == 1
    }
    if not products:
        return block
    gone: set[str] = set()
    code: list[Instruction] = []
    for i in block.instructions:
        made = _sum(i, products) if i.opcode in ("fadd", "fsub") and _may_fuse(i) else None
        if made is None:
            code.append(i)
        else:
            product, instructions = made
            gone.add(product)
            code += instructions
    return replace(block, instructions=tuple(i for i in code if i.name not in gone))


def _may_fuse(i: Instruction) -> bool:
    return i.type in (FLOAT, HALF) and bool({"contract", "fast"} & {*i.flags})


def _sum(i: Instruction, products: dict[str, Instruction]) -> tuple[str, list[Instruction]] | None:
    """The product that goes into a sum, and the code for both; x - a * b is fma(-a, b, x), a * b - x fma(a, b, -x)."""
    for position, operand in enumerate(i.operands):
        product = products.get(operand.name) if isinstance(operand, Local) else None
        if product is None:
            continue
        (a, b), c = product.operands, i.operands[1 - position]
        code: list[Instruction] = []
        if i.opcode == "fsub":
            negated = _negated(i, c if position == 0 else a)
            code.append(negated)
            a, c = (a, negated.value) if position == 0 else (negated.value, c)
        return product.name, [*code, _fma(i, a, b, c)]
    return None


def _negated(i: Instruction, value: Value) -> Instruction:
    return Instruction("fneg", i.type, (value,), f"{i.name}.negated", i.flags, metadata=i.debug_only)


def _fma(i: Instruction, a: Value, b: Value, c: Value) -> Instruction:
    assert isinstance(i.type, FloatType)
    callee = Global(f"llvm.fma.{_SHORT[i.type.bits]}", PTR)
    return Instruction("call", i.type, (a, b, c), i.name, i.flags, callee=callee, metadata=i.debug_only)
