"""Products of 8x8 matrices that tensor cores can do, put together to the 16x8 and 16 deep tiles that these do at once.

Two products with the same right side are the upper and the lower half of a tile; one that goes on with the sum of
another is its second half in depth. Products that find no other leave half of a tile empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import MATRIX_PRODUCT
from metalloid.ir.types import BFLOAT, FLOAT, HALF, I32, Type
from metalloid.ir.values import Local, Value

KINDS: dict[Type, str] = {HALF: "f16", BFLOAT: "bf16"}
Pair = tuple[Value, Value]  # a lane's two elements


@dataclass(frozen=True)
class Product:
    """a * b + c, of matrices with 16 bits an element and a sum of floats."""

    call: Instruction
    at: int  # its place in the block
    kind: str
    a: Pair
    b: Pair

    @property
    def c(self) -> Pair:
        return self.call.operands[4], self.call.operands[5]


@dataclass(frozen=True)
class Tile:
    """Products that are done at once: rows of one or two, each of one or two in depth."""

    rows: tuple[tuple[Product, ...], ...]

    @cached_property
    def members(self) -> tuple[Product, ...]:
        return tuple(p for row in self.rows for p in row)

    @cached_property
    def at(self) -> int:
        return max(p.at for p in self.members)

    @cached_property
    def last(self) -> str:
        """The name of the product in whose place the tile is."""
        return next(p.call.name for p in self.members if p.at == self.at)


@dataclass
class Tiles:
    """All tiles of a function. `full` says which blocks all lanes come to."""

    function: Function
    full: Callable[[str], bool]
    tiles: list[Tile] = field(default_factory=list)

    def __post_init__(self) -> None:
        for block in self.function.blocks:
            if self.full(block.name):
                self.tiles += self._of(block)

    @cached_property
    def products(self) -> Mapping[str, Product]:
        return {p.call.name: p for tile in self.tiles for p in tile.members}

    def _of(self, block: Block) -> list[Tile]:
        found = {p.call.name: p for p in self._products(block)}
        if not found:
            return []
        follows = dict(self._following(found))
        tiles = list(_combined(list(found.values()), follows))
        places = {id(i): n for n, i in enumerate(block.instructions)}
        while late := [t for t in tiles if self._too_late(t, tiles, places)]:
            tiles = [t for t in tiles if t not in late] + [Tile(((p,),)) for t in late for p in t.members]
        return tiles

    def _products(self, block: Block) -> Iterator[Product]:
        for n, i in enumerate(block.instructions):
            if i.called != MATRIX_PRODUCT:
                continue
            parts = [self._narrow(o) for o in i.operands[:4]]
            kinds = {p.type for p in parts if p is not None}
            users = self.function.users.get(i.name, ())
            if None in parts or len(kinds) != 1 or any(u.opcode != "extractvalue" for u in users):
                continue
            a0, a1, b0, b1 = (p for p in parts if p is not None)
            kind = KINDS.get(kinds.pop())
            if kind is not None:
                yield Product(i, n, kind, (a0, a1), (b0, b1))

    def _narrow(self, value: Value) -> Value | None:
        """The half or bfloat that a float was made from."""
        made = self.function.definitions.get(value.name) if isinstance(value, Local) else None
        return made.operands[0] if made is not None and made.opcode == "fpext" else None

    def parts(self, product: Instruction) -> Iterator[tuple[Instruction, int]]:
        """What is taken out of a product's result, word by word and as floats, each with its index."""
        work = [(u, u.indices[0]) for u in self.function.users.get(product.name, ())]
        for i, index in work:
            yield i, index
            users = self.function.users.get(i.name, ())
            work += [(u, index) for u in users if u.opcode == "bitcast" and u.type in (FLOAT, I32)]

    def _following(self, found: Mapping[str, Product]) -> Iterator[tuple[str, Product]]:
        """For a product the one that goes on with its sum, where nobody else needs that."""
        for name, p in found.items():
            parts = {i.name: index for i, index in self.parts(p.call)}
            users = {
                id(u): u for n in parts for u in self.function.users.get(n, ()) if u.name not in parts
            }.values()
            if len(users) != 1:
                continue
            (user,) = users
            other = found.get(user.name)
            if other is None or other.kind != p.kind:
                continue
            if [parts.get(c.name) if isinstance(c, Local) else None for c in other.c] == [0, 1] and not any(
                isinstance(o, Local) and o.name in parts for o in other.call.operands[:4]
            ):
                yield name, other

    def _too_late(self, tile: Tile, tiles: list[Tile], places: Mapping[int, int]) -> bool:
        """Whether somebody needs a part of a tile before all of it can be computed."""
        if len(tile.members) == 1:
            return False
        of = {p.call.name: t for t in tiles for p in t.members}
        inside = {(one.call.name, two.call.name) for row in tile.rows for one, two in pairwise(row)}
        for p in tile.members:
            parts = {i.name for i, _ in self.parts(p.call)}
            for user in (u for n in parts for u in self.function.users.get(n, ()) if u.name not in parts):
                if (p.call.name, user.name) in inside or user.opcode == "phi":
                    continue
                place = of[user.name].at if user.name in of else places.get(id(user))
                if place is not None and place <= tile.at:
                    return True
        return False


def _combined(found: list[Product], follows: Mapping[str, Product]) -> Iterator[Tile]:
    taken: set[str] = set()

    def free(p: Product | None) -> Product | None:
        return p if p is not None and p.call.name not in taken else None

    for p in found:
        if p.call.name in taken:
            continue
        deep = free(follows.get(p.call.name))
        beside = [
            q for q in found if q is not p and q is not deep and free(q) and q.b == p.b and q.kind == p.kind
        ]
        both = [(q, r) for q in beside if deep and (r := free(follows.get(q.call.name))) and r.b == deep.b]
        if deep and both:
            tile = Tile(((p, deep), both[0]))
        elif beside:
            tile = Tile(((p,), (beside[0],)))
        else:
            tile = Tile(((p, deep) if deep else (p,),))
        taken |= {m.call.name for m in tile.members}
        yield tile
