"""Tiles of 8 x 8 in threadgroup memory that a thread stores column by column, turned so that it stores whole rows.

ggml's products have such tiles: a thread has 8 numbers of one row of weights, and they go to 8 places 16 bytes apart,
two bytes each. Who reads the tiles reads whole matrices; turned ones are as good, by the same instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from metalloid.analysis.intervals.prove import access
from metalloid.backends.base import Triple
from metalloid.backends.cuda.lanes import LANES, Lanes
from metalloid.backends.cuda.regions import Regions
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.intrinsics import ENTRY, MATRIX_LOADS, Effect, effect
from metalloid.ir.layout import scalar_bytes
from metalloid.ir.types import I8, I64
from metalloid.ir.values import Int, Local, Value

Place = tuple[str, int]
TILE, LINE, SIDE = 128, 16, 8  # bytes of a tile and of one of its lines, and their number


@dataclass
class Turned:
    module: Module
    places: dict[Place, Place] = field(default_factory=dict)  # of instructions, and where they were
    aligned: dict[Place, int] = field(default_factory=dict)  # of stores that are others now


def turned(module: Module, size: Triple) -> Turned | None:
    """The kernel with its tiles turned; None where there are none."""
    function = module.function[ENTRY]
    regions = Regions(module, function, size)
    if not regions.complete or size[0] * size[1] * size[2] % LANES:
        return None
    lanes = Lanes(function, size, TILE)
    loads: dict[Place, Instruction] = {}
    columns: list[list[Place]] = []
    for region in set(regions.of.values()):
        members = {p: _at(function, p) for p, r in regions.of.items() if r == region}
        stores = {p: i for p, i in members.items() if i.opcode == "store"}
        others = {p: i for p, i in members.items() if p not in stores}
        found = list(_columns(function, stores, lanes))
        if (
            others
            and found
            and all(_whole(i, lanes) for i in others.values())
            and len(found) * SIDE == len(stores)
        ):
            loads |= others
            columns += found
    return _rewritten(module, function, loads, columns) if columns else None


def _at(function: Function, place: Place) -> Instruction:
    return function.block[place[0]].instructions[place[1]]


def _whole(i: Instruction, lanes: Lanes) -> bool:
    """Whether a tile is loaded, all of it."""
    if not i.called.startswith(f"{MATRIX_LOADS}b16_"):
        return False
    pointer, stride, flag = i.operands[:3]
    place = lanes.of(pointer)
    known = isinstance(stride, Int) and stride.signed == SIDE and isinstance(flag, Int)
    return known and place is not None and place.same and place.align % TILE == 0


def _columns(function: Function, stores: Mapping[Place, Instruction], lanes: Lanes) -> Iterator[list[Place]]:
    """Stores of the 8 elements of a column, in order."""
    starts: dict[tuple[str, tuple[str, ...]], dict[int, Place]] = {}
    for place, i in stores.items():
        what, spread = access(i), lanes.of(i.operands[1])
        if what is None or what[1] != 2 or spread is None or not isinstance(i.operands[1], Local):
            return
        parts, offset = _parts(function, i.operands[1])
        starts.setdefault((place[0], parts), {})[offset] = place
    for (block, _), found in starts.items():
        for offset in sorted(found):
            column = [found.get(offset + LINE * n) for n in range(SIDE)]
            first = lanes.of(_at(function, found[offset]).operands[1])
            assert first is not None
            if first.align % TILE or any(own & (TILE - LINE) for own in first.own) or None in column:
                continue
            whole = [p for p in column if p is not None]
            if _undisturbed(function.block[block], whole):
                yield whole


def _parts(function: Function, pointer: Value) -> tuple[tuple[str, ...], int]:
    """What an address is the sum of, and the part of it that is a number."""
    offset, terms = 0, []
    made = function.definitions.get(pointer.name) if isinstance(pointer, Local) else None
    while made is not None and made.opcode == "getelementptr" and len(made.operands) == 2 and made.element:
        step, bytes_ = made.operands[1], scalar_bytes(made.element)
        if isinstance(step, Int):
            offset += step.signed * bytes_
        else:
            terms.append(f"{bytes_} {step}")
        pointer = made.operands[0]
        made = function.definitions.get(pointer.name) if isinstance(pointer, Local) else None
    return (str(pointer), *sorted(terms)), offset


def _undisturbed(block: Block, column: list[Place]) -> bool:
    """Whether nobody can see a part of a column before the rest is there."""
    numbers = [n for _, n in column]
    between = block.instructions[min(numbers) : max(numbers)]
    return not any(effect(i) & Effect.ORDERS or i.called.startswith(MATRIX_LOADS) for i in between)


def _rewritten(
    module: Module, function: Function, loads: Mapping[Place, Instruction], columns: list[list[Place]]
) -> Turned:
    ends = {max(column, key=lambda p: p[1]): column for column in columns}
    gone = {place for column in columns for place in column}
    made = Turned(module)
    blocks = []
    for block in function.blocks:
        code: list[Instruction] = []
        for n, i in enumerate(block.instructions):
            place = block.name, n
            if place in ends:
                code += _row(function, ends[place], made, block.name, len(code))
            elif place not in gone:
                made.places[block.name, len(code)] = place
                code.append(_other_way(i) if place in loads else i)
        blocks.append(Block(block.name, tuple(code)))
    made.module = module.with_function(function.with_blocks(tuple(blocks)))
    return made


def _other_way(i: Instruction) -> Instruction:
    flag = i.operands[2]
    assert isinstance(flag, Int)
    return replace(i, operands=(*i.operands[:2], Int(flag.type, 1 - flag.value), *i.operands[3:]))


def _row(function: Function, column: list[Place], made: Turned, block: str, at: int) -> Iterator[Instruction]:
    """The stores of a column, to the row of the same number."""
    stores = [_at(function, place) for place in column]
    first = stores[0].operands[1]
    name = f"row.{column[0][0]}.{column[0][1]}"
    number, low, step, start = (Local(f"{name}.{w}", I64) for w in ("number", "low", "step", "start"))
    row = Local(start.name, first.type)
    yield Instruction("ptrtoint", I64, (first,), number.name)
    yield Instruction("and", I64, (number, Int(I64, LINE - 2)), low.name)
    yield Instruction("mul", I64, (low, Int(I64, SIDE - 1)), step.name)
    yield Instruction("getelementptr", first.type, (first, step), row.name, element=I8)
    at += 4
    for n, store in enumerate(stores):
        into = Local(f"{name}.{n}", first.type)
        yield Instruction("getelementptr", first.type, (row, Int(I64, 2 * n)), into.name, element=I8)
        made.places[block, at + 1] = column[n]
        made.aligned[block, at + 1] = min(LINE, (2 * n & -2 * n) or LINE)
        yield replace(store, operands=(store.operands[0], into), align=made.aligned[block, at + 1])
        at += 2
