"""The instructions of a block, one after the other; those that belong together (loads and stores of one row, products
of matrices) where the first or the last of them stands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from metalloid.backends.cpu.lower.access import (
    held,
    load_groups,
    round_loads,
    round_stores,
    side_by_side,
    store_groups,
)
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.instructions import instruction
from metalloid.backends.cpu.lower.matrix import chains
from metalloid.ir import Block, Instruction
from metalloid.records import replace
from metalloid.transforms.partial_sums import is_total

if TYPE_CHECKING:
    from metalloid.backends.cpu.lower.access.flag_words import Found as Words
    from metalloid.backends.cpu.lower.access.in_turn import Found

JOINS = 7  # a word of eight answers has so many, at least


def write_straight(e: Emitter, block: Block) -> None:
    """All but the phis and the terminator, under the mask that the emitter has."""
    tiled = e.mask is None and chains.sums_per_register(e.out)
    found = chains.find(e.function, block) if tiled else []
    block = chains.gathered(block, found)
    multiplied = {group.chains[0].products[0].name: group for group in found}
    apart = partial(held.is_held, e)
    stores = store_groups.find(e.function, block, e.out.layout, apart)
    beside = side_by_side.find(e, block, stores)
    turns = _turns(e, block, beside.totals)
    gone = (beside.gone | turns.gone if turns else beside.gone) - {""}
    rounds = round_loads.rounds_of(e, block)
    words = _words(e, block, gone) if rounds is None else None  # a round that is not there must not be loaded
    gone |= words.gone if words else frozenset()
    if e.registers is not None:
        gone |= e.registers.gone(block.name)
    rest = replace(block, instructions=tuple(i for i in block.instructions if i.name not in gone))
    longest = partial(load_groups.longest_row, e)
    together = load_groups.find(e.function, rest, e.out.layout, apart, longest)
    if rounds is not None and e.registers is not None:
        rounds.whole = e.registers.whole(block.name)
    stored = round_stores.find(e, block, rounds) if rounds is not None else None
    if rounds is not None and stored is not None:
        gone, rounds.whole = gone | stored.gone, stored.whole
    elif (
        rounds is not None and rounds.stores
    ):  # a round that is not there has to load what the first one does
        rounds = None
    vectors = side_by_side.Writer(e, block, beside)
    e.done, e.rows, e.multiplied = set(gone), {}, _only_multiplied(e, found)
    for n, i in enumerate(block.body[:-1]):
        e.place = e.out.place(i)
        vectors.parts(n)
        if n in stores.others or i.name in e.done or (stored is not None and i in stored):
            continue
        if rounds is not None:
            rounds.write(i)
        if i.name in together and i.name not in e.done:
            load_groups.load_group(e, together[i.name])
        if i.name in e.done:
            continue
        if i.name in beside.totals:
            vectors.total(i)
        elif turns and i.name in turns.totals:
            turns.write(e, i)
        elif words and i.name in words.words:
            _write_word(e, i, words)
        elif i.name in multiplied:
            _write_tiles(e, multiplied[i.name])
        elif n in beside.stores:
            vectors.store(n)
        elif n not in stores.groups:
            instruction(e, i)
        elif not store_groups.store_group(e, stores.groups[n]):
            for _, store in sorted(stores.groups[n].stores, key=lambda s: s[0]):
                instruction(e, store)
    if rounds is not None and stored is not None:
        stored.write(e, rounds)
    if e.registers is not None:
        e.registers.write(block, rounds)


def _turns(e: Emitter, block: Block, beside: frozenset[str]) -> Found | None:
    """The sums of a block that lanes add up in turn; those `beside` each other are all added up at once."""
    if not any(is_total(i) and i.name not in beside for i in block.body):
        return None
    from metalloid.backends.cpu.lower.access import in_turn

    return in_turn.find(e, block, beside)


def _words(e: Emitter, block: Block, others: frozenset[str]) -> Words | None:
    """The words of a block that are put together of answers."""
    if sum(i.opcode in ("or", "add", "xor") for i in block.body) < JOINS:
        return None
    from metalloid.backends.cpu.lower.access import flag_words

    return flag_words.find(e, block, others)


def _write_word(e: Emitter, word: Instruction, found: Words) -> None:
    from metalloid.backends.cpu.lower.access import flag_rows

    flag_rows.write(e, word, found.words[word.name])


def _only_multiplied(e: Emitter, found: list[chains.Products]) -> dict[str, frozenset[str]]:
    if not found:
        return {}
    from metalloid.backends.cpu.lower.matrix.operands import only_multiplied

    return only_multiplied(e, found)


def _write_tiles(e: Emitter, products: chains.Products) -> None:
    """Only kernels that multiply matrices load what writes them."""
    from metalloid.backends.cpu.lower.matrix.called_tiles import CalledTiles
    from metalloid.backends.cpu.lower.matrix.tiles import Tiles

    (CalledTiles if e.out.brief else Tiles)(e, products).write()
