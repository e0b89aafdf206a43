"""The instructions of a block, one after the other; those that belong together (loads and stores of one row, products
of matrices) where the first or the last of them stands."""

from __future__ import annotations

from functools import partial

from metalloid.backends.cpu.lower.access import held, in_turn, load_groups, side_by_side, store_groups
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.instructions import instruction
from metalloid.backends.cpu.lower.matrix import chains, operands
from metalloid.backends.cpu.lower.matrix.called_tiles import CalledTiles
from metalloid.backends.cpu.lower.matrix.tiles import Tiles
from metalloid.ir import Block
from metalloid.records import replace


def write_straight(e: Emitter, block: Block) -> None:
    """All but the phis and the terminator, under the mask that the emitter has."""
    tiled = e.mask is None and chains.sums_per_register(e.out)
    found = chains.find(e.function, block) if tiled else []
    block = chains.gathered(block, found)
    multiplied = {group.chains[0].products[0].name: group for group in found}
    apart = partial(held.is_held, e)
    stores = store_groups.find(e.function, block, e.out.layout, apart)
    beside = side_by_side.find(e, block, stores)
    turns = in_turn.find(e, block)
    gone = (beside.gone | turns.gone) - {""}
    rest = replace(block, instructions=tuple(i for i in block.instructions if i.name not in gone))
    together = load_groups.find(e.function, rest, e.out.layout, apart)
    vectors, write_tiles = side_by_side.Writer(e, block, beside), CalledTiles if e.out.brief else Tiles
    e.done, e.rows, e.multiplied = set(gone), {}, operands.only_multiplied(e, found)
    for n, i in enumerate(block.body[:-1]):
        e.place = e.out.place(i)
        vectors.parts(n)
        if n in stores.others or i.name in e.done:
            continue
        if i.name in together:
            load_groups.load_group(e, together[i.name])
            if i.name in e.done:
                continue
        if i.name in turns.totals:
            in_turn.Writer(e, turns.totals[i.name]).write(i)
        elif i.name in multiplied:
            write_tiles(e, multiplied[i.name]).write()
        elif n in beside.stores:
            vectors.store(n)
        elif n not in stores.groups:
            instruction(e, i)
        elif not store_groups.store_group(e, stores.groups[n]):
            for _, store in sorted(stores.groups[n].stores, key=lambda s: s[0]):
                instruction(e, store)
