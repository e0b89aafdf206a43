"""Vectors of threads whose parts all go the same way: b[i] = 0.5 * (a[i] + a[i + 1]) of a uchar4, half4, float3.

Parts of one thread lie side by side in memory, and those of the next thread behind them. As a column for each part,
they are taken apart when they are loaded and put together when they are stored, which costs more than all the rest.
Where the same is done to every part, a register may hold them as memory does, by thread and part: loads and stores are
plain ones, and n instructions become one of n times as many lanes.

The trees are looked for from the stores up: n stores of one vector, the n instructions that make them, and so on, to
loads of such vectors, to numbers that all lanes share, and to values of a thread that all its parts share. What a loop
carries from round to round is a tree as well, and a leaf of others (`carried_vectors.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from metalloid.analysis.intervals import is_proved, streamed
from metalloid.analysis.word_parts import word_parts
from metalloid.backends.cpu.lower.access import masked_vectors, packs, store_groups
from metalloid.backends.cpu.lower.access.alike_lanes import as_lanes
from metalloid.backends.cpu.lower.access.load_groups import space_of
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address, alignment, memory_type, resolve
from metalloid.backends.cpu.lower.access.plan import is_row, spots
from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops.partial_total import both
from metalloid.ir import Block, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import CHANGES, effect
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass
from metalloid.transforms.memory_order import MOST
from metalloid.transforms.partial_sums import is_total, kind_of

Parts = tuple[str, ...]  # the names of n instructions, one for each part


@dataclass(frozen=True)
class Root:
    """Stores of one vector, part by part or as words that it was put together to."""

    place: int  # of the last store
    base: Value
    low: int  # how far behind it the vector starts
    stores: tuple[Instruction, ...]
    values: tuple[Value, ...]
    kind: str  # of a part in memory, and its bytes
    size: int
    inner: frozenset[str]  # what puts words together


@dataclass(frozen=True)
class Tree:
    """What the stores of one vector need, or a loop for its next round: its parts, operands first."""

    root: Root | Instruction | None  # stores of a vector, or the total of its parts
    carried: Parts  # what the next round gets
    parts: tuple[Parts, ...]
    plain: frozenset[str]  # values that are wanted lane by lane as well


@dataclass(frozen=True)
class Found:
    """The trees of a block; which parts are written at which place; and the names that nobody else wants."""

    stores: dict[int, Root]  # by the place of the last store
    totals: frozenset[str]
    at: dict[int, list[Parts]]
    gone: frozenset[str]


NOTHING = Found({}, frozenset(), {}, frozenset())


def may_be(e: Emitter) -> bool:
    """Whether a function has such trees at all."""
    return e.width > 1 and not e.out.continue_after_fault and e.out.check is None


def find(e: Emitter, block: Block, stores: store_groups.Found) -> Found:
    """The trees under the stores of a block and what it brings to the next round, as it is written now."""
    if not may_be(e) or (e.mask is not None and not e.out.target.masks_memory):
        return NOTHING
    carried = e.carried
    search = Search(e, block, carried.leaf(block.name) if carried is not None else None)
    found = [search.tree(root) for root in search.roots(stores)]
    found += [search.total(i) for i in block.body if is_total(i)]
    if carried is not None:
        found += [search.next_round(values) for values in carried.following(block.name)]
    trees = search.closed([t for t in found if t is not None])
    if not trees:
        return NOTHING
    at: dict[int, list[Parts]] = {}
    every = dict.fromkeys(parts for tree in trees for parts in tree.parts)
    for parts in every:
        at.setdefault(max(search.place[name] for name in parts), []).append(parts)
    stored = {t.root.place: t.root for t in trees if isinstance(t.root, Root)}
    totals = frozenset(t.root.name for t in trees if isinstance(t.root, Instruction))
    return Found(stored, totals, at, search.gone(trees))


class Search:
    """Looks for trees in one block. `leaf`: which values it gets as vectors, or puts together once for all rounds."""

    def __init__(self, e: Emitter, block: Block, leaf: Callable[[Parts], bool] | None = None) -> None:
        self.e, self.block, self.body, self.leaf = e, block, block.body, leaf
        self.place = {i.name: n for n, i in enumerate(self.body) if i.name}
        self.made: dict[str, Instruction] = {i.name: i for i in self.body if i.name}

    def roots(self, found: store_groups.Found) -> Iterator[Root]:
        """Stores that may be those of vectors."""
        function, layout = self.e.function, self.e.out.layout
        for n, group in found.groups.items():
            if (root := self._root(n, group.base, group.stores)) is not None:
                yield root
        for n, i in enumerate(self.body):
            if i.opcode != "store" or i.ordering or n in found.groups or n in found.others:
                continue
            base, offset = constant_base(function, i.operands[1], layout)
            if isinstance(base, Local) and (root := self._root(n, base, ((offset, i),))) is not None:
                yield root

    def _root(self, place: int, base: Value, group: tuple[tuple[int, Instruction], ...]) -> Root | None:
        stores, low = tuple(i for _, i in group), group[0][0]
        values = tuple(i.operands[0] for i in stores)
        if not isinstance(values[0].type, FloatType | IntType):
            return None
        kind, size = memory_type(values[0].type)
        if kind != lowered(values[0].type) or not self._is_row(base, stores, size * len(stores)):
            return None
        words = [p for v in values if (p := word_parts(self.e.function, v, self.block.name)) is not None]
        if len(words) == len(values) and len({(w.bits, w.values[0].type) for w in words}) == 1:
            values, inner = (
                tuple(v for w in words for v in w.values),
                frozenset().union(*(w.inner for w in words)),
            )
            kind, size = lowered(values[0].type), words[0].bits // 8
            kind = kind if isinstance(values[0].type, FloatType) else f"i{words[0].bits}"
            return Root(place, base, low, stores, values, kind, size, inner)
        return Root(place, base, low, stores, values, kind, size, frozenset())

    def tree(self, root: Root) -> Tree | None:
        if not 2 <= len(root.values) <= MOST:
            return None
        parts: dict[Parts, None] = {}
        plain: set[str] = set()
        if not self._collect(root.values, parts, plain):
            return None
        loaded = [p for p in parts if self.made[p[0]].opcode == "load"]
        return Tree(root, (), tuple(parts), frozenset(plain)) if loaded else None

    def next_round(self, values: tuple[Value, ...]) -> Tree | None:
        """The tree of what a loop's next round gets."""
        parts: dict[Parts, None] = {}
        plain: set[str] = set()
        if not self._collect(values, parts, plain) or (names := names_of(values)) not in parts:
            return None
        return Tree(None, names, tuple(parts), frozenset(plain))

    def total(self, made: Instruction) -> Tree | None:
        """The tree of what is folded into one number of each thread."""
        parts: dict[Parts, None] = {}
        plain: set[str] = set()
        names, n = names_of(made.operands), len(made.operands)
        if n & (n - 1) or len(set(names)) < n or not self._collect(made.operands, parts, plain):
            return None
        loaded = [p for p in parts if self.made[p[0]].opcode == "load"]
        carried = self.e.carried is not None and names in self.e.carried.groups
        return Tree(made, (), tuple(parts), frozenset(plain)) if loaded or carried else None

    def _collect(self, values: tuple[Value, ...], parts: dict[Parts, None], plain: set[str]) -> bool:
        """The parts that values are made of; False where the values do not go the same way."""
        if all(is_uniform(self.e, v) for v in values):
            return True
        names = names_of(values)
        if len(names) < len(values):
            return False
        if names in parts or (self.leaf is not None and self.leaf(names)):
            return True
        if len(set(names)) == 1:
            plain.add(names[0])
            return True
        if len(set(names)) < len(names) or not all(n in self.made for n in names):
            return False
        made = [self.made[n] for n in names]
        if made[0].opcode == "load":
            fits = self._is_vector(made)
        else:
            fits = packs.alike(made, self.e.shape) and all(
                self._collect(operands, parts, plain)
                for operands in zip(*(i.operands for i in made), strict=True)
            )
        if fits:
            parts[names] = None
        return fits

    def _is_vector(self, loads: list[Instruction]) -> bool:
        """Whether loads are the parts of one vector, in order, and nothing is stored meanwhile."""
        layout, function = self.e.out.layout, self.e.function
        if not packs.side_by_side(function, loads, layout):
            return False
        base, size = (
            constant_base(function, loads[0].operands[0], layout)[0],
            layout.store_size(loads[0].type),
        )
        low, high = (f(self.place[i.name] for i in loads) for f in (min, max))
        between = [i for i in self.body[low:high] if i.opcode == "store" or effect(i) & CHANGES]
        if any(i.opcode != "store" or space_of(i.operands[1]) == space_of(base) for i in between):
            return False
        fits = isinstance(loads[0].type, FloatType | IntType) and memory_type(loads[0].type)[0]
        return fits == lowered(loads[0].type) and self._is_row(base, loads, size * len(loads))

    def _is_row(self, base: Value, accesses: Sequence[Instruction], size: int) -> bool:
        """Whether the vectors of all lanes lie one behind the other in a buffer, and nobody has to look at bounds."""
        e, root, shape = self.e, self.e.roots.root(base), self.e.shape(base)
        if root is None or root.kind != "buffer" or shape is None or not shape.terms:
            return False
        if not shape.exact and any(c for c, _ in shape.terms):
            return False
        if e.out.guard and not all(is_proved(i) for i in accesses):
            return False
        return is_row(spots(shape.terms, e.width), size)

    def closed(self, trees: list[Tree]) -> list[Tree]:
        """The trees whose instructions only trees use."""
        while trees:
            gone = self.gone(trees)
            kept = [
                t
                for t in trees
                if (not isinstance(t.root, Root) or t.root.inner <= gone)
                and all(self.made[n].opcode == "load" or n in gone for parts in t.parts for n in parts)
            ]
            if len(kept) == len(trees):
                break
            trees = kept
        return trees

    def gone(self, trees: list[Tree]) -> frozenset[str]:
        """What need not be written lane by lane: loads, too, where others want them, are written both ways; and what
        is carried is taken apart where a loop ends."""
        roots = [t.root for t in trees if isinstance(t.root, Root)]
        totals = {t.root.name for t in trees if isinstance(t.root, Instruction)}
        carried = {name for t in trees for name in t.carried}
        inside = {name for t in trees for parts in t.parts for name in parts}
        inside |= {name for root in roots for name in root.inner}
        stores = {id(i) for root in roots for i in root.stores}
        plain: frozenset[str] = frozenset().union(*(t.plain for t in trees))
        users = self.e.function.users

        def fine(name: str, user: Instruction) -> bool:
            if user.name in inside or id(user) in stores or user.name in totals:
                return True
            return name in carried and user.opcode == "phi"

        return frozenset(n for n in inside - plain if all(fine(n, u) for u in users.get(n, ())))


