"""Several matrix products in a row, as in every kernel that multiplies: in tiles of four.

One by one, products keep more values alive than there are registers. Here what each step of each matrix contributes
is laid out in memory first; then two by two products go through their steps together: 16 registers of sums, 8 that are
loaded for 16 fused multiply-adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metalloid.ir import Block, Instruction
from metalloid.ir.values import Value
from metalloid.passes.emit.core import Emitter, Val
from metalloid.passes.emit.matrix import picked

PRODUCT = "__mt_matrix_multiply_accumulate"
STEPS, PART = 8, 16  # of a product; lanes of a register
_KIND = f"<{PART} x float>"
Pair = tuple[Value, ...]  # the two elements of each lane


@dataclass(frozen=True)
class Products:
    """Products that do not need each other's results."""

    cells: dict[tuple[Pair, Pair], Instruction]  # by left and right matrix

    @property
    def lefts(self) -> list[Pair]:
        return list(dict.fromkeys(left for left, _ in self.cells))

    @property
    def rights(self) -> list[Pair]:
        return list(dict.fromkeys(right for _, right in self.cells))


def find(block: Block) -> dict[str, Products]:
    """Runs of products in which nothing else happens, by the name of the first of each."""
    found: dict[str, Products] = {}
    run: list[Instruction] = []
    made: set[str] = set()  # their results

    def close() -> None:
        cells = {(i.operands[:2], i.operands[2:4]): i for i in run}
        if len(run) > 1 and len(cells) == len(run):
            found[run[0].name] = Products(cells)
        run.clear()
        made.clear()

    for i in block.body:
        if i.called == PRODUCT:
            if made & set(i.uses):
                close()
            run.append(i)
            made.add(i.name)
        elif i.opcode in ("extractvalue", "bitcast") and made & set(i.uses):
            made.add(i.name)
        else:
            close()
    return found


def multiply(e: Emitter, products: Products) -> bool:
    """Write all products at the first of them; False where one by one is better."""
    if e.width != 2 * PART or e.mask is not None or e.out.vector_bytes < 4 * PART:
        return False
    if 2 * (len(products.lefts) + len(products.rights)) > len(products.cells):
        return False  # laying out pays where a matrix takes part in four products; in two to four it does not
    place = e.alloca(f"[{2 * STEPS * (len(products.lefts) + len(products.rights))} x {_KIND}]", "steps")
    where = _lay_out(e, products, _opaque(e, place))
    for tile in _tiles(products, 2):
        _multiply_tile(e, tile, where, place)
    return True


def _opaque(e: Emitter, pointer: str) -> str:
    """The same pointer, of which LLVM does not know that: else it would keep everything in registers, and spill."""
    return e.put(f'call ptr asm sideeffect "", "=r,0"(ptr {pointer})')


def _after(e: Emitter, pointer: str, ready: str) -> tuple[str, str]:
    """The same pointer, but not before a value is ready: else LLVM would load what all steps need at once."""
    both = e.put(f'call {{ ptr, {_KIND} }} asm sideeffect "", "=r,=v,0,1"(ptr {pointer}, {_KIND} {ready})')
    return tuple(e.put(f"extractvalue {{ ptr, {_KIND} }} {both}, {n}") for n in (0, 1))  # type: ignore[return-value]


def _pinned(e: Emitter, ref: str) -> str:
    """A value that is computed here: LLVM would move sums to where they are needed next, behind all loads."""
    return e.put(f'call {_KIND} asm sideeffect "", "=v,0"({_KIND} {ref})')


def _lay_out(e: Emitter, products: Products, place: str) -> dict[tuple[str, Pair], int]:
    """Write the vectors of all steps; returns where those of each matrix begin.

    A left matrix has two for each step, the rows of the lower and of the upper lanes; a right one its even and
    its odd columns.
    """
    where: dict[tuple[str, Pair], int] = {}
    at = 0
    for side, matrices in (("left", products.lefts), ("right", products.rights)):
        for pair in matrices:
            x, y = (e.vector(value) for value in pair)
            where[side, pair] = at
            for k in range(STEPS):
                for half in (0, 1):
                    if side == "left":
                        part = picked(e, x, y, "row", k, range(half * PART, half * PART + PART))
                    else:
                        part = picked(e, x, y, ("left", "right")[half], k, range(PART))
                    e.do(f"store {_KIND} {part}, ptr {_at(e, place, at)}, align 64")
                    at += 1
    return where


def _at(e: Emitter, place: str, index: int) -> str:
    return e.put(f"getelementptr {_KIND}, ptr {place}, i64 {index}")


Tile = list[tuple[Pair, Pair, Instruction]]


def _tiles(products: Products, across: int) -> Iterator[Tile]:
    lefts, rights = products.lefts, products.rights
    for r in range(0, len(lefts), across):
        for c in range(0, len(rights), across):
            pairs = [(a, b) for a in lefts[r : r + across] for b in rights[c : c + across]]
            tile = [(a, b, products.cells[a, b]) for a, b in pairs if (a, b) in products.cells]
            if tile:
                yield tile


def _multiply_tile(e: Emitter, tile: Tile, where: dict[tuple[str, Pair], int], place: str) -> None:
    name = f"llvm.fma.v{PART}f32"
    e.out.declare(name, f"declare {_KIND} @{name}({_KIND}, {_KIND}, {_KIND})")
    sums = [[_part(e, e.vector(o), half) for o in i.operands[4:] for half in (0, 1)] for _, _, i in tile]
    for k in range(STEPS):
        here, sums[-1][-1] = _after(e, place, sums[-1][-1])
        loaded: dict[int, str] = {}

        def load(index: int, here: str = here, loaded: dict[int, str] = loaded) -> str:
            if index not in loaded:
                loaded[index] = e.put(f"load {_KIND}, ptr {_at(e, here, index)}, align 64")
            return loaded[index]

        for n, (left, right, _) in enumerate(tile):
            row, column = where["left", left] + 2 * k, where["right", right] + 2 * k
            for s in range(4):
                a, b = load(row + s % 2), load(column + s // 2)
                sums[n][s] = e.put(f"call {_KIND} @{name}({_KIND} {a}, {_KIND} {b}, {_KIND} {sums[n][s]})")
    for (_, _, i), found in zip(tile, sums, strict=True):
        for n in (0, 1):
            ref = _joined(e, _pinned(e, found[2 * n]), _pinned(e, found[2 * n + 1]))
            e.set(f"{i.name}#{n}", Val("i32", vec=e.put(f"bitcast {e.vt('float')} {ref} to {e.vt('i32')}")))
        e.done.add(i.name)


def _part(e: Emitter, ref: str, half: int) -> str:
    vf = e.vt("float")
    picks = ", ".join(f"i32 {half * PART + n}" for n in range(PART))
    return e.put(f"shufflevector {vf} {ref}, {vf} poison, <{PART} x i32> <{picks}>")


def _joined(e: Emitter, low: str, high: str) -> str:
    picks = ", ".join(f"i32 {n}" for n in range(2 * PART))
    return e.put(f"shufflevector {_KIND} {low}, {_KIND} {high}, <{2 * PART} x i32> <{picks}>")
