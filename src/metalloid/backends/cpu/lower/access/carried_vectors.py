"""Vectors of threads that a loop carries from round to round: sum += a[k] * x[k] of a float4.

Every part of the sum goes the same way, so a loop carries it as memory has it (`side_by_side.py`): what a round loads
is not taken apart into columns, and the sum is, once, where the loop ends. Where a block is not written in that way,
under a mask on a processor without masked loads, its columns are put together before the next round.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from metalloid.backends.cpu.lower.access import masked_vectors
from metalloid.backends.cpu.lower.access.side_by_side import (
    Parts,
    Search,
    in_order,
    is_uniform,
    may_be,
    names_of,
)
from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.ir import Block, Instruction
from metalloid.ir.loops import Loop
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass
from metalloid.transforms.memory_order import MOST, runs


@dataclass(frozen=True)
class Carried:
    """The parts of one vector: phis of a block; in a loop's header, what its last block makes of them as well."""

    block: str
    phis: tuple[Instruction, ...]
    last: str = ""
    following: tuple[Value, ...] = ()

    @property
    def names(self) -> Parts:
        return tuple(phi.name for phi in self.phis)

    def given(self, source: str) -> tuple[Value, ...]:
        """What an edge brings."""
        return tuple(phi.operands[phi.labels.index(source)] for phi in self.phis)


class CarriedVectors:
    """Those of one function."""

    def __init__(self, e: Emitter, found: Sequence[Carried]) -> None:
        self.e = e
        self.groups = {c.names: c for c in found}
        self.made: dict[Parts, str] = {}  # the vectors of the block that is written, by their parts
        self._part = {name: (c, n) for c in found for n, name in enumerate(c.names)}
        self._next = {name: (c, n) for c in found for n, name in enumerate(names_of(c.following))}

    def __contains__(self, phi: str) -> bool:
        return phi in self._part

    def following(self, block: str) -> list[tuple[Value, ...]]:
        """What a block makes for the next round."""
        return [c.following for c in self.groups.values() if c.last == block]

    def leaf(self, block: str) -> Callable[[Parts], bool]:
        """Which values a block has as vectors, or may have before the first round."""
        return _leaf(self.e, block, self.groups)

    def take(self, block: str) -> None:
        """What the edges to a block brought."""
        for carried in (c for c in self.groups.values() if c.block == block):
            e, type, slot = self.e, self._type(carried), self._slot(carried, "in")
            value = e.put(f"load {type}, ptr {slot}", "v")
            e.do(f"store {type} poison, ptr {slot}")
            e.do(f"store {type} {value}, ptr {self._slot(carried, 'now')}")

    def bring(self, source: str, target: str, lanes: str | None, together: bool) -> None:
        """What an edge brings to a block, for the lanes that take it."""
        e = self.e
        for carried in (c for c in self.groups.values() if c.block == target):
            value, type = self.vector(carried.given(source)), self._type(carried)
            slot = self._slot(carried, "in")
            if not together and lanes is not None:
                n = len(carried.phis)
                some = masked_vectors.for_each_part(e, lanes, n)
                old = e.put(f"load {type}, ptr {slot}")
                value = e.put(f"select <{e.width * n} x i1> {some}, {type} {value}, {type} {old}")
            e.do(f"store {type} {value}, ptr {slot}")

    def vector(self, given: tuple[Value, ...]) -> str:
        """Parts in the order of memory, where they are not so already."""
        if (names := names_of(given)) in self.made:
            return self.made[names]
        return self.now(names) if names in self.groups else in_order(self.e, given)

    def now(self, names: Parts) -> str:
        """What a block has of them."""
        carried = self.groups[names]
        return self.e.put(f"load {self._type(carried)}, ptr {self._slot(carried, 'now')}")

    def column(self, name: str) -> Val | None:
        """One part in all lanes; None where it is written as such."""
        if name in self._part:
            carried, n = self._part[name]
            return self._column(carried, self.now(carried.names), n)
        if name not in self._next:
            return None
        carried, n = self._next[name]
        made = self.made.get(names_of(carried.following))
        return self._column(carried, made, n) if made is not None else None

    def _column(self, carried: Carried, whole: str, n: int) -> Val:
        e, kind, count = self.e, lowered(carried.phis[0].type), len(carried.phis)
        places = [lane * count + n for lane in range(e.width)]
        return Val(kind, vec=pick(e, kind, whole, e.width * count, places))

    def _type(self, carried: Carried) -> str:
        return f"<{self.e.width * len(carried.phis)} x {lowered(carried.phis[0].type)}>"

    def _slot(self, carried: Carried, which: str) -> str:
        key = f"{which}:{carried.names}"
        if key not in self.e.launch_values:
            self.e.launch_values[key] = self.e.alloca(self._type(carried), "carried")
        return self.e.launch_values[key]