class Writer:
    """Writes the trees of one block."""

    def __init__(self, e: Emitter, block: Block, found: Found) -> None:
        self.e, self.found = e, found
        self.made = {i.name: i for i in block.body if i.name}
        self.vectors: dict[Parts, str] = {}
        if e.carried is not None:
            e.carried.made = self.vectors

    def parts(self, n: int) -> None:
        """What belongs to the n-th instruction of the block."""
        for parts in self.found.at.get(n, ()):
            made = [self.made[name] for name in parts]
            self.vectors[parts] = self._load(made) if made[0].opcode == "load" else self._operation(made)

    def store(self, n: int) -> None:
        e, root = self.e, self.found.stores[n]
        stores, kind, count = root.stores, root.kind, len(root.values)
        value, have = self._operand(root.values), lowered(root.values[0].type)
        if have != kind:
            value = e.put(f"trunc {self._type(have, count)} {value} to {self._type(kind, count)}")
        e.proved = all(is_proved(i) for i in stores)
        place = resolve(e, root.base, root.size)
        align = min(alignment(i, e.out.layout.store_size(i.operands[0].type)) for i in stores)
        at, whole = (
            _start(e, place, root.low),
            min(min(streamed(i) for i in stores), root.size * count * e.width),
        )
        if e.mask is not None:
            masked_vectors.store(e, at, value, count, kind, root.size, align)
        elif whole and place.multiple % whole == 0 and root.low % whole == 0:
            e.do(f"store {self._type(kind, count)} {value}, ptr {at}, align {whole}, !nontemporal !3")
        else:
            e.do(f"store {self._type(kind, count)} {value}, ptr {at}, align {align}")

    def total(self, sum: Instruction) -> None:
        """The parts of each thread as one, by halves."""
        e, kind, n = self.e, lowered(sum.type), len(sum.operands)
        whole = self._operand(sum.operands)
        while n > 1:
            n //= 2
            low, high = (
                pick(
                    e,
                    kind,
                    whole,
                    2 * n * e.width,
                    [2 * n * x + y for x in range(e.width) for y in range(m, m + n)],
                )
                for m in (0, n)
            )
            whole = both(e, kind_of(sum), kind, n * e.width, low, high)
        e.set(sum.name, Val(kind, vec=whole))

    def _type(self, kind: str, count: int) -> str:
        return f"<{self.e.width * count} x {kind}>"

    def _load(self, loads: list[Instruction]) -> str:
        e = self.e
        kind, size = memory_type(loads[0].type)
        base, low = constant_base(e.function, loads[0].operands[0], e.out.layout)
        e.proved = all(is_proved(i) for i in loads)
        at, align = _start(e, resolve(e, base, size), low), min(alignment(i, size) for i in loads)
        if e.mask is not None:
            return masked_vectors.load(e, at, len(loads), kind, size, align)
        return e.put(f"load {self._type(kind, len(loads))}, ptr {at}, align {align}")

    def _operation(self, made: list[Instruction]) -> str:
        """One of the instructions, with the parts of all lanes as its lanes."""
        e = self.e

        def operand(given: tuple[Value, ...]) -> Val:
            if all(v == given[0] for v in given) and e.get(given[0]).uniform:
                return e.get(given[0])
            return Val(lowered(given[0].type), vec=self._operand(given))

        return as_lanes(e, made, e.width * len(made), operand)

    def _operand(self, given: tuple[Value, ...]) -> str:
        """Values of n parts, in the order of memory."""
        if self.e.carried is not None:
            return self.e.carried.vector(given)
        return self.vectors.get(names_of(given)) or in_order(self.e, given)


