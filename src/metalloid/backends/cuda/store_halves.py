"""Stores of 16 bytes to threadgroup memory in two halves, which lanes take in different order where they would meet.

Threadgroup memory has 32 banks of four bytes. Of stores of 16 bytes eight lanes are served at once, of 8 bytes sixteen.
Rows with a pitch that suits those who load columns may make neighbours meet when they store: MLX's of 48 bytes do. If
one lane stores its first half while the other stores its second, they do not, and as many stores are done at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from metalloid.backends.cuda.lanes import LANES, Lanes
from metalloid.backends.cuda.record import LAUNCH
from metalloid.ir import Block, Instruction
from metalloid.ir.intrinsics import Effect, effect
from metalloid.ir.layout import scalar_bytes
from metalloid.ir.types import I8, I32, VOID, IntType, PointerType, VectorType
from metalloid.ir.values import Int, Local, Named, Value

LINE, HALF, UNIT, BANKS = 16, 8, 4, 32  # bytes of a store, and of a bank; banks
I1 = IntType(1)
Halves = Callable[[int], bool]


def halves(places: Sequence[int]) -> int | None:
    """Which bits of a lane's number say, by their sum, whether it begins with the second half: where that is better
    than whole stores. `places` are the lanes' addresses."""
    whole = _served(places, LINE)
    cost, mask = min((_split(places, mask), mask) for mask in range(1, LANES))
    return mask if cost < whole else None


def _split(places: Sequence[int], mask: int) -> int:
    first = [at + HALF * ((lane & mask).bit_count() % 2) for lane, at in enumerate(places)]
    second = [at + HALF - HALF * ((lane & mask).bit_count() % 2) for lane, at in enumerate(places)]
    return _served(first, HALF) + _served(second, HALF)


