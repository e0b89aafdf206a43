"""Code for tiles on tensor cores (tiles.py): which values are in NVIDIA's order of lanes, and where they change to it.

Sums stay in that order from product to product and through the phis of loops. Whoever else reads one gets it in
Metal's order, by a shuffle where it is read, or where it is made if some lanes do not come there. What goes into a
product is brought into order where it is made, or read from memory in order (other_lanes.py). Lanes must all be there
for that, in the same iteration; elsewhere, and in safe math, products are chains of fused multiply-adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from metalloid.backends.cuda.banks import Order
from metalloid.backends.cuda.lanes import Lanes
from metalloid.backends.cuda.lines import Load, Start, loads
from metalloid.backends.cuda.other_lanes import Elements, OtherLanes
from metalloid.backends.cuda.tiles import Pair, Product, Tile, Tiles
from metalloid.ir import Function, Instruction
from metalloid.ir.cfg import graph
from metalloid.ir.intrinsics import MATRIX_PRODUCT
from metalloid.ir.types import FLOAT, I32, I64, ArrayType
from metalloid.ir.values import Float, Int, Local, Value

FOUR = ArrayType(4, FLOAT)
NOTHING = Float(FLOAT, 0)
Call = Callable[..., Instruction]


class Tensor:
    """What becomes of each instruction of a kernel. `call` and `name` are the lowering's; `inside` knows matrices in
    memory that every lane may read: those it has in NVIDIA's order are others than those it has in Metal's. `lanes`
    knows addresses. `readers` are values that blocks read besides the operands of their instructions."""

    def __init__(
        self,
        function: Function,
        full: Callable[[str], bool],
        call: Call,
        name: Callable[[str], str],
        inside: Callable[[Instruction], bool],
        lanes: Lanes,
        readers: Iterable[tuple[str, Value]] = (),
        orders: Mapping[str, Order] | None = None,
    ) -> None:
        self._function, self._full, self._call, self._name = function, full, call, name
        self._tiles = Tiles(function, full)
        self.used = bool(self._tiles.tiles)
        self._at = {tile.last: tile for tile in self._tiles.tiles}
        self._moved: set[str] = set()  # products and their parts: these come with the tile
        for p in self._tiles.products.values():
            self._moved |= {p.call.name, *(i.name for i, _ in self._tiles.parts(p.call))}
        self._sums = self._ordered() if self.used else set()
        self._seen: dict[tuple[str, str], Local] = {}  # block, value in NVIDIA's order: in Metal's
        self._operands: dict[tuple[str, Pair], Local] = {}
        self._after: dict[str, list[Instruction]] = {}  # by the name of what comes before
        self._apart = set(self._read_apart(readers)) if self.used else set()
        for phi in self._apart - self._moved:
            self._after[phi] = self._out(function.definitions[phi].value, "")
        self._early: set[tuple[str, Pair]] = set()
        self._bases: dict[tuple[str, Local, Int], tuple[Local, ...]] = {}
        self._memory = OtherLanes(function, full, inside)
        self._starts: dict[Start, Local] = {}
        wanted = dict.fromkeys((r, pair) for tile in self._tiles.tiles for r, _, pair in _operands(tile))
        products = sum(i.called == MATRIX_PRODUCT for i in function.instructions())
        self.all_products = len(self._tiles.products) == products  # are done by tensor cores
        self.lined: set[str] = set()  # loads of matrices that are lines
        for load in loads(function, self._memory, lanes, wanted, orders or {}):
            self._lines(load)
        for tile in self._tiles.tiles:
            for role, kind, pair in _operands(tile):
                self._want(role, kind, pair)

    # ---- which values are in NVIDIA's order -------------------------------------------------------------------------

    def _ordered(self) -> set[str]:
        """Parts of products, and phis of nothing but these and of what is the same for all lanes."""
        parts = {i.name for p in self._tiles.products.values() for i, _ in self._tiles.parts(p.call)}
        flow = graph(self._function)
        phis = {
            i.name: i
            for b in self._function.blocks
            if self._full(b.name) and all(self._full(s) for s in flow.predecessors[b.name])
            for i in b.phis
            if i.type in (FLOAT, I32)
        }
        reached: set[str] = set()
        work = list(parts)
        while work:
            for user in self._function.users.get(work.pop(), ()):
                if user.name in phis and user.name not in reached:
                    reached.add(user.name)
                    work.append(user.name)
        while wrong := {
            n
            for n in reached
            if any(
                isinstance(o, Local) and o.name not in reached and o.name not in parts
                for o in phis[n].operands
            )
        }:
            reached -= wrong
        return parts | reached

    def _read_apart(self, readers: Iterable[tuple[str, Value]]) -> Iterator[str]:
        """Sums that are read where not all lanes come: these change their order as soon as they are there."""
        for reader, value in readers:
            if isinstance(value, Local) and value.name in self._sums and not self._full(reader):
                yield value.name
        for block in self._function.blocks:
            for i in block.instructions:
                if i.name in self._sums or i.name in self._moved:
                    continue
                cases = i.cases if i.opcode == "phi" else [(o, block.name) for o in i.operands]
                for o, where in cases:
                    if isinstance(o, Local) and o.name in self._sums and not self._full(where):
                        yield o.name

    # ---- instructions as they are read one after the other ----------------------------------------------------------

    def replaced(self, i: Instruction) -> Iterator[Instruction] | None:
        """What stands for an instruction: nothing, or a tile; None for one that stays."""
        if not i.name or i.name not in self._moved:
            return None
        tile = self._at.get(i.name)
        return self._tile(tile) if tile is not None else iter(())

    def phi(self, i: Instruction) -> Instruction:
        """A phi, with sums in its own order."""
        if i.name in self._sums or not self.used:
            return i
        changed = tuple(self._in_metals(source, o) if self._is_sum(o) else o for o, source in i.cases)
        return replace(i, operands=changed)

    def read(self, i: Instruction, block: str) -> tuple[list[Instruction], Instruction]:
        """An instruction that is none of ours, and what brings the sums that it reads into its own order."""
        wanted = [o for o in i.operands if self._is_sum(o)] if self.used else []
        if not wanted:
            return [], i
        made: list[Instruction] = []
        values: dict[str, Value] = {}
        for o in dict.fromkeys(wanted):
            assert isinstance(o, Local)
            if o.name not in self._apart and (block, o.name) not in self._seen:
                made += self._out(o, block)
            values[o.name] = self._in_metals(block, o)
        return made, i.substitute(values)

    def leaving(self, block: str) -> Iterator[Instruction]:
        """At the end of a block: for phis of others that want sums in their own order."""
        for successor in self._function.block[block].successors if self.used else ():
            for i in self._function.block[successor].phis:
                for o, source in i.cases:
                    if source == block and i.name not in self._sums and self._is_sum(o):
                        assert isinstance(o, Local)
                        if o.name not in self._apart and (block, o.name) not in self._seen:
                            yield from self._out(o, block)

    def after(self, name: str) -> Iterator[Instruction]:
        """Operands of products, in order as soon as they are there."""
        return iter(self._after.get(name, ()))

    # ---- code -------------------------------------------------------------------------------------------------------

    def _is_sum(self, value: Value) -> bool:
        return isinstance(value, Local) and value.name in self._sums

    def _in_metals(self, block: str, value: Value) -> Local:
        assert isinstance(value, Local)
        return Local(f"{value.name}.metal.{'' if value.name in self._apart else block}", value.type)

    def _out(self, value: Local, block: str) -> list[Instruction]:
        """A sum in Metal's order, for all that reads it in a block."""
        made = self._in_metals(block, value)
        self._seen[block, value.name] = made
        if value.type == FLOAT:
            return [self._call("mtd_tensor_out", FLOAT, value, into=made.name)]
        real, moved = self._name("sum"), self._name("moved")
        return [
            Instruction("bitcast", FLOAT, (value,), real),
            self._call("mtd_tensor_out", FLOAT, Local(real, FLOAT), into=moved),
            Instruction("bitcast", I32, (Local(moved, FLOAT),), made.name),
        ]

    def _want(self, role: str, kind: str, pair: Pair) -> None:
        """Have an operand brought into order where the last of its two elements is made, or read in order at once."""
        if (role, pair) in self._operands:
            return
        into = self._operands[role, pair] = Local(self._name(role), I32)
        homes = [self._function.home.get(v.name) if isinstance(v, Local) else None for v in pair]
        if homes[0] is None or homes[0] != homes[1] or not self._full(homes[0]):
            return  # before the tile
        self._early.add((role, pair))
        if (load := self._memory.matrix(pair)) is not None:
            space = load.called.rpartition("_")[2]
            self._then(load.name, f"mtd_tensor_{role}_{space}", load.operands, into)
        elif (found := self._memory.elements(pair)) is not None:
            self._then(found.last, f"mtd_tensor_{role}_at", (*self._base(role, found), *found.offsets), into)
        else:
            self._then(self._memory.last(pair), f"mtd_tensor_{role}_{kind}", pair, into)

    def _lines(self, load: Load) -> None:
        """Matrices that one instruction loads, all where the first of them is."""
        many = len(load.of)
        all_ = Local(self._name("matrices"), ArrayType(many, I32))
        what = f"mtd_tensor_x{many}{'_turned' if load.of[0].turned else ''}"
        places = tuple(part for m in load.of for part in (self._start(m.start), Int(I32, m.offset)))
        self._then(load.first, what, places, all_)
        for n, m in enumerate(load.of):
            into = self._operands[m.role, m.pair] = Local(self._name(m.role), I32)
            self._early.add((m.role, m.pair))
            one = Instruction("extractvalue", I32, (all_,), into.name, indices=(n,))
            self._after[load.first].append(one)
            self.lined.add(m.first)

    def _start(self, of: Start) -> Local:
        """Where a lane finds its line, once for all matrices that lie at constant distances from there."""
        if of not in self._starts:
            base = self._starts[of] = Local(self._name("lines"), I64)
            kind, numbers = ("whole", [of.stride]) if of.stride else ("own", [of.apart, of.down])
            if of.order is not None:
                kind, numbers = "ordered", [of.apart, of.order.shift, of.order.mask, of.order.left]
            how = tuple(Int(I32, int(n)) for n in numbers)
            self._then(of.pointer.name, f"mtd_tensor_lines_{kind}", (of.pointer, *how), base)
        return self._starts[of]

    def _then(self, name: str, function: str, operands: tuple[Value, ...], into: Local) -> None:
        made = self._call(function, into.type, *operands, into=into.name)
        self._after.setdefault(name, []).append(made)

    def _base(self, role: str, found: Elements) -> tuple[Local, ...]:
        """Where other lanes' elements lie, once for all that lie at constant distances from there."""
        low, high = found.offsets
        apart = Int(I32, high.value - low.value)
        key = role, found.base, apart
        if key not in self._bases:
            parts = ("base",) if role == "rows" else ("base", "next")
            self._bases[key] = tuple(Local(self._name(part), I64) for part in parts)
            for part, into in zip(parts, self._bases[key], strict=True):
                self._then(found.base.name, f"mtd_tensor_{role}_{part}", (found.base, apart), into)
        return self._bases[key]

    def _operand(self, role: str, p: Product, made: list[Instruction]) -> Value:
        pair = p.a if role == "rows" else p.b
        if (role, pair) in self._early:
            return self._operands[role, pair]
        into = self._name(role)
        made.append(self._call(f"mtd_tensor_{role}_{p.kind}", I32, *pair, into=into))
        return Local(into, I32)

    def _sum(self, value: Value, made: list[Instruction]) -> Value:
        """What a product adds to, in NVIDIA's order."""
        if not isinstance(value, Local) or self._is_sum(value):
            return value
        into = self._name("sum")
        made.append(self._call("mtd_tensor_in", FLOAT, value, into=into))
        return Local(into, FLOAT)

    def _tile(self, tile: Tile) -> Iterator[Instruction]:
        made: list[Instruction] = []
        rows, depth = tile.rows, len(tile.rows[0])
        a = [self._operand("rows", row[k], made) if row else Int(I32, 0)
             for k in range(depth) for row in (rows[0], rows[1] if len(rows) > 1 else ())]  # fmt: skip
        b = [self._operand("columns", rows[0][k], made) for k in range(depth)]
        c = [self._sum(v, made) for row in rows for v in row[0].c]
        c += [NOTHING] * (4 - len(c))
        yield from made
        all_ = self._name("tile")
        kind, deep = rows[0][0].kind, 8 * depth
        yield self._call(f"mtd_tensor_product_{kind}_k{deep}", FOUR, *a, *b, *c, into=all_)
        for n, row in enumerate(rows):
            parts = list(self._tiles.parts(row[-1].call))
            for index in (0, 1):
                one = self._name("part")
                yield Instruction("extractvalue", FLOAT, (Local(all_, FOUR),), one, indices=(2 * n + index,))
                yield from self._named(Local(one, FLOAT), [i for i, k in parts if k == index])

    def _named(self, value: Local, parts: list[Instruction]) -> Iterator[Instruction]:
        """The parts of a product under the names that others know them by."""
        for i in parts:
            if i.opcode == "extractvalue":
                yield Instruction("bitcast", I32, (value,), i.name)
            else:
                yield Instruction("bitcast", i.type, i.operands, i.name)
            if i.name in self._apart:
                yield from self._out(i.value, "")


def _operands(tile: Tile) -> Iterator[tuple[str, str, Pair]]:
    for p in tile.members:
        yield "rows", p.kind, p.a
        yield "columns", p.kind, p.b
