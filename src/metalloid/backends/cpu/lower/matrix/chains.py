"""Matrix products that can be computed together, as in every kernel that multiplies.

Products of one block that add to the same matrix one after the other are a chain; chains that do not need each
other's results are computed at the last of their products, in tiles (see `tiles`): then sums stay in registers from
the first product to the last.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.backends.cpu.lower.output import Output
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import CHANGES, MATRIX_PRODUCT, effect, is_matrix_load, is_spill, reload_name
from metalloid.ir.types import FLOAT, I32
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass

LEAST = 4  # products; laying out the matrices of fewer does not pay
Pair = tuple[Value, ...]  # the two elements of each lane


@dataclass(frozen=True)
class Chain:
    """Products that add to one matrix."""

    products: tuple[Instruction, ...]

    @property
    def lefts(self) -> tuple[Pair, ...]:
        return tuple(i.operands[:2] for i in self.products)

    @property
    def rights(self) -> tuple[Pair, ...]:
        return tuple(i.operands[2:4] for i in self.products)

    @property
    def start(self) -> Pair:
        return self.products[0].operands[4:6]


@dataclass(frozen=True)
class Products:
    """Chains of one block, and what was taken out of their results."""

    chains: tuple[Chain, ...]
    parts: tuple[Instruction, ...]
    fresh: frozenset[str]  # what was loaded in this block and has not been written since

    @property
    def names(self) -> frozenset[str]:
        return frozenset(i.name for c in self.chains for i in c.products) | {i.name for i in self.parts}


class _Open:
    """Chains that may still grow."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.chains: list[list[Instruction]] = []
        self.parts: list[Instruction] = []
        self.origin: dict[str, tuple[str, int]] = {}  # of a part: the product, and which of its elements
        self.names: set[str] = set()  # of the products and the parts
        self.last = 0

    def made(self, i: Instruction) -> bool:
        return not self.names.isdisjoint(i.uses)

    def take_part(self, i: Instruction) -> None:
        (source,) = i.uses
        self.origin[i.name] = (source, i.indices[0]) if i.opcode == "extractvalue" else self.origin[source]
        self.parts.append(i)
        self.names.add(i.name)

    def grow(self, i: Instruction) -> bool:
        """Add a product to the chain it goes on with, or as a new chain; False where it needs other results."""
        if any(isinstance(o, Local) and o.name in self.origin for o in i.operands[:4]):
            return False
        sums = [self.origin.get(o.name) if isinstance(o, Local) else None for o in i.operands[4:]]
        if sums == [None, None]:
            self.chains.append([i])
            self.names.add(i.name)
            return True
        for chain in self.chains:
            before = chain[-1].name
            if sums == [(before, 0), (before, 1)] and self._only_for(before, i):
                chain.append(i)
                self.names.add(i.name)
                return True
        return False

    def _only_for(self, before: str, i: Instruction) -> bool:
        parts = {n for n, (product, _) in self.origin.items() if product == before}
        users = [u for n in (before, *parts) for u in self.function.users.get(n, ())]
        return all(u.name in parts or u.name == i.name for u in users)


def find(function: Function, block: Block) -> list[Products]:
    """The chains of a block, those together that can be computed at the last product of all of them."""
    found: list[Products] = []
    if not any(i.called == MATRIX_PRODUCT for i in block.instructions):
        return found
    fresh: set[str] = set()
    now = _Open(function)

    def close() -> None:
        nonlocal now
        if now.chains:
            chains = tuple(Chain(tuple(chain)) for chain in now.chains)
            found.append(Products(chains, tuple(now.parts), frozenset(fresh)))
        now = _Open(function)

    for i in block.body:
        if i.called == MATRIX_PRODUCT:
            if not now.grow(i):
                close()
                now.grow(i)
        elif now.made(i):
            if i.opcode == "extractvalue" or (i.opcode == "bitcast" and i.uses[0] in now.origin):
                now.take_part(i)
            elif not is_spill(i.called):
                close()
        if effect(i) & CHANGES:
            close()
            fresh.clear()
        elif i.opcode == "load" or is_matrix_load(i.called):
            fresh.add(i.name)
    close()
    return [p for p in found if sum(len(c.products) for c in p.chains) >= LEAST]


def sums_per_register(out: Output) -> int:
    """How many sums lie side by side in a register; 0 where products are computed one by one."""
    return out.target.matrix_rows if out.lanes.width == 32 else 0


def gathered(block: Block, found: list[Products]) -> Block:
    """The block with the members of each group where the last of them stood."""
    if not found:
        return block
    group = {name: n for n, products in enumerate(found) for name in products.names}
    last = {}
    for i in block.body:
        if i.called == MATRIX_PRODUCT and i.name in group:
            last[group[i.name]] = i.name

    def ordered() -> Iterator[Instruction]:
        waiting: dict[int, list[Instruction]] = {}
        for i in block.instructions:
            kept = i.uses[0] if is_spill(i.called) and i.uses else i.name
            n = group.get(kept)
            if n is None or n not in last:
                yield i
                continue
            waiting.setdefault(n, []).append(i)
            if i.name == last[n]:
                yield from waiting.pop(n)
                del last[n]

    return Block(block.name, tuple(ordered()))


def slot_number(i: Instruction) -> int:
    """The slot that a value is kept in, or read from."""
    number = i.operands[0]
    assert isinstance(number, Int)
    return number.value


def slot_of(function: Function, value: Value) -> int | None:
    """The slot that a value of 32 bits is read from."""
    i = function.definitions[value.name] if isinstance(value, Local) else None
    while i is not None and i.opcode == "bitcast" and isinstance(i.operands[0], Local):
        i = function.definitions[i.operands[0].name]
    return slot_number(i) if i is not None and i.called in _RELOADS else None


_RELOADS = (reload_name(FLOAT), reload_name(I32))


def origin(function: Function, value: Value) -> tuple[str, int] | None:
    """The product whose result a value is, and which element of the lane."""
    while isinstance(value, Local):
        i = function.definitions[value.name]
        if i.opcode == "extractvalue" and isinstance(i.operands[0], Local):
            return i.operands[0].name, i.indices[0]
        if not _passes_on(i):
            break
        value = i.operands[0]
    return None


def elements(function: Function, product: str) -> Iterator[tuple[Instruction, int]]:
    """All values whose `origin` is a product, and which element of the lane they are."""
    users = function.users
    work = [(i, i.indices[0]) for i in users.get(product, ()) if i.opcode == "extractvalue"]
    while work:
        i, element = work.pop()
        yield i, element
        work += [(user, element) for user in users.get(i.name, ()) if _passes_on(user)]


def _passes_on(i: Instruction) -> bool:
    """Whether a value is what it is made from."""
    return i.opcode == "bitcast" or (i.opcode == "phi" and len(i.operands) == 1)
