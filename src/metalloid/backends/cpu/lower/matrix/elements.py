"""simdgroup_matrix: 8x8 elements, two neighbours in each of 32 lanes.

With one address for the SIMD-group a matrix is eight row loads and two shuffles; a product is eight steps of
shuffle and fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalloid.analysis.intervals import is_proved
from metalloid.backends.cpu.lower.access.gathers import gather, scatter
from metalloid.backends.cpu.lower.access.guard import checked_mask
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address, resolve
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.backends.cpu.lower.matrix.guard import COLUMNS, HOLDER, ROWS, stop_outside
from metalloid.backends.cpu.lower.output import MatrixPlace
from metalloid.backends.cpu.lower.shared_code import shared
from metalloid.backends.cpu.lower.text import Text
from metalloid.errors import NotVectorised
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import matrix_access
from metalloid.ir.values import Int
from metalloid.records import replace


def matrix(e: Emitter, i: Instruction) -> None:
    if e.width % 32:
        raise NotVectorised("[engine] simdgroup_matrix needs whole SIMD-groups")
    access = matrix_access(i.called)
    if access is None:
        _multiply(e, i)
    elif access.store:
        _store(e, i, access.size)
    else:
        _load(e, i, access.size)


def _multiply(e: Emitter, i: Instruction) -> None:
    a0, a1, b0, b1, c0, c1 = (e.vector(o) for o in i.operands)
    vf = e.vt("float")
    if e.mask is not None:
        a0, a1, b0, b1 = (
            e.put(f"select {e.vt('i1')} {e.mask}, {vf} {x}, {vf} zeroinitializer") for x in (a0, a1, b0, b1)
        )
        a0, a1, b0, b1 = (e.put(f"freeze {vf} {x}") for x in (a0, a1, b0, b1))
    operands = (a0, a1, b0, b1, c0, c1)
    inline = e.out.target.matrix_rows and not e.out.brief
    sums = _steps(e, *operands) if inline else _called(e, operands)
    for n, ref in enumerate(sums):
        e.set(f"{i.name}#{n}", Val("i32", vec=e.put(f"bitcast {vf} {ref} to {e.vt('i32')}")))


def _steps(e: Emitter, a0: str, a1: str, b0: str, b1: str, c0: str, c1: str) -> tuple[str, str]:
    vf, w = e.vt("float"), e.width
    name = _fma(e)
    for k in range(8):
        a = picked(e, a0, a1, "row", k, range(w))
        left, right = (picked(e, b0, b1, side, k, range(w)) for side in ("left", "right"))
        c0 = e.put(f"call {vf} @{name}({vf} {a}, {vf} {left}, {vf} {c0})")
        c1 = e.put(f"call {vf} @{name}({vf} {a}, {vf} {right}, {vf} {c1})")
    return c0, c1


def _fma(e: Emitter) -> str:
    vf, name = e.vt("float"), f"llvm.fma.v{e.width}f32"
    return e.out.declare(name, f"declare {vf} @{name}({vf}, {vf}, {vf})")


def _called(e: Emitter, operands: tuple[str, ...]) -> tuple[str, str]:
    """By a function of its own, where registers are of 128 bits: its shuffles are a thousand instructions there, and a
    kernel with 64 products would take LLVM minutes."""
    vf = e.vt("float")
    if "matrix.product" not in e.out.helpers:
        e.out.helpers["matrix.product"] = _product_function(e)
    both = e.put(f"call [2 x {vf}] @matrix.product({', '.join(f'{vf} {x}' for x in operands)})")
    one, other = (e.put(f"extractvalue [2 x {vf}] {both}, {n}") for n in (0, 1))
    return one, other


def _product_function(e: Emitter) -> str:
    vf, w, name = e.vt("float"), e.width, _fma(e)
    parameters = ", ".join(f"{vf} %{x}" for x in ("a0", "a1", "b0", "b1", "c0", "c1"))
    lines = [f"define internal [2 x {vf}] @matrix.product({parameters}) noinline nounwind {{"]
    sums = ["%c0", "%c1"]
    for k in range(8):
        for side, x in (("row", "a"), ("left", "b"), ("right", "b")):
            picks = f"<{w} x i32> <{_picks(w, side, k, range(w))}>"
            lines.append(f"  %{side}{k} = shufflevector {vf} %{x}0, {vf} %{x}1, {picks}")
        for n, side in enumerate(("left", "right")):
            lines.append(f"  %s{n}{k} = call {vf} @{name}({vf} %row{k}, {vf} %{side}{k}, {vf} {sums[n]})")
            sums[n] = f"%s{n}{k}"
    lines.append(f"  %one = insertvalue [2 x {vf}] poison, {vf} {sums[0]}, 0")
    lines.append(f"  %both = insertvalue [2 x {vf}] %one, {vf} {sums[1]}, 1")
    return "\n".join([*lines, f"  ret [2 x {vf}] %both", "}", ""])


# What a lane needs in step k: its row of the left matrix; its two columns of the right one.
_CELLS: dict[str, Callable[[int, int, int], tuple[int, int]]] = {
    "row": lambda row, column, k: (row, k),
    "left": lambda row, column, k: (k, column),
    "right": lambda row, column, k: (k, column + 1),
}


def picked(e: Emitter, x: str, y: str, side: str, k: int, lanes: range) -> str:
    """What these lanes need of a matrix whose elements are in `x` and `y`."""
    vf, picks = e.vt("float"), _picks(e.width, side, k, lanes)
    return e.put(f"shufflevector {vf} {x}, {vf} {y}, <{len(lanes)} x i32> <{picks}>")


def _picks(width: int, side: str, k: int, lanes: range) -> str:
    picks = []
    for lane in lanes:
        holder, n = HOLDER[_CELLS[side](ROWS[lane % 32], COLUMNS[lane % 32], k)]
        picks.append(f"i32 {lane - lane % 32 + holder + n * width}")
    return ", ".join(picks)


def _offsets(e: Emitter, i: Instruction, place: MemRef, size: int, element: int) -> tuple[str, str]:
    """For each lane: the offset to check, and the offset to go to."""
    vi = e.vt("i64")
    stride = e.vector(i.operands[1])
    rows = [ROWS[lane % 32] for lane in range(e.width)]
    columns = [COLUMNS[lane % 32] + element for lane in range(e.width)]
    transpose = i.operands[2]
    flat, turned = (
        _plane(e, stride, size, outer, inner) for outer, inner in ((rows, columns), (columns, rows))
    )
    if isinstance(transpose, Int):
        cell = turned if transpose.value else flat
    else:
        flag = e.put(f"icmp ne {e.vt('i32')} {e.vector(transpose)}, zeroinitializer")
        cell = e.put(f"select {e.vt('i1')} {flag}, {vi} {turned}, {vi} {flat}")
    check = e.put(f"add {vi} {e.expand(place.check)}, {cell}")
    offset = check if place.check is place.offset else e.put(f"add {vi} {e.expand(place.offset)}, {cell}")
    return check, offset


def element_offsets(e: Emitter, i: Instruction, place: MemRef, size: int) -> list[tuple[str, str]]:
    """Where the elements of a marked matrix access are: its operands behind the site's number."""
    inner = replace(i, operands=i.operands[1:])
    return [_offsets(e, inner, place, size, element) for element in (0, 1)]


