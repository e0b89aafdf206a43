"""Numbers that all gangs add to: a gang adds to registers, and the threads of a call add to memory once.

Every SIMD-group's part of a product, every threadgroup's part of a total: the lanes of each gang are folded to one
number, a dozen instructions, and added to memory, where the next addition waits for the last. Where all gangs of a
launch add to one address, or all of a threadgroup, and the kernel does nothing else with its buffer
(`own_copies.only_added_to`), lanes are added to a register of sums, which the driver's function has in its frame. It is
folded at the end of a call, or of the threadgroup, as the lanes of one gang would be.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.fixed_address import Per
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address
from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.carried import LINE, CarriedSum
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.ops.collective import filled
from metalloid.backends.cpu.lower.ops.own_copies import either
from metalloid.backends.cpu.lower.output import Output
from metalloid.backends.cpu.lower.text import Text
from metalloid.ir import Instruction
from metalloid.ir.values import Value

PER: tuple[Per, ...] = ("threadgroup", "launch")
NOTHING = {"i32": "0", "i64": "0", "float": "-0.0"}  # what changes no sum


def adding(e: Emitter, i: Instruction, place: MemRef, carried: CarriedSum) -> Callable[[], str]:
    """What adds the lanes of an atomic to the sums of its address."""
    first, end = e.range or (0, e.width)
    if e.width == 1 or end - first == 1:
        type, at = carried.kind, carried.one
        value = e.scalar(i.operands[1]) if e.width == 1 else _lane(e, i.operands[1], carried.kind, first)
    else:
        letter = "f" if carried.kind == "float" else "i"
        value, count = filled(e, "sum", carried.kind, letter, e.vector(i.operands[1])), e.width
        while count > carried.lanes:
            value, count = _halved(e, carried, value, count), count // 2
        type, at = f"<{count} x {carried.kind}>", carried.at

    def act() -> str:
        to = _at(e, at)
        old = e.put(f"load {type}, ptr {to}, align {carried.size}")
        e.do(f"store {type} {e.put(f'{carried.add} {type} {old}, {value}')}, ptr {to}, align {carried.size}")
        e.do(f"store i64 {place.offset.base}, ptr {_at(e, carried.place)}")
        e.do(f"store i8 1, ptr {_at(e, carried.any)}")
        return ""

    return act


def _lane(e: Emitter, value: Value, kind: str, lane: int) -> str:
    return e.put(f"extractelement {e.vt(kind)} {e.vector(value)}, i64 {lane}")


def _at(e: Text, offset: int) -> str:
    return e.put(f"getelementptr i8, ptr %sums, i64 {offset}")


def _halved(e: Text, carried: CarriedSum, value: str, count: int) -> str:
    half = count // 2
    low, high = (pick(e, carried.kind, value, count, list(range(n, n + half))) for n in (0, half))
    return e.put(f"{carried.add} <{half} x {carried.kind}> {low}, {high}")


# ---- in the driver's function --------------------------------------------------------------------------------


def frame(out: Output) -> list[str]:
    """The memory of the sums, with nothing in it."""
    e = Text(out)
    e.do(f"%sums = alloca [{out.carried.size} x i8], align {LINE}")
    for carried in out.carried.by_key.values():
        _clear(e, carried)
    return [line.replace("%t", "%sums.") for line in e.lines]


def functions(out: Output) -> list[str]:
    """Those that add to memory what was added in a threadgroup, or in a call."""
    return [_function(out, whose, sums) for whose in PER if (sums := out.carried.per(whose))]


def _function(out: Output, whose: Per, sums: list[CarriedSum]) -> str:
    e = Text(out)
    for carried in sums:
        some, none = e.fresh_label("some"), e.fresh_label("none")
        flag = e.put(f"load i8, ptr {_at(e, carried.any)}")
        e.do(f"br i1 {e.put(f'icmp ne i8 {flag}, 0')}, label %{some}, label %{none}")
        e.label(some)
        _give_back(e, carried)
        _clear(e, carried)
        e.do(f"br label %{none}")
        e.label(none)
    lines = [
        f"define internal void @carried.{whose}(ptr %launch, ptr noalias %tg, ptr noalias %sums) "
        "alwaysinline nounwind {",
        "start:",
        *e.prologue,
        "  br label %sum",
        "sum:",
        *e.lines,
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _give_back(e: Text, carried: CarriedSum) -> None:
    """The sum of one address, to a processor's own copy or to memory."""
    kind, size = carried.kind, carried.size
    value, count = e.put(f"load {carried.row}, ptr {_at(e, carried.at)}, align {size}"), carried.lanes
    while count > 1:
        value, count = _halved(e, carried, value, count), count // 2
    value = e.put(f"extractelement <1 x {kind}> {value}, i64 0")
    value = e.put(f"{carried.add} {kind} {value}, {e.put(f'load {kind}, ptr {_at(e, carried.one)}')}")
    place = e.put(f"load i64, ptr {_at(e, carried.place)}")
    buffer = e.launch_field(abi.BUFFERS + 8 * carried.buffer, "ptr")

    def own(start: str) -> None:
        at = address(e, start, place)
        old = e.put(f"load {kind}, ptr {at}, align {size}")
        e.do(f"store {kind} {e.put(f'{carried.add} {kind} {old}, {value}')}, ptr {at}, align {size}")

    def shared() -> None:
        e.put(
            f"atomicrmw {carried.add} ptr {address(e, buffer, place)}, {kind} {value} {carried.order}, align {size}"
        )

    either(e, e.out.own_copies[carried.buffer], own, shared)


def _clear(e: Text, carried: CarriedSum) -> None:
    nothing = NOTHING[carried.kind]
    e.do(
        f"store {carried.row} splat ({carried.kind} {nothing}), ptr {_at(e, carried.at)}, align {carried.size}"
    )
    e.do(f"store {carried.kind} {nothing}, ptr {_at(e, carried.one)}")
    e.do(f"store i8 0, ptr {_at(e, carried.any)}")
