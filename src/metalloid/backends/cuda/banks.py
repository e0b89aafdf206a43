"""Lines of tiles in an order in which threads that store at once meet in no bank of threadgroup memory.

Threadgroup memory has eight banks of 16 bytes side by side, and eight threads store 16 bytes each at once. The eight
lines of a tile may lie in any order: line n of a tile lies where line n ^ k was, where k is made from its address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

LINE, LINES, AT_ONCE = 16, 8, 8


@dataclass(frozen=True)
class Order:
    """k = (address >> shift & mask) << left."""

    shift: int
    mask: int
    left: int

    def of(self, address: int) -> int:
        return (address >> self.shift & self.mask) << self.left


def best(stores: Iterable[tuple[int, ...]]) -> Order | None:
    """The order for lines that lanes store at these places; None where it is as good as it can be."""
    all_ = list(stores)
    orders = [
        Order(shift, mask, left)
        for shift, (mask, left) in product(range(7, 14), ((1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (7, 0)))
    ]
    least = min(orders, key=lambda order: sum(_cost(places, order) for places in all_))
    now = sum(_cost(places, Order(0, 0, 0)) for places in all_)
    return least if sum(_cost(places, least) for places in all_) < now else None


def _cost(places: tuple[int, ...], order: Order) -> int:
    """How often memory is gone to for one store of all lanes."""
    found = 0
    for start in range(0, len(places), AT_ONCE):
        lines = {at // LINE * LINE for at in places[start : start + AT_ONCE]}
        banks = Counter((at // LINE % LINES) ^ order.of(at) for at in lines)
        found += max(banks.values())
    return found
