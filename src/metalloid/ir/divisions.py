"""Take the guards of divisions out again where the divisor is known only when the kernel runs.

`operators.h` keeps LLVM from reasoning that no divisor is 0 or -1: `special(b) ? a * b : a / (special(b) ? 1 : b)`.
LLVM writes the inner choice of unsigned numbers as the larger of b and 1. A division in this IR is what the guards
make of it (docs/design/intrinsics.md), so once LLVM is done they say nothing that `a / b` does not.

Of a quotient and a remainder of the same numbers LLVM makes `q = a / b` and `a - q * b`; the latter is 0 for b = 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.module import Block, Function, Instruction, Module
from metalloid.ir.types import I1, IntType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass, field, replace

_QUOTIENTS = frozenset(("udiv", "sdiv"))
_REMAINDERS = frozenset(("urem", "srem"))
Made = Mapping[str, Instruction]
Special = tuple[Value, bool]  # a divisor, and whether -1 is kept from it as well as 0


@dataclass
class Plain:
    """What stands for instructions, by name, and for the values of some."""

    code: dict[str, list[Instruction]] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        code = (made for i in block.instructions for made in self.code.get(i.name, [i]))
        return replace(block, instructions=tuple(i.substitute(self.values) for i in code))


def plain_divisions(module: Module) -> Module:
    """The module with `a / b` for every guarded division that is still to be seen as one."""
    function = module.function[ENTRY]
    plain = Plain()
    for i in function.instructions():
        guarded = _guarded(i, function.definitions) if i.opcode in _QUOTIENTS | _REMAINDERS else None
        if guarded is not None and i.opcode in _REMAINDERS:
            plain.code[i.name] = [replace(i, operands=(i.operands[0], guarded[0]))]
        elif guarded is not None:
            _quotient(i, guarded, function, plain)
    if not plain.code:
        return module
    changed = function.with_blocks(tuple(map(plain.block, function.blocks)))
    return module.with_function(_without_unused(changed))


def _quotient(division: Instruction, guarded: Special, function: Function, plain: Plain) -> None:
    """A division all of whose users are choices between it and what it is for a special b, and remainders."""
    made, divisor = function.definitions, guarded[0]
    choices: list[Instruction] = []
    remainders: list[tuple[Instruction, Instruction]] = []  # q * b, and a - q * b
    for user in function.users.get(division.name, ()):
        if user.opcode == "select" and _chosen(user, division, guarded, made):
            choices.append(user)
        elif (left := _left(user, division, function)) is not None:
            remainders += [(user, one) for one in left]
        else:
            return
    plain.code[division.name] = [replace(division, operands=(division.operands[0], divisor), flags=())]
    plain.values |= {choice.name: division.value for choice in choices}
    for product, left_over in remainders:
        plain.code[product.name] = [replace(product, operands=(division.value, divisor), flags=())]
        plain.code[left_over.name] = list(_or_zero(left_over, divisor))


def _or_zero(left: Instruction, divisor: Value) -> Iterator[Instruction]:
    assert isinstance(left.type, IntType)
    zero = Int(left.type, 0)
    usual = replace(left, name=f"{left.name}.left", flags=())
    none = replace(left, opcode="icmp", type=I1, operands=(divisor, zero), predicate="eq", flags=())
    none = replace(none, name=f"{left.name}.none")
    yield from (usual, none)
    yield replace(left, opcode="select", operands=(none.value, zero, usual.value), flags=())


def _left(product: Instruction, division: Instruction, function: Function) -> list[Instruction] | None:
    """All users of `q * b`, where each is `a - q * b`, with the guarded b."""
    made, (dividend, divisor) = function.definitions, division.operands
    if product.opcode != "mul" or product.operands not in (
        (division.value, divisor),
        (divisor, division.value),
    ):
        return None
    users = list(function.users.get(product.name, ()))
    differences = all(u.opcode == "sub" and u.operands[1] == product.value for u in users)
    same = all(_thawed(u.operands[0], made) == _thawed(dividend, made) for u in users)
    return users if users and differences and same else None


def _chosen(choice: Instruction, division: Instruction, guarded: Special, made: Made) -> bool:
    """Whether a choice is between a division and what it is for a special b."""
    condition, other, usual = choice.operands
    if usual != division.value or _special(condition, made) != guarded:
        return False
    dividend, (divisor, minus_too) = division.operands[0], guarded
    product = _made(other, made)
    if product is not None and product.opcode == "mul":
        return {_thawed(o, made) for o in product.operands} == {_thawed(dividend, made), divisor}
    return not minus_too and _is(other, 0)


def _guarded(division: Instruction, made: Made) -> Special | None:
    """b, where the divisor is `max(b, 1)`, or `special(b) ? 1 : b`."""
    i = _made(_thawed(division.operands[1], made), made)
    if i is None:
        return None
    if i.called.startswith("llvm.umax."):
        return (i.operands[0], False) if _is(i.operands[1], 1) else None
    special = _special(i.operands[0], made) if i.opcode == "select" and _is(i.operands[1], 1) else None
    if special is None or special[0] != i.operands[2]:
        return None
    return None if special[1] and division.opcode[0] == "u" else special  # the largest is not -1


def _special(condition: Value, made: Made) -> Special | None:
    """b of `b == 0`, or of `b + 1 < 2`, unsigned: 0 or -1."""
    test = _made(condition, made)
    if test is None or test.opcode != "icmp":
        return None
    tested, bound = test.operands
    if test.predicate == "eq" and _is(bound, 0):
        return tested, False
    more = _made(tested, made)
    if (
        test.predicate == "ult"
        and _is(bound, 2)
        and more
        and more.opcode == "add"
        and _is(more.operands[1], 1)
    ):
        return more.operands[0], True
    return None


def _without_unused(function: Function) -> Function:
    """Less the tests, guards and divisions that nothing reads any more."""
    uses = Counter(name for i in function.instructions() for name in i.uses)
    pure = {i.name: i for i in function.instructions() if _pure(i)}
    work = [name for name in pure if not uses[name]]
    gone = set(work)
    while work:
        for name in pure[work.pop()].uses:
            uses[name] -= 1
            if not uses[name] and name in pure:
                gone.add(name)
                work.append(name)
    if not gone:
        return function
    blocks = (
        replace(b, instructions=tuple(i for i in b.instructions if i.name not in gone))
        for b in function.blocks
    )
    return function.with_blocks(tuple(blocks))


def _pure(instruction: Instruction) -> bool:
    plain = instruction.opcode in _QUOTIENTS or instruction.opcode in (
        "select",
        "icmp",
        "add",
        "mul",
        "freeze",
    )
    return bool(instruction.name) and (plain or instruction.called.startswith("llvm.umax."))


def _thawed(value: Value, made: Made) -> Value:
    i = _made(value, made)
    return i.operands[0] if i is not None and i.opcode == "freeze" else value


def _made(value: Value, made: Made) -> Instruction | None:
    return made.get(value.name) if isinstance(value, Local) else None


def _is(value: Value, number: int) -> bool:
    return isinstance(value, Int) and value.value == number