def is_uniform(e: Emitter, value: Value) -> bool:
    shape = e.shape(value)
    return not isinstance(value, Local) or (shape is not None and shape.uniform)


def names_of(values: tuple[Value, ...]) -> Parts:
    """The names of parts; fewer than there are values where some are numbers."""
    return tuple(v.name for v in values if isinstance(v, Local))


def in_order(e: Emitter, given: tuple[Value, ...]) -> str:
    """Values of n parts as a vector in the order of memory: thread by thread."""
    n, kind, total = len(given), lowered(given[0].type), e.width * len(given)
    if not all(e.get(v).uniform for v in given):
        if any(v != given[0] for v in given):
            return store_groups.interleaved(e, kind, [e.vector(v) for v in given], 0, e.width)
        return pick(e, kind, e.vector(given[0]), e.width, [x // n for x in range(total)])
    one = "poison"
    for k, value in enumerate(given):
        one = e.put(f"insertelement <{n} x {kind}> {one}, {kind} {e.scalar(value)}, i64 {k}")
    return pick(e, kind, one, n, [x % n for x in range(total)])


def _start(e: Emitter, place: MemRef, low: int) -> str:
    base = place.offset.base or "0"
    return address(e, place.ptr, e.put(f"add i64 {base}, {low}") if low else base)
