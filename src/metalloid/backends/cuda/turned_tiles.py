"""Tiles of 8 x 8 in threadgroup memory that a thread stores column by column, turned so that it stores whole rows.

ggml's products have such tiles: a thread has 8 numbers of one row of weights, and they go to 8 places 16 bytes apart,
two bytes each. Who reads the tiles reads whole matrices; turned ones are as good, by the same instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from metalloid.analysis.intervals.prove import access
from metalloid.backends.base import Triple
from metalloid.backends.cuda.banks import Order, best
from metalloid.backends.cuda.lanes import LANES, Lanes
from metalloid.backends.cuda.regions import Regions
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.intrinsics import ENTRY, MATRIX_LOADS, MATRIX_PRODUCT, Effect, effect
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
    orders: dict[str, Order] = field(default_factory=dict)  # of the lines of tiles, by the loads of these
    variables: set[str] = field(
        default_factory=set
    )  # whose tiles have such orders: they begin at whole tiles


@dataclass
class _Tiles:
    """A part of threadgroup memory that is read in whole tiles."""

    loads: dict[Place, Instruction]
    lines: list[list[Place]]  # stores of a line, or of a column where `turns`
    turns: bool
    order: Order | None = None


def turned(module: Module, size: Triple, ordered: bool = True) -> Turned | None:
    """The kernel with its tiles turned, and their lines in order where `ordered`; None where there is nothing to do."""
    function = module.function[ENTRY]
    regions = Regions(module, function, size)
    if not regions.complete or size[0] * size[1] * size[2] % LANES:
        return None
    lanes = Lanes(function, size, TILE)
    found: list[_Tiles] = []
    variables: set[str] = set()
    for region in sorted(set(regions.of.values())):
        members = {p: _at(function, p) for p, r in regions.of.items() if r == region}
        tiles = _tiles(function, members, lanes)
        if tiles is None:
            continue
        alone = all(_for_products(function, i) for i in tiles.loads.values())
        if ordered and alone and regions.begins(region):
            tiles.order = best(_places(function, line, tiles.turns, lanes) for line in tiles.lines)
            variables |= {
                name for name, parts in regions.variables.items() if region in parts and tiles.order
            }
        if tiles.turns or tiles.order is not None:
            found.append(tiles)
    return _rewritten(module, function, found, variables) if found else None


def _tiles(function: Function, members: Mapping[Place, Instruction], lanes: Lanes) -> _Tiles | None:
    stores = {p: i for p, i in members.items() if i.opcode == "store"}
    loads = {p: i for p, i in members.items() if p not in stores}
    if not loads or not stores or not all(_whole(i, lanes) for i in loads.values()):
        return None
    for turns, step in ((True, LINE), (False, 2)):
        lines = list(_lines(function, stores, lanes, step))
        if len(lines) * SIDE == len(stores):
            return _Tiles(loads, lines, turns)
    return None


def _places(function: Function, line: list[Place], turns: bool, lanes: Lanes) -> tuple[int, ...]:
    """Where each lane stores a line, once it is one."""
    spread = lanes.of(_at(function, line[0]).operands[1])
    assert spread is not None
    places = [spread.lo + own for own in spread.own]
    return tuple(at + (SIDE - 1) * (at & (LINE - 2)) if turns else at for at in places)


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


def _for_products(function: Function, load: Instruction) -> bool:
    """Whether a matrix goes into products and nowhere else."""
    work = [load.name]
    for name in work:
        for user in function.users.get(name, ()):
            if user.opcode in ("trunc", "lshr", "bitcast", "fpext"):
                work.append(user.name)
            elif user.called != MATRIX_PRODUCT:
                return False
    return True


def _lines(
    function: Function, stores: Mapping[Place, Instruction], lanes: Lanes, step: int
) -> Iterator[list[Place]]:
    """Stores of 8 elements that lie `step` bytes apart, in order: a line of a tile, or a column."""
    starts: dict[tuple[str, tuple[str, ...]], dict[int, Place]] = {}
    for place, i in stores.items():
        what, spread = access(i), lanes.of(i.operands[1])
        if what is None or what[1] != 2 or spread is None or not isinstance(i.operands[1], Local):
            return
        parts, offset = _parts(function, i.operands[1])
        starts.setdefault((place[0], parts), {})[offset] = place
    free = TILE - LINE if step == LINE else LINE - 1  # what an address must have none of
    for (block, _), found in starts.items():
        for offset in sorted(found):
            line = [found.get(offset + step * n) for n in range(SIDE)]
            first = lanes.of(_at(function, found[offset]).operands[1])
            assert first is not None
            if (
                first.align % (TILE if step == LINE else LINE)
                or any(own & free for own in first.own)
                or None in line
            ):
                continue
            whole = [p for p in line if p is not None]
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


def _rewritten(module: Module, function: Function, tiles: list[_Tiles], variables: set[str]) -> Turned:
    ends = {max(line, key=lambda p: p[1]): (line, t) for t in tiles for line in t.lines}
    gone = {place for t in tiles for line in t.lines for place in line}
    turns = {place for t in tiles if t.turns for place in t.loads}
    made = Turned(module, variables=variables)
    for t in tiles:
        if t.order is not None:
            made.orders |= {i.name: t.order for i in t.loads.values()}
    blocks = []
    for block in function.blocks:
        code: list[Instruction] = []
        for n, i in enumerate(block.instructions):
            place = block.name, n
            if place in ends:
                code += _row(function, *ends[place], made, block.name, len(code))
            elif place not in gone:
                made.places[block.name, len(code)] = place
                code.append(_other_way(i) if place in turns else i)
        blocks.append(Block(block.name, tuple(code)))
    made.module = module.with_function(function.with_blocks(tuple(blocks)))
    return made


def _other_way(i: Instruction) -> Instruction:
    flag = i.operands[2]
    assert isinstance(flag, Int)
    return replace(i, operands=(*i.operands[:2], Int(flag.type, 1 - flag.value), *i.operands[3:]))


def _row(
    function: Function, line: list[Place], tiles: _Tiles, made: Turned, block: str, at: int
) -> Iterator[Instruction]:
    """The stores of a line; those of a column go to the row of the same number."""
    stores = [_at(function, place) for place in line]
    first = stores[0].operands[1]
    name = f"row.{line[0][0]}.{line[0][1]}"
    start = first
    code: list[Instruction] = []

    def then(opcode: str, a: Value, b: Value, what: str) -> Local:
        code.append(Instruction(opcode, I64, (a, b), f"{name}.{what}"))
        return Local(f"{name}.{what}", I64)

    def stepped(step: Value, what: str) -> Local:
        code.append(Instruction("getelementptr", first.type, (start, step), f"{name}.{what}", element=I8))
        return Local(f"{name}.{what}", first.type)

    def number(what: str) -> Local:
        code.append(Instruction("ptrtoint", I64, (start,), f"{name}.{what}"))
        return Local(f"{name}.{what}", I64)

    if tiles.turns:
        low = then("and", number("number"), Int(I64, LINE - 2), "low")
        start = stepped(then("mul", low, Int(I64, SIDE - 1), "step"), "start")
    if tiles.order is not None:
        here, order = number("here"), tiles.order
        chosen = then(
            "and", then("lshr", here, Int(I64, order.shift), "high"), Int(I64, order.mask), "chosen"
        )
        other = then("xor", here, then("shl", chosen, Int(I64, order.left + 4), "line"), "other")
        start = stepped(then("sub", other, here, "apart"), "moved")
    yield from code
    at += len(code)
    for n, store in enumerate(stores):
        into = Local(f"{name}.{n}", first.type)
        yield Instruction("getelementptr", first.type, (start, Int(I64, 2 * n)), into.name, element=I8)
        made.places[block, at + 1] = line[n]
        made.aligned[block, at + 1] = min(LINE, (2 * n & -2 * n) or LINE)
        yield replace(store, operands=(store.operands[0], into), align=made.aligned[block, at + 1])
        at += 2
