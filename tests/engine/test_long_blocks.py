"""What is looked for in every block takes no longer for each instruction of a long one."""

from __future__ import annotations

import pytest

from metalloid.backends.cpu.lower.matrix import chains
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import MATRIX_PRODUCT
from metalloid.ir.types import FLOAT, I32, VOID, StructType
from metalloid.ir.values import Global, Int, Local, Value

PAIR = StructType((FLOAT, FLOAT))
PLAIN = (Instruction("add", I32, (Int(I32, 1), Int(I32, 2)), "n"), Instruction("ret", VOID))


def products(count: int) -> list[Instruction]:
    """Each adds to what the one before has made."""
    made: list[Instruction] = []
    sums: tuple[Value, ...] = (Local("zero", FLOAT), Local("zero", FLOAT))
    for n in range(count):
        sides = tuple(Local(f"{side}{n}", FLOAT) for side in "abcd")
        made.append(Instruction("call", PAIR, (*sides, *sums), f"p{n}", callee=Global(MATRIX_PRODUCT, FLOAT)))
        parts = [
            Instruction("extractvalue", FLOAT, (made[-1].value,), f"p{n}.{at}", indices=(at,))
            for at in (0, 1)
        ]
        made += parts
        sums = tuple(part.value for part in parts)
    return made


def test_products_are_one_chain() -> None:
    block = Block("entry", (*products(9), *PLAIN))
    (found,) = chains.find(Function("f", VOID, blocks=(block,)), block)
    assert [len(chain.products) for chain in found.chains] == [9]
    assert len(found.parts) == 2 * 9


def test_a_block_without_products_is_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "effect", lambda i: pytest.fail("asked"))
    block = Block("entry", PLAIN)
    assert chains.find(Function("f", VOID, blocks=(block,)), block) == []


def test_what_is_made_of_products_is_known_by_name() -> None:
    """All products were gathered again for each instruction: a tenth of the vector code of a kernel of 90 products."""
    code = products(3)
    open_ = chains._Open(Function("f", VOID, blocks=(Block("entry", (*code, *PLAIN)),)))
    for i in code:
        assert open_.made(i) == (i.name not in ("p0",))
        if i.opcode == "call":
            assert open_.grow(i)
        else:
            open_.take_part(i)
    assert open_.names == {i.name for i in code}
    assert not open_.made(PLAIN[0])