def _plane(e: Emitter, stride: str, size: int, outer: list[int], inner: list[int]) -> str:
    vi = e.vt("i64")
    far = e.put(f"mul {vi} {stride}, {e.constants('i64', [size * x for x in outer])}")
    return e.put(f"add {vi} {far}, {e.constants('i64', [size * x for x in inner])}")


def _lanewise(e: Emitter, place: MemRef, check: str, offset: str) -> MemRef:
    return MemRef(
        place.root, place.ptr, Val("i64", vec=check), place.limit, Val("i64", vec=offset), place.search
    )


def loads_rows(e: Emitter, i: Instruction, place: MemRef) -> bool:
    """Whether a matrix is loaded or stored row by row. Where the guard is robust, elements outside are left out one by
    one, unless there are none."""
    return (
        e.width == 32
        and not e.out.continue_after_fault
        and (not e.out.robust or is_proved(i))
        and e.mask is None
        and place.offset.uniform
        and e.get(i.operands[1]).uniform
        and isinstance(i.operands[2], Int)
    )


def _load(e: Emitter, i: Instruction, size: int) -> None:
    place = resolve(e, i.operands[0], size)
    kind = "i32" if size == 4 else "i16"
    if not loads_rows(e, i, place):
        _result(e, i, size, _load_lanes(e, i, place, size, kind))
        return
    stop_outside(e, i, place, size, False)
    if i.name in e.multiplied:
        e.done |= e.multiplied[i.name]
    else:
        _result(e, i, size, _load_rows(e, i, place, size, kind))


