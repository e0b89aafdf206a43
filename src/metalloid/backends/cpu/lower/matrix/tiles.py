"""Matrix products in tiles: one row of matrices on the left, up to four matrices on the right.

A register of AVX-512 holds one row of two sums side by side, so a step takes one element of the left matrix for all
lanes and a row of two right matrices: 16 registers of sums, ten loads for 16 fused multiply-adds. The right matrices
are laid out in such rows first; elements of left ones are read where they are. With AVX2 a tile is one sum, a
register one row of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from metalloid.backends.cpu.lower.access.transpose import SIDE, part, side_by_side, turned_eights
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.matrix.chains import Chain, Products, elements, slot_of, sums_per_register
from metalloid.backends.cpu.lower.matrix.elements import assemble, kept_element
from metalloid.backends.cpu.lower.matrix.operands import Pair, Source, rows_of, source
from metalloid.backends.cpu.lower.output import MatrixPlace
from metalloid.backends.cpu.lower.text import Text
from metalloid.records import dataclass, replace


@dataclass(frozen=True)
class Elements:
    """Left matrices: element (r, c) is at `pointer` + r * `row` + c * `column`."""

    pointer: str
    row: int
    column: int


class Tiles:
    """Writes all products of a group."""

    def __init__(self, e: Emitter, products: Products) -> None:
        self.e, self.products, self.sums_per_register = e, products, sums_per_register(e.out)
        self.left: dict[Pair, Elements] = {}
        self.right: dict[tuple[Pair, ...], str] = {}

    def write(self) -> None:
        across = self.sums_per_register * self.e.out.target.matrix_columns
        for row in rows(self.products):
            for n in range(0, len(row), across):
                self._multiply(row[n : n + across])

    # ---- matrices in memory ---------------------------------------------------------------------------

    def _area(self, vectors: int, lanes: int) -> str:
        """Memory of which LLVM does not know what it is: else it would keep all of it in registers, and spill."""
        place = self.e.alloca(f"[{vectors} x <{lanes} x float>], align 64", "matrix")
        return self.e.put(f'call ptr asm sideeffect "", "=r,0"(ptr {place})')

    def _lay_left(self, pair: Pair) -> Elements:
        if pair not in self.left:
            found = source(self.e, pair, self.products.fresh)
            if found is not None and found.kind == "float" and found.is_known:
                self.left[pair] = Elements(found.pointer, int(found.row), int(found.column))
            else:
                self.left[pair] = self._lay_elements(pair, found)
        return self.left[pair]

    def _lay_elements(self, pair: Pair, found: Source | None) -> Elements:
        e, place = self.e, self._area(SIDE, SIDE)
        if found is None:
            e.do(f"store <64 x float> {rows_of(e, pair)}, ptr {place}, align 64")
            return Elements(place, 4 * SIDE, 4)
        for n, line in enumerate(lines_of(e, found)):
            at = e.put(f"getelementptr i8, ptr {place}, i64 {4 * SIDE * n}")
            e.do(f"store <{SIDE} x float> {line}, ptr {at}, align 32")
        return Elements(place, 4 * SIDE, 4) if found.by_row else Elements(place, 4, 4 * SIDE)

    def _lay_right(self, pairs: tuple[Pair, ...]) -> str:
        """Rows of one or two matrices side by side."""
        if pairs in self.right:
            return self.right[pairs]
        e, lanes = self.e, SIDE * len(pairs)
        parts = [self._rows_of(pair) for pair in pairs]
        if all(by_row for _, by_row in parts):
            rows = [side_by_side(e, [lines[n] for lines, _ in parts]) for n in range(SIDE)]
        else:
            turned = [lines if not by_row else turned_eights(e, lines, SIDE) for lines, by_row in parts]
            rows = turned_eights(
                e, [side_by_side(e, [lines[n] for lines in turned]) for n in range(SIDE)], lanes
            )
        place = self._area(SIDE, lanes)
        for n, row in enumerate(rows):
            at = e.put(f"getelementptr i8, ptr {place}, i64 {4 * lanes * n}")
            e.do(f"store <{lanes} x float> {row}, ptr {at}, align {4 * lanes}")
        self.right[pairs] = place
        return place

    def _rows_of(self, pair: Pair) -> tuple[list[str], bool]:
        """Eight vectors of eight, and whether they are rows."""
        e, found = self.e, source(self.e, pair, self.products.fresh)
        if found is not None:
            return lines_of(e, found), found.by_row
        whole = rows_of(e, pair)
        return [part(e, "float", whole, SIDE * n, SIDE, 64) for n in range(SIDE)], True

    # ---- the products ---------------------------------------------------------------------------------

    def _multiply(self, chains: list[Chain]) -> None:
        e = self.e
        tile = list(vectors(chains, self.sums_per_register))
        sums = [self._start(vector) for vector in tile]
        for step in range(len(chains[0].products)):
            left = self._lay_left(chains[0].lefts[step])
            right = [self._lay_right(tuple(c.rights[step] for c in vector)) for vector in tile]
            pointers = [left.pointer, *right]
            for k in range(SIDE):
                *pointers, sums[-1][-1] = self._after(pointers, sums[-1][-1], _kind(tile[-1]))
                right_rows = []
                for vector, pointer in zip(tile, pointers[1:], strict=True):
                    size = 4 * SIDE * len(vector)
                    at = e.put(f"getelementptr i8, ptr {pointer}, i64 {size * k}")
                    right_rows.append(e.put(f"load {_kind(vector)}, ptr {at}, align {size}"))
                for r in range(SIDE):
                    offset = r * left.row + k * left.column
                    at = e.put(f"getelementptr i8, ptr {pointers[0]}, i64 {offset}")
                    one = e.put(f"load float, ptr {at}, align 4")
                    for n, vector in enumerate(tile):
                        sums[n][r] = self._fused(one, right_rows[n], sums[n][r], len(vector) * SIDE)
        for vector, found in zip(tile, sums, strict=True):
            self._finish(vector, [self._pinned(ref, _kind(vector)) for ref in found])

    def _fused(self, one: str, row: str, total: str, lanes: int) -> str:
        e, kind = self.e, f"<{lanes} x float>"
        name = f"llvm.fma.v{lanes}f32"
        e.out.declare(name, f"declare {kind} @{name}({kind}, {kind}, {kind})")
        return e.put(
            f"call {kind} @{name}({kind} {e.splat('float', one, lanes)}, {kind} {row}, {kind} {total})"
        )

    def _after(self, pointers: list[str], ready: str, kind: str) -> list[str]:
        """The same pointers, but not before a value is ready: else LLVM would load what all steps need at once."""
        e, count = self.e, len(pointers)
        made = "{ " + ", ".join(["ptr"] * count + [kind]) + " }"
        outs, ins = ",".join(["=r"] * count + ["=v"]), ",".join(str(n) for n in range(count + 1))
        arguments = ", ".join([*(f"ptr {p}" for p in pointers), f"{kind} {ready}"])
        both = e.put(f'call {made} asm sideeffect "", "{outs},{ins}"({arguments})')
        return [e.put(f"extractvalue {made} {both}, {n}") for n in range(count + 1)]

    def _pinned(self, ref: str, kind: str) -> str:
        """A value that is computed here: LLVM would move sums to where they are needed next, behind all loads."""
        return self.e.put(f'call {kind} asm sideeffect "", "=v,0"({kind} {ref})')

    def _start(self, vector: list[Chain]) -> list[str]:
        e, size = self.e, 4 * SIDE * len(vector)
        kept = self._kept(vector)
        if kept is not None:
            places = [e.put(f"getelementptr i8, ptr %kept, i64 {kept + size * r}") for r in range(SIDE)]
            return [e.put(f"load {_kind(vector)}, ptr {at}, align {size}") for at in places]
        wholes = [rows_of(e, chain.start) for chain in vector]
        return [
            side_by_side(e, [part(e, "float", whole, SIDE * r, SIDE, 64) for whole in wholes])
            for r in range(SIDE)
        ]

    def _kept(self, vector: list[Chain]) -> int | None:
        """Where the sums are that stay in memory, if they do: see `accumulators`."""
        first = None
        for n, chain in enumerate(vector):
            for element, value in enumerate(chain.start):
                slot = slot_of(self.e.function, value)
                place = self.e.out.slots[slot].matrix if slot is not None else None
                if n == element == 0 and place is not None:
                    first = place.at
                if first is None or place != MatrixPlace(
                    first + 4 * SIDE * n, 4 * SIDE * len(vector), element
                ):
                    return None
        return first

    def _finish(self, vector: list[Chain], sums: list[str]) -> None:
        e, lanes = self.e, SIDE * len(vector)
        kept = self._kept(vector)
        for n, chain in enumerate(vector):
            self._mark(chain)
            if kept is None:
                lines = [part(e, "float", s, SIDE * n, SIDE, lanes) for s in sums]
                self._give_back(chain, [assemble(e, "float", lines, element, False) for element in (0, 1)])
            else:
                self._leave(chain, MatrixPlace(kept + 4 * SIDE * n, 4 * lanes, 0))
        if kept is not None:
            for r, total in enumerate(sums):
                at = e.put(f"getelementptr i8, ptr %kept, i64 {kept + 4 * lanes * r}")
                e.do(f"store {_kind(vector)} {total}, ptr {at}, align {4 * lanes}")

    def _mark(self, chain: Chain) -> None:
        """All of a chain has been written."""
        inner = {i.name for i in chain.products[:-1]}
        self.e.done |= {i.name for i in chain.products}
        for taken in self.products.parts:
            if inner & set(taken.uses):
                inner.add(taken.name)
                self.e.done.add(taken.name)

    def _give_back(self, chain: Chain, elements: list[str]) -> None:
        """The result, to the lanes."""
        e = self.e
        for element, ref in enumerate(elements):
            made = e.put(f"bitcast {e.vt('float')} {ref} to {e.vt('i32')}")
            e.set(f"{chain.products[-1].name}#{element}", Val("i32", vec=made))

    def _leave(self, chain: Chain, place: MatrixPlace) -> None:
        """The result stays in memory; whoever wants an element of it gets it from there."""
        e, last = self.e, chain.products[-1].name
        for i, element in elements(e.function, last):
            held = replace(place, element=element)
            e.stored[i.name] = held, partial(kept_element, e, held, lowered(i.type))
            if i.opcode != "phi":
                e.done.add(i.name)


def rows(products: Products) -> list[list[Chain]]:
    """Chains with the same left matrices, in one order of their right ones."""
    place: dict[tuple[Pair, ...], int] = {}
    found: dict[tuple[Pair, ...], list[Chain]] = {}
    for chain in products.chains:
        place.setdefault(chain.rights, len(place))
        found.setdefault(chain.lefts, []).append(chain)
    return [sorted(row, key=lambda chain: place[chain.rights]) for row in found.values()]


def vectors(chains: list[Chain], count: int) -> Iterator[list[Chain]]:
    """Chains whose sums lie side by side in a register."""
    for n in range(0, len(chains), count):
        yield chains[n : n + count]


def _kind(vector: list[Chain]) -> str:
    return f"<{SIDE * len(vector)} x float>"


def lines_of(e: Text, found: Source) -> list[str]:
    """The rows of a matrix in memory, or its columns, as floats."""
    made = []
    for n in range(SIDE):
        ref = e.put(f"load <{SIDE} x {found.kind}>, ptr {found.line(e, n)}, align {found.size}")
        if found.kind != "float":
            ref = e.put(f"fpext <{SIDE} x {found.kind}> {ref} to <{SIDE} x float>")
        made.append(ref)
    return made
