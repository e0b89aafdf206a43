"""Switches as branches, and branches as selects: the same numbers come out of every way."""

from __future__ import annotations

import random

import pytest

from metalloid.ir import Function, Module, read
from metalloid.ir.types import IntType
from metalloid.ir.unreachable import drop_unreachable
from metalloid.ir.values import Int, Local, Named, Value
from metalloid.ir.verify import verify
from metalloid.transforms.if_convert import FEW, if_convert
from metalloid.transforms.lower_switch import lower_switches


def outcome(function: Function, x: int) -> int:
    """What a function of one i8 gives back."""
    values: dict[str, int] = {function.parameters[0].name: x}

    def of(value: Value) -> int:
        if isinstance(value, Local):
            return values[value.name]
        assert isinstance(value, Int | Named)
        return value.value if isinstance(value, Int) else int(value.word == "true")

    before, block = "", function.entry
    while True:
        values |= {p.name: next(of(v) for v, s in p.cases if s == before) for p in block.phis}
        for i in block.body[:-1]:
            a, b, *rest = [of(o) for o in i.operands]
            signed = [(v + 128) % 256 - 128 for v in (a, b)]
            made = {
                "add": a + b,
                "sub": a - b,
                "or": a | b,
                "mul": a * b,
                "select": b if a else (rest or [0])[0],
            }
            tests = {"eq": a == b, "slt": signed[0] < signed[1], "ule": a <= b, "ult": a < b}
            assert isinstance(i.type, IntType)
            values[i.name] = (tests[i.predicate] if i.opcode == "icmp" else made[i.opcode]) % (
                1 << i.type.bits
            )
        end = block.terminator
        if end.opcode == "ret":
            return of(end.operands[0])
        label = end.labels[0]
        if end.opcode == "switch":
            label = next((t for c, t in end.cases if of(c) == of(end.operands[0])), label)
        elif end.operands:
            label = end.labels[0 if of(end.operands[0]) else 1]
        before, block = block.name, function.block[label]


def switch(cases: dict[int, int], default: str, blocks: int) -> Function:
    """Block n of several gives back 10 + n, through a phi that the switch leads to as well."""
    lines = [f"    i8 {case}, label %{'end' if n == blocks else f'b{n}'}" for case, n in cases.items()]
    phis = ["[ 99, %entry ]"] * (sum(n == blocks for n in cases.values()) + (default == "end"))
    text = ["define i8 @f(i8 %x) {", "entry:", f"  switch i8 %x, label %{default} [", *lines, "  ]"]
    for n in range(blocks):
        text += [f"b{n}:", f"  %v{n} = add i8 %x, {10 + n}", "  br label %end"]
        phis.append(f"[ %v{n}, %b{n} ]")
    text += ["end:", f"  %r = phi i8 {', '.join(phis)}", "  ret i8 %r"]
    return read("\n".join([*text, "nowhere:", "  unreachable", "}", ""])).function["f"]


@pytest.mark.parametrize("seed", range(12))
def test_every_case_gets_to_its_block(seed: int) -> None:
    chance = random.Random(seed)
    blocks = chance.choice([1, 2, 3, 9])
    numbers = chance.sample(range(-128, 128), chance.choice([1, 3, 20, 200]))
    if seed % 3 == 0:
        numbers = list(range(-3, 9))
    cases = {number: chance.randint(0, blocks) for number in numbers}
    default = ("b0", "end", "nowhere")[seed % 3]
    function = switch(cases, default, blocks)
    lowered = lower_switches(function)
    converted = if_convert(drop_unreachable(lowered))
    verify(Module((lowered,)))
    verify(Module((converted,)))
    assert not any(b.terminator.opcode == "switch" for b in lowered.blocks)
    for x in range(-128, 128) if default != "nowhere" else numbers:
        wanted = outcome(function, x % 256)
        assert outcome(lowered, x % 256) == wanted
        assert outcome(converted, x % 256) == wanted


def test_cases_of_one_block_are_one_test() -> None:
    function = lower_switches(switch({3: 0, 4: 0, 5: 0, 90: 0}, "end", 1))
    assert len(function.entry.successors) == 2
    assert [i.opcode for i in function.entry.instructions] == ["sub", "icmp", "icmp", "or", "br"]


