"""What a number of a loop's round is made by, from what the round begins with: it can be made again elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metalloid.ir import Instruction
from metalloid.ir.values import Local, Value

PURE = frozenset(
    "getelementptr add sub mul shl lshr ashr and or xor sext zext trunc icmp select bitcast freeze".split()
)
Asked = Callable[[Instruction], bool]


def made_by(
    value: Value, inside: Mapping[str, Instruction], begins: Asked, same: Asked
) -> list[Instruction] | None:
    """The instructions in their order; None where some other effect is among them. `inside` are the loop's own by name,
    `begins` says what a round begins with, `same` which loads give the same in every round."""
    made = inside.get(value.name) if isinstance(value, Local) else None
    if made is None or begins(made):
        return []
    if made.opcode not in PURE and not same(made):
        return None
    found: list[Instruction] = []
    for o in made.operands:
        part = made_by(o, inside, begins, same)
        if part is None:
            return None
        found += [i for i in part if i not in found]
    return [*found, made]
