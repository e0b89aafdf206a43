"""Bring products out of phis:  phi(0, n * y)  becomes  phi(0, n) * y.

LLVM likes to know that `n * y` is 0 where n is 0. To the vectoriser such a phi is a value that differs freely from
lane to lane, where the product of a number that all lanes share and a lane's position is a pattern: the store behind
the loop of a plain matrix product was a scatter because of it.
"""

from __future__ import annotations

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.cfg import graph
from metalloid.ir.dominance import DominatorTree, dominator_tree
from metalloid.ir.intrinsics import VARYING_POSITIONS, short
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import replace


def bring_out(function: Function) -> Function:
    tree = dominator_tree(graph(function))
    blocks = []
    for block in function.blocks:
        phis: list[Instruction] = []
        products: list[Instruction] = []
        for phi in block.phis:
            made = _split(function, tree, block.name, phi)
            if made is None:
                phis.append(phi)
            else:
                phis.append(made[0])
                products.append(made[1])
        blocks.append(Block(block.name, (*phis, *products, *block.body)) if products else block)
    return function.with_blocks(tuple(blocks))


def _split(
    function: Function, tree: DominatorTree, block: str, phi: Instruction
) -> tuple[Instruction, Instruction] | None:
    if not isinstance(phi.type, IntType):
        return None
    others = {o for o in phi.operands if not (isinstance(o, Int) and o.value == 0)}
    if len(others) != 1 or len(others) == len(set(phi.operands)):
        return None
    product = others.pop()
    if not isinstance(product, Local) or function.definitions[product.name].opcode != "mul":
        return None
    a, b = function.definitions[product.name].operands
    if _varies(function, a) and not _varies(function, b):
        a, b = b, a
    if not isinstance(a, Local) or not _known_at(function, tree, block, b):
        return None
    factor = Local(f"{phi.name}.factor", phi.type)
    operands = tuple(a if o == product else o for o in phi.operands)
    return (
        replace(phi, name=factor.name, operands=operands),
        Instruction("mul", phi.type, (factor, b), phi.name, metadata=phi.debug_only),
    )


def _known_at(function: Function, tree: DominatorTree, block: str, value: Value) -> bool:
    if not isinstance(value, Local):
        return True
    home = function.home[value.name]
    return home != block and tree.dominates(home, block)


def _varies(function: Function, value: Value, depth: int = 8) -> bool:
    """Whether a value is made from a thread's position."""
    if not isinstance(value, Local) or depth == 0:
        return False
    i = function.definitions[value.name]
    if short(i.called) in VARYING_POSITIONS:
        return True
    if i.opcode in ("phi", "load", "call"):
        return False
    return any(_varies(function, o, depth - 1) for o in i.operands)