def test_what_nobody_gets_to_is_not_tested_for() -> None:
    function = drop_unreachable(lower_switches(switch({0: 0, 1: 1}, "nowhere", 2)))
    assert sum(i.opcode == "icmp" for i in function.instructions()) == 1


def test_blocks_that_only_lead_on_are_passed_by() -> None:
    function = read("""define i8 @f(i8 %x) {
entry:
  switch i8 %x, label %b [
    i8 0, label %a
    i8 1, label %a
    i8 2, label %c
    i8 3, label %d
  ]
a:
  br label %end
b:
  br label %end
c:
  br i1 false, label %end, label %d
d:
  br label %end
end:
  %r = phi i8 [ 1, %a ], [ 2, %b ], [ 3, %c ], [ 4, %d ]
  ret i8 %r
}
""").function["f"]
    lowered = drop_unreachable(lower_switches(function))
    verify(Module((lowered,)))
    assert [outcome(lowered, x) for x in range(6)] == [outcome(function, x) for x in range(6)]
    # One way to the end may be the switch's own, since a phi tells ways apart by where they come from.
    assert "a" in lowered.block and "b" not in lowered.block


def test_one_of_many_is_found_by_halving() -> None:
    function = lower_switches(switch({n: n % 50 for n in range(100)}, "end", 50))
    deepest = 0
    for x in range(100):
        name, steps = "entry", 0
        while not name.startswith("b"):
            block = function.block[name]
            flag = function.definitions[block.terminator.operands[0].name]  # type: ignore[union-attr]
            limit = flag.operands[1].value  # type: ignore[union-attr]
            taken = x < limit if flag.predicate == "slt" else x == limit
            name, steps = block.terminator.labels[0 if taken else 1], steps + 1
        deepest = max(deepest, steps)
    assert deepest <= 10


DIAMOND = """define i8 @f(i8 %x) {
entry:
  %c = icmp ult i8 %x, 7
  br i1 %c, label %a, label %b
a:
  %p = add i8 %x, 1
  br label %end
b:
  %q = mul i8 %x, 3
  br label %end
end:
  %r = phi i8 [ %p, %a ], [ %q, %b ]
  %s = phi i8 [ 5, %a ], [ 5, %b ]
  %t = phi i8 [ %x, %a ], [ poison, %b ]
  %u = add i8 %r, %s
  %v = add i8 %u, %t
  ret i8 %u
}
"""


def converted(text: str) -> Function:
    function = read(text).function["f"]
    made = if_convert(function)
    verify(Module((made,)))
    assert [outcome(made, x) for x in range(0, 256, 5)] == [outcome(function, x) for x in range(0, 256, 5)]
    return made


def test_two_short_sides_are_one_block() -> None:
    made = converted(DIAMOND.replace("[ poison, %b ]", "[ 0, %b ]"))
    assert len(made.blocks) == 1 and sum(i.opcode == "select" for i in made.instructions()) == 2
    function = if_convert(read(DIAMOND).function["f"])
    assert (
        sum(i.opcode == "select" for i in function.instructions()) == 1
    )  # what nobody may read is no choice


def test_one_side_before_a_place_that_others_get_to() -> None:
    text = """define i8 @f(i8 %x) {
entry:
  %c = icmp ult i8 %x, 7
  br i1 %c, label %far, label %near
far:
  %l = sub i8 %x, 3
  br label %end
near:
  %d = icmp ult i8 %x, 90
  br i1 %d, label %side, label %end
side:
  %p = add i8 %x, 1
  br label %end
end:
  %r = phi i8 [ 3, %far ], [ %p, %side ], [ %x, %near ]
  ret i8 %r
}
"""
    assert len(converted(text).blocks) == 1
    divides = read(text.replace("sub i8 %x, 3", "sdiv i8 %x, 3")).function["f"]
    assert [b.name for b in if_convert(divides).blocks] == ["entry", "far", "near", "end"]


def test_sides_that_cost_or_do_something_stay() -> None:
    long = "\n".join(["  %p = add i8 %x, 1", *(f"  %p{n} = add i8 %x, {n}" for n in range(FEW))])
    for side in (long, "  %p = sdiv i8 1, %x"):
        function = read(DIAMOND.replace("  %p = add i8 %x, 1", side)).function["f"]
        assert if_convert(function) is function