def _result(e: Emitter, i: Instruction, size: int, pair: list[str]) -> None:
    if size == 4:
        for n, ref in enumerate(pair):
            e.set(f"{i.name}#{n}", Val("i32", vec=ref))
        return
    low, high = (e.put(f"zext {e.vt('i16')} {x} to {e.vt('i32')}") for x in pair)
    moved = e.put(f"shl {e.vt('i32')} {high}, splat (i32 16)")
    e.set(i.name, Val("i32", vec=e.put(f"or {e.vt('i32')} {low}, {moved}")))


def _load_lanes(e: Emitter, i: Instruction, place: MemRef, size: int, kind: str) -> list[str]:
    pair = []
    for element in (0, 1):
        check, offset = _offsets(e, i, place, size, element)
        here = _lanewise(e, place, check, offset)
        mask = checked_mask(e, i, here, size, False)
        pair.append(gather(e, place.ptr, offset, mask, kind, size))
    return pair


def _load_rows(e: Emitter, i: Instruction, place: MemRef, size: int, kind: str) -> list[str]:
    transpose = i.operands[2]
    assert isinstance(transpose, Int) and place.offset.base is not None
    turned = bool(transpose.value)

    def write(text: Text, given: Sequence[str]) -> list[str]:
        at, stride = given
        rows = [
            text.put(f"load <8 x {kind}>, ptr {_row(text, at, stride, row, size)}, align {size}")
            for row in range(8)
        ]
        return [assemble(text, kind, rows, element, turned) for element in (0, 1)]

    given = [("ptr", address(e, place.ptr, place.offset.base)), ("i64", e.scalar(i.operands[1]))]
    return shared(e, f"matrix.load.{kind}.{int(turned)}", [e.vt(kind)] * 2, given, write)


def _row(e: Text, at: str, stride: str, row: int, size: int) -> str:
    return address(e, at, e.put(f"mul i64 {stride}, {row * size}")) if row else at


def assemble(e: Text, kind: str, rows: list[str], element: int, transpose: bool) -> str:
    """The elements of all lanes from eight rows: rows are joined pairwise, then picked."""
    level = [(ref, 8) for ref in rows]
    while len(level) > 1:
        joined = []
        for n in range(0, len(level), 2):
            (a, count), (b, _) = level[n], level[n + 1]
            picks = ", ".join(f"i32 {x}" for x in range(2 * count))
            joined.append(
                (
                    e.put(
                        f"shufflevector <{count} x {kind}> {a}, <{count} x {kind}> {b}, <{2 * count} x i32> <{picks}>"
                    ),
                    2 * count,
                )
            )
        level = joined
    cells = [(ROWS[lane], COLUMNS[lane] + element) for lane in range(32)]
    index = [c * 8 + r if transpose else r * 8 + c for r, c in cells]
    text = ", ".join(f"i32 {x}" for x in index)
    return e.put(f"shufflevector <64 x {kind}> {level[0][0]}, <64 x {kind}> poison, <32 x i32> <{text}>")


