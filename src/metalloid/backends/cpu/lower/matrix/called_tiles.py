"""Matrix products by calls: code that is wanted soon has each step once, as a function of its own.

Sums stay in memory from product to product. They are added up in the order of `tiles`, and have its bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from metalloid.backends.cpu.lower.access.mem_ref import address
from metalloid.backends.cpu.lower.access.transpose import SIDE, part, turned_eights
from metalloid.backends.cpu.lower.matrix.chains import Chain
from metalloid.backends.cpu.lower.matrix.elements import element_at
from metalloid.backends.cpu.lower.matrix.operands import Pair, Source, in_rows, source
from metalloid.backends.cpu.lower.matrix.tiles import Elements, Tiles, lines_of, vectors
from metalloid.backends.cpu.lower.output import MatrixPlace
from metalloid.backends.cpu.lower.shared_code import shared
from metalloid.backends.cpu.lower.text import Text
from metalloid.records import replace

LINE = 4 * SIDE  # bytes of a matrix's row


class CalledTiles(Tiles):
    """Writes all products of a group."""

    def _area(self, vectors: int, lanes: int) -> str:
        return self.e.alloca(f"[{vectors} x <{lanes} x float>], align 64", "matrix")

    def _lay_elements(self, pair: Pair, found: Source | None) -> Elements:
        place = self._area(SIDE, SIDE)
        self._lay(place, LINE, pair, found, False)
        return Elements(place, LINE, 4) if found is None or found.by_row else Elements(place, 4, LINE)

    def _lay_right(self, pairs: tuple[Pair, ...]) -> str:
        if pairs not in self.right:
            self.right[pairs] = place = self._area(SIDE, SIDE * len(pairs))
            for n, pair in enumerate(pairs):
                found = source(self.e, pair, self.products.fresh)
                at = address(self.e, place, str(LINE * n))
                self._lay(at, LINE * len(pairs), pair, found, found is not None and not found.by_row)
        return self.right[pairs]

    def _lay(self, to: str, pitch: int, pair: Pair, found: Source | None, turn: bool) -> None:
        """A matrix into memory, row by row as it lies, or with rows and columns in each other's place."""
        e = self.e
        if found is None:
            given = [("ptr", to), *((e.vt("float"), e.vector(value)) for value in pair)]
            shared(e, f"matrix.lay.{pitch}", [], given, partial(_from_lanes, pitch=pitch))
            return
        step = found.row if found.by_row else found.column
        name = f"matrix.copy.{found.kind}.{pitch}.{int(turn)}"
        given = [("ptr", to), ("ptr", found.pointer), ("i64", str(step))]
        shared(e, name, [], given, partial(_from_memory, pitch=pitch, found=found, turn=turn))

    def _multiply(self, chains: list[Chain]) -> None:
        for vector in vectors(chains, self.sums_per_register):
            self._multiply_vector(vector)

    def _multiply_vector(self, vector: list[Chain]) -> None:
        e, lanes, kept = self.e, SIDE * len(vector), self._kept(vector)
        sums = self._area(SIDE, lanes) if kept is None else address(e, "%kept", str(kept))
        if kept is None:
            for n, chain in enumerate(vector):
                self._lay(address(e, sums, str(LINE * n)), 4 * lanes, chain.start, None, False)
        for step in range(len(vector[0].products)):
            left = self._lay_left(vector[0].lefts[step])
            right = self._lay_right(tuple(c.rights[step] for c in vector))
            name = f"matrix.multiply.{lanes}.{left.row}.{left.column}"
            given = [("ptr", sums), ("ptr", left.pointer), ("ptr", right)]
            shared(e, name, [], given, partial(_product, lanes=lanes, left=left))
        for n, chain in enumerate(vector):
            self._mark(chain)
            if kept is not None:
                self._leave(chain, MatrixPlace(kept + LINE * n, 4 * lanes, 0))
            else:
                at = address(e, sums, str(LINE * n))
                self._give_back(chain, [element_at(e, at, 4 * lanes, which, "float") for which in (0, 1)])


def _from_lanes(e: Text, given: Sequence[str], pitch: int) -> list[str]:
    to, *pair = given
    whole = in_rows(e, *pair)
    for n in range(SIDE):
        line = part(e, "float", whole, SIDE * n, SIDE, SIDE * SIDE)
        e.do(f"store <{SIDE} x float> {line}, ptr {address(e, to, str(pitch * n))}, align 32")
    return []


def _from_memory(e: Text, given: Sequence[str], pitch: int, found: Source, turn: bool) -> list[str]:
    to, start, step = given
    here = (
        replace(found, pointer=start, row=step)
        if found.by_row
        else replace(found, pointer=start, column=step)
    )
    lines = lines_of(e, here)
    for n, line in enumerate(turned_eights(e, lines, SIDE) if turn else lines):
        e.do(f"store <{SIDE} x float> {line}, ptr {address(e, to, str(pitch * n))}, align 32")
    return []


def _product(e: Text, given: Sequence[str], lanes: int, left: Elements) -> list[str]:
    """Eight steps: one column of the left matrix, one row of the right one or two."""
    to, x, y = given
    kind, name = f"<{lanes} x float>", f"llvm.fma.v{lanes}f32"
    e.out.declare(name, f"declare {kind} @{name}({kind}, {kind}, {kind})")
    places = [address(e, to, str(4 * lanes * r)) for r in range(SIDE)]
    sums = [e.put(f"load {kind}, ptr {at}, align {4 * lanes}") for at in places]
    for k in range(SIDE):
        row = e.put(f"load {kind}, ptr {address(e, y, str(4 * lanes * k))}, align {4 * lanes}")
        for r in range(SIDE):
            at = address(e, x, str(r * left.row + k * left.column))
            one = e.splat("float", e.put(f"load float, ptr {at}, align 4"), lanes)
            sums[r] = e.put(f"call {kind} @{name}({kind} {one}, {kind} {row}, {kind} {sums[r]})")
    for at, total in zip(places, sums, strict=True):
        e.do(f"store {kind} {total}, ptr {at}, align {4 * lanes}")
    return []
