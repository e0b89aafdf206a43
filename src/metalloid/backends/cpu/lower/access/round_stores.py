"""What is left of a row that a thread alone writes (`transforms/written_rests.py`): one vector, stored under the mask
of the rounds that are there."""

from __future__ import annotations

from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.in_turn import Writer
from metalloid.backends.cpu.lower.access.mem_ref import address, alignment, memory_type, resolve
from metalloid.backends.cpu.lower.access.packs import Pack, Packs, whole_only
from metalloid.backends.cpu.lower.access.round_loads import Rounds
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Block, Instruction
from metalloid.records import dataclass


@dataclass(frozen=True)
class Stored:
    """The stores of all rounds, what their values are made of, and what of it nobody wants as numbers."""

    stores: tuple[tuple[Instruction, ...], ...]
    packs: Packs
    gone: frozenset[str]
    whole: frozenset[Pack]

    def __contains__(self, i: Instruction) -> bool:
        return any(i is store for stores in self.stores for store in stores)

    def write(self, e: Emitter, rounds: Rounds) -> None:
        given = {pack: made for pack in rounds.packs() if (made := rounds.vector(pack)) is not None}
        writer = Writer(e, self.packs, given)
        writer.packs_written()
        for stores in self.stores:
            first, n = stores[0], len(stores)
            kind, size = memory_type(first.operands[0].type)
            vector = writer.vector(tuple(i.operands[0] for i in stores))
            e.proved = True
            place = resolve(e, first.operands[1], size)
            at = address(e, place.ptr, place.offset.base or "0")
            masked.store(e, at, rounds.mask(n), kind, alignment(first, size), vector, n)


def find(e: Emitter, block: Block, rounds: Rounds) -> Stored | None:
    """The stores of a block's rounds; None where there are none, or they are not made alike."""
    stores = tuple(tuple(found) for found in rounds.stores.values())
    packs = Packs(e.function, block, e.out.layout, e.shape, frozenset(rounds.packs()))
    if not stores or not all(packs.collect(tuple(i.operands[0] for i in found)) for found in stores):
        return None
    if packs.loads():
        return None
    users = e.function.users
    gone = whole_only(e.function, [packs], lambda user: user.opcode == "store")
    whole = {
        pack
        for pack in packs.given
        if all(u.name in gone or u.opcode == "store" for n in pack for u in users.get(n, ()))
    }
    return Stored(stores, packs, gone, frozenset(whole))