def _served(places: Sequence[int], size: int) -> int:
    """How often memory is gone to for one store of all lanes."""
    at_once = BANKS * UNIT // size
    found = 0
    for start in range(0, len(places), at_once):
        units = {at + n for at in places[start : start + at_once] for n in range(0, size, UNIT)}
        found += max(Counter(at // UNIT % BANKS for at in units).values())
    return found


class StoreHalves:
    """Changes the blocks of a kernel that is lowered. `call` calls the device runtime."""

    def __init__(self, lanes: Lanes, call: Callable[..., Instruction]) -> None:
        self._lanes, self._call = lanes, call

    def block(self, block: Block) -> Block:
        ends: dict[int, tuple[list[int], int]] = {}
        for line in _lines(block, self._lanes):
            spread = self._lanes.of(block.instructions[line[0]].operands[1])
            assert spread is not None
            mask = halves([spread.lo + own for own in spread.own])
            if mask is not None:
                ends[max(line)] = line, mask
        if not ends:
            return block
        gone = {n for line, _ in ends.values() for n in line}
        code: list[Instruction] = []
        for n, i in enumerate(block.instructions):
            if n in ends:
                code += self._stored(
                    [block.instructions[m] for m in ends[n][0]], ends[n][1], f"{block.name}.{n}"
                )
            elif n not in gone:
                code.append(i)
        return Block(block.name, tuple(code))

    def _stored(self, stores: Sequence[Instruction], mask: int, name: str) -> Iterator[Instruction]:
        count = len(stores) // 2
        kind = VectorType(count, stores[0].operands[0].type)
        parts: list[Value] = []
        for half in range(2):
            made: Value = Named(kind, "poison")
            for n in range(count):
                into = Local(f"{name}.v{half}{n}", kind)
                value = stores[half * count + n].operands[0]
                yield Instruction("insertelement", kind, (made, value, Int(I32, n)), into.name)
                made = into
            parts.append(made)
        lane, turn = Local(f"{name}.lane", I32), Local(f"{name}.turn", I1)
        yield self._call("mtd_thread_index_in_simdgroup", I32, Int(I32, 0), LAUNCH, into=lane.name)
        yield from _odd(lane, mask, turn)
        first = stores[0].operands[1]
        for n, (one, other) in enumerate((parts, parts[::-1])):
            value, step = Local(f"{name}.h{n}", kind), Local(f"{name}.s{n}", I32)
            place = Local(f"{name}.place{n}", first.type)
            yield Instruction("select", kind, (turn, other, one), value.name)
            yield Instruction("select", I32, (turn, Int(I32, HALF - n * HALF), Int(I32, n * HALF)), step.name)
            yield Instruction("getelementptr", first.type, (first, step), place.name, element=I8)
            yield Instruction("store", VOID, (value, place), align=HALF)


def _odd(lane: Local, mask: int, into: Local) -> Iterator[Instruction]:
    """Whether an odd number of the bits of `mask` is set."""
    total: Local | None = None
    for bit in (n for n in range(5) if mask >> n & 1):
        moved = Local(f"{into.name}.{bit}", I32)
        yield Instruction("lshr", I32, (lane, Int(I32, bit)), moved.name)
        if total is not None:
            both = Local(f"{into.name}.x{bit}", I32)
            yield Instruction("xor", I32, (total, moved), both.name)
            moved = both
        total = moved
    assert total is not None
    yield Instruction("trunc", I1, (total,), into.name)


def _lines(block: Block, lanes: Lanes) -> Iterator[list[int]]:
    """Stores of neighbouring elements that make 16 bytes, with nothing in between that could see a part of them or
    that may store there."""
    made: Mapping[str, Instruction] = {i.name: i for i in block.instructions if i.name}
    open_: dict[tuple[Value, object], dict[int, int]] = {}
    for n, i in enumerate(block.instructions):
        if i.opcode == "store" and i.operands[1].type == PointerType(3) and not i.ordering and not i.flags:
            size = scalar_bytes(i.operands[0].type)
            base, offset = _address(made, i.operands[1])
            found = open_.setdefault((base, i.operands[0].type), {})
            found[offset] = n
            start = offset - offset % LINE
            line = [found.get(start + k) for k in range(0, LINE, size)] if 2 <= size < HALF else [None]
            spread = lanes.of(i.operands[1])
            if None in line or spread is None:
                continue
            whole = [m for m in line if m is not None]
            first = lanes.of(block.instructions[whole[0]].operands[1])
            if first is None or first.align % LINE or any(own % LINE for own in first.own):
                continue
            if _alone(block, whole, made, lanes):
                yield whole
        elif effect(i) & (Effect.ORDERS | Effect.READS | Effect.WRITES):
            open_.clear()


def _alone(block: Block, line: Sequence[int], made: Mapping[str, Instruction], lanes: Lanes) -> bool:
    """Whether no other store between those of a line goes where one of them does: the last of them would be another."""
    members = [block.instructions[n].operands[1] for n in line]
    size = scalar_bytes(block.instructions[line[0]].operands[0].type)
    for n in range(min(line), max(line)):
        i = block.instructions[n]
        if i.opcode != "store" or n in line or i.operands[1].type != PointerType(3):
            continue
        most = max(size, scalar_bytes(i.operands[0].type))
        base, offset = _address(made, i.operands[1])
        for member in members:
            same, at = _address(made, member)
            apart = abs(at - offset) >= most if same == base else lanes.apart(member, i.operands[1], most)
            if not apart:
                return False
    return True


def _address(made: Mapping[str, Instruction], pointer: Value) -> tuple[Value, int]:
    """What an address starts from, and the number that is added."""
    i = made.get(pointer.name) if isinstance(pointer, Local) else None
    offset = 0
    while i is not None and i.opcode == "getelementptr" and len(i.operands) == 2 and i.element is not None:
        step = i.operands[1]
        if not isinstance(step, Int):
            break
        offset += step.signed * scalar_bytes(i.element)
        pointer = i.operands[0]
        i = made.get(pointer.name) if isinstance(pointer, Local) else None
    return pointer, offset