def _store(e: Emitter, i: Instruction, size: int) -> None:
    place = resolve(e, i.operands[0], size)
    kind = "i32" if size == 4 else "i16"
    values = [e.vector(o) for o in i.operands[3:5]]
    if not loads_rows(e, i, place):
        _store_lanes(e, i, place, size, kind, values)
        return
    transpose = i.operands[2]
    assert isinstance(transpose, Int) and place.offset.base is not None
    stop_outside(e, i, place, size, True)
    turned = bool(transpose.value)

    def write(text: Text, given: Sequence[str]) -> list[str]:
        at, stride, x, y = given
        for row in range(8):
            cells = [HOLDER[(column, row) if turned else (row, column)] for column in range(8)]
            picks = ", ".join(f"i32 {lane + 32 * n}" for lane, n in cells)
            part = text.put(f"shufflevector {e.vt(kind)} {x}, {e.vt(kind)} {y}, <8 x i32> <{picks}>")
            text.do(f"store <8 x {kind}> {part}, ptr {_row(text, at, stride, row, size)}, align {size}")
        return []

    given = [("ptr", address(e, place.ptr, place.offset.base)), ("i64", e.scalar(i.operands[1]))]
    shared(e, f"matrix.store.{kind}.{int(turned)}", [], [*given, *((e.vt(kind), v) for v in values)], write)


def _store_lanes(e: Emitter, i: Instruction, place: MemRef, size: int, kind: str, values: list[str]) -> None:
    for element in (0, 1):
        check, offset = _offsets(e, i, place, size, element)
        mask = checked_mask(e, i, _lanewise(e, place, check, offset), size, True)
        scatter(e, place.ptr, offset, mask, kind, size, values[element])


def kept_element(e: Emitter, place: MatrixPlace, kind: str) -> Val:
    """What lanes hold of a matrix that is kept as such."""
    return Val(kind, vec=element_at(e, address(e, "%kept", str(place.at)), place.pitch, place.element, kind))


def element_at(e: Text, at: str, pitch: int, element: int, kind: str) -> str:
    """What lanes hold of a matrix in memory."""

    def write(text: Text, given: Sequence[str]) -> list[str]:
        places = [address(text, given[0], str(row * pitch)) for row in range(8)]
        rows = [text.put(f"load <8 x {kind}>, ptr {place}, align 32") for place in places]
        return [assemble(text, kind, rows, element, False)]

    return shared(e, f"matrix.element.{kind}.{pitch}.{element}", [e.vt(kind)], [("ptr", at)], write)[0]


def keep_element(e: Emitter, place: MatrixPlace, kind: str, value: str) -> None:
    """Into every other column, leaving the others as they are."""
    name = f"llvm.masked.store.v8{'f32' if kind == 'float' else kind}.p0"
    e.out.declare(name, f"declare void @{name}(<8 x {kind}>, ptr, <8 x i1>)")
    mask = ", ".join(f"i1 {column % 2 == place.element}".lower() for column in range(8))

    def write(text: Text, given: Sequence[str]) -> list[str]:
        start, x = given
        for row in range(8):
            holders = [HOLDER[row, column] for column in range(8)]
            picks = ", ".join(f"i32 {lane}" if n == place.element else "i32 poison" for lane, n in holders)
            part = text.put(f"shufflevector {e.vt(kind)} {x}, {e.vt(kind)} poison, <8 x i32> <{picks}>")
            at = address(text, start, str(row * place.pitch))
            text.do(f"call void @{name}(<8 x {kind}> {part}, ptr align 32 {at}, <8 x i1> <{mask}>)")
        return []

    given = [("ptr", address(e, "%kept", str(place.at))), (e.vt(kind), value)]
    shared(e, f"matrix.keep.{kind}.{place.pitch}.{place.element}", [], given, write)