def find(e: Emitter) -> CarriedVectors | None:
    """The vectors that the loops of a function carry, and blocks behind them get; None where there are none."""
    if not may_be(e):
        return None
    found = [c for block in e.function.blocks if block.phis for c in _made_before(e, block)]
    while found and (more := [c for block in e.function.blocks for c in _behind(e, block, found)]):
        found += more
    return CarriedVectors(e, found) if found else None


def _behind(e: Emitter, block: Block, found: Sequence[Carried]) -> Iterator[Carried]:
    """Phis that get a vector from some edge, and the same numbers in all lanes or such a vector from others."""
    taken = {name for c in found for name in c.names}
    phis = [phi for phi in block.phis if phi.name not in taken and e.shape(phi.value) is None]
    for source in phis[0].labels if phis else ():
        known = [c.names for c in found] + [names_of(c.following) for c in found if c.last == source]
        places = {_name(phi.operands[phi.labels.index(source)]): phi for phi in reversed(phis)}
        for parts in known:
            if not parts or not all(name in places for name in parts):
                continue
            made = Carried(block.name, tuple(places[name] for name in parts))
            if all(_is_vector(e, found, made.given(s), s) for s in phis[0].labels):
                yield made
                return  # the others in the next round: what is taken is known then


def _is_vector(e: Emitter, found: Sequence[Carried], given: tuple[Value, ...], source: str) -> bool:
    if all(is_uniform(e, v) for v in given):
        return True
    return any(names_of(given) in (c.names, names_of(c.following) if c.last == source else ()) for c in found)


def _made_before(e: Emitter, block: Block) -> list[Carried]:
    """Phis that get what a block before them makes of vectors: the last of a loop, or one side of a branch."""
    loop = e.u.flow.forest.loops.get(block.name)
    sources = loop.latches if loop is not None else block.phis[0].labels
    if loop is not None and len(sources) > 1:
        return []
    found: list[Carried] = []
    for last in dict.fromkeys(sources):
        free = [phi for phi in block.phis if not any(phi in c.phis for c in found)]
        found += _from_block(e, list(_candidates(e, block.name, free, last, loop)), last)
    return found


def _from_block(e: Emitter, found: list[Carried], last: str) -> list[Carried]:
    """Those of the candidates whose values are vectors all the way."""
    search = Search(e, e.function.block[last])
    while found:
        search.leaf = _leaf(e, last, {c.names for c in found})
        trees = {c: search.next_round(c.following) for c in found}
        kept = search.closed([t for t in trees.values() if t is not None])
        inside = {name for t in kept for parts in t.parts for name in parts}
        gone = search.gone(kept)
        fine = [
            c
            for c, t in trees.items()
            if t in kept
            and any(search.made[p[0]].opcode == "load" and gone.issuperset(p) for p in t.parts)
            and _outside_only(e, c, inside)
        ]
        if len(fine) == len(found):
            break
        found = fine
    return found


def _candidates(
    e: Emitter, block: str, phis: Sequence[Instruction], last: str, loop: Loop | None
) -> Iterator[Carried]:
    """Phis that get from one block what is made alike of neighbours in memory."""
    of = {
        phi.operands[phi.labels.index(last)]: phi
        for phi in phis
        if isinstance(phi.type, FloatType | IntType) and e.shape(phi.value) is None
    }
    for run in runs(e.function, e.function.block[last], of, e.out.layout):
        made = Carried(block, tuple(of[v] for v in run), last, run)
        others = [made.given(s) for s in of[run[0]].labels if s != last]
        alike = loop is not None or all(is_uniform(e, v) for given in others for v in given)
        if 2 <= len(run) <= MOST and alike:
            yield made


def _outside_only(e: Emitter, carried: Carried, inside: set[str]) -> bool:
    """Whether the loop wants vectors only: its parts are read one by one where it ends, by edges to others."""
    loop = e.u.flow.forest.loops.get(carried.block)
    blocks = loop.blocks if loop is not None else frozenset[str]()
    phis = set(carried.names)
    for name in (*(carried.names if loop is not None else ()), *names_of(carried.following)):
        for user in e.function.users.get(name, ()):
            if user.name in inside or user.name in phis:
                continue
            if user.opcode != "phi" or e.function.home[user.name] in blocks:
                return False
            sources = {b for v, b in user.cases if isinstance(v, Local) and v.name == name}
            if not sources <= (blocks if name in phis else {carried.last}):
                return False
    return True


def _leaf(e: Emitter, block: str, groups: Collection[Parts]) -> Callable[[Parts], bool]:
    loop = e.u.flow.forest.innermost.get(block)
    home = e.function.home

    def leaf(names: Parts) -> bool:
        if names in groups:
            return True
        return loop is not None and all(home.get(n, "") not in loop.blocks for n in names)

    return leaf


def _name(value: Value) -> str:
    return value.name if isinstance(value, Local) else ""
