"""Instructions of AIR in scalars, but for memory and calls.

A vector value `%v` becomes `%v..0`, `%v..1`...; what only moves elements about (extractelement, insertelement,
shufflevector) makes no code: it is noted which value stands for which, and put in at the end (`functions.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from metalloid.air import shapes
from metalloid.air.constants import nothing
from metalloid.air.lowering import Lowering, lane
from metalloid.air.refused import Refused
from metalloid.ir.module import Instruction
from metalloid.ir.types import I1, ArrayType, IntType, PointerType, StructType, VectorType, bits
from metalloid.ir.values import Int, Named, Value


def _elementwise(work: Lowering, i: Instruction) -> None:
    count = shapes.lanes(i.type)
    type = shapes.value(i.type)
    if not count:
        work.emit(replace(i, type=type, operands=tuple(work.one(o) for o in i.operands)))
        return
    operands = [work.each(o, count) for o in i.operands]
    for k in range(count):
        work.emit(replace(i, name=lane(i.name, k), type=type, operands=tuple(o[k] for o in operands)))


def _compare(work: Lowering, i: Instruction) -> None:
    count = shapes.lanes(i.operands[0].type)
    operands = [work.each(o, count or 1) for o in i.operands]
    for k in range(count or 1):
        name = lane(i.name, k) if count else i.name
        work.emit(replace(i, name=name, type=I1, operands=tuple(o[k] for o in operands)))


def _to_integer(work: Lowering, i: Instruction) -> None:
    """As in a source: NaN is 0, what does not fit the nearest that does."""
    count = shapes.lanes(i.type)
    operands = work.each(i.operands[0], count or 1)
    result = shapes.value(i.type)
    for k, operand in enumerate(operands):
        kind = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}[str(operand.type)]
        name = lane(i.name, k) if count else i.name
        work.call(f"llvm.{i.opcode}.sat.{result}.{kind}", result, operand, called=name)


def _bitcast(work: Lowering, i: Instruction) -> None:
    given = i.operands[0]
    of, to = given.type, i.type
    if isinstance(to, PointerType):
        work.alias(i.name, work.one(given))
    elif isinstance(of, VectorType) and isinstance(to, VectorType) and bits(of) == bits(to):
        for k, operand in enumerate(work.lanes(given)):
            work.emit(replace(i, name=lane(i.name, k), type=shapes.value(to), operands=(operand,)))
    elif isinstance(of, VectorType) or isinstance(to, VectorType):
        _regroup(work, i)
    else:
        work.emit(replace(i, operands=(work.one(given),)))


def _regroup(work: Lowering, i: Instruction) -> None:
    """The same bits in elements of another size: all of them as one number, and that in pieces."""
    given = i.operands[0]
    if shapes.MATRIX in (getattr(given.type, "count", 0), getattr(i.type, "count", 0)):
        raise Refused("it takes the bits of a matrix for something else, which is not supported")
    parts = work.each(given, 1)
    width = bits(given.type)
    whole = IntType(width * len(parts))
    number: Value | None = None
    for k, each in enumerate(parts):
        as_int = each if isinstance(each.type, IntType) else work.temporary("bitcast", IntType(width), each)
        wide = work.temporary("zext", whole, as_int) if whole.bits > width else as_int
        moved = work.temporary("shl", whole, wide, Int(whole, k * width)) if k else wide
        number = moved if number is None else work.temporary("or", whole, number, moved)
    assert number is not None
    to, count = shapes.value(i.type), shapes.lanes(i.type)
    size = bits(to)
    for k in range(count or 1):
        name = lane(i.name, k) if count else i.name
        moved = work.temporary("lshr", whole, number, Int(whole, k * size)) if k else number
        if size == whole.bits:
            last = moved
        elif isinstance(to, IntType):
            last = work.emit(Instruction("trunc", to, (moved,), name=name))
        else:
            last = work.temporary("trunc", IntType(size), moved)
        if not isinstance(to, IntType):
            work.emit(Instruction("bitcast", to, (last,), name=name))
        elif size == whole.bits:
            work.alias(name, last)


def _phi(work: Lowering, i: Instruction) -> None:
    count = shapes.lanes(i.type)
    operands = [work.each(o, 1) for o in i.operands]
    for k in range(count or 1):
        name = lane(i.name, k) if count else i.name
        work.emit(replace(i, name=name, type=shapes.value(i.type), operands=tuple(o[k] for o in operands)))


def _branch(work: Lowering, i: Instruction) -> None:
    work.emit(replace(i, operands=tuple(work.one(o) for o in i.operands)))


def _return(work: Lowering, i: Instruction) -> None:
    if i.operands and isinstance(i.operands[0].type, VectorType):
        work.emit(replace(i, operands=(gathered(work, work.lanes(i.operands[0])),)))
    else:
        _branch(work, i)


def gathered(work: Lowering, elements: tuple[Value, ...]) -> Value:
    """Scalars as one array."""
    type = ArrayType(len(elements), elements[0].type)
    whole: Value = Named(type, "poison")
    for k, element in enumerate(elements):
        whole = work.temporary("insertvalue", type, whole, element, indices=(k,))
    return whole


def _extract(work: Lowering, i: Instruction) -> None:
    elements, index = work.lanes(i.operands[0]), work.one(i.operands[1])
    if isinstance(index, Int):
        inside = index.value < len(elements)
        work.alias(i.name, elements[index.value] if inside else nothing(shapes.value(i.type)))
        return
    found = elements[0]
    for k, element in enumerate(elements[1:], 1):
        found = work.pick(_is(work, index, k), element, found)
    work.alias(i.name, found)


def _insert(work: Lowering, i: Instruction) -> None:
    elements, new, index = list(work.lanes(i.operands[0])), work.one(i.operands[1]), work.one(i.operands[2])
    for k, element in enumerate(elements):
        if not isinstance(index, Int):
            elements[k] = work.pick(_is(work, index, k), new, element)
        elif index.value == k:
            elements[k] = new
    work.aliases(i.name, tuple(elements))


def _is(work: Lowering, index: Value, number: int) -> Value:
    assert isinstance(index.type, IntType)
    return work.temporary("icmp", I1, index, Int(index.type, number), predicate="eq")


def _shuffle(work: Lowering, i: Instruction) -> None:
    left, right = (work.lanes(o) for o in i.operands[:2])
    width = i.operands[0].type
    assert isinstance(width, VectorType)
    empty = nothing(shapes.value(i.type))

    def element(index: Value) -> Value:
        if not isinstance(index, Int):
            return empty
        side, at = (left, index.value) if index.value < width.count else (right, index.value - width.count)
        return side[at] if at < len(side) else empty  # what a matrix holds behind the first two is no lane's

    work.aliases(i.name, tuple(element(index) for index in work.lanes(i.operands[2])[: shapes.lanes(i.type)]))


def _extract_value(work: Lowering, i: Instruction) -> None:
    whole = work.one(i.operands[0])
    if not isinstance(i.type, VectorType):
        work.emit(replace(i, type=shapes.value(i.type), operands=(whole,)))
        return
    for k in range(shapes.lanes(i.type)):
        name, type = lane(i.name, k), shapes.value(i.type)
        work.emit(Instruction("extractvalue", type, (whole,), name=name, indices=(*i.indices, k)))


def _insert_value(work: Lowering, i: Instruction) -> None:
    whole, part = work.one(i.operands[0]), i.operands[1]
    if not isinstance(part.type, VectorType):
        work.emit(replace(i, type=shapes.value(i.type), operands=(whole, work.one(part))))
        return
    elements = work.lanes(part)
    for k, element in enumerate(elements):
        name = i.name if k == len(elements) - 1 else work.fresh()
        made = Instruction("insertvalue", whole.type, (whole, element), name=name, indices=(*i.indices, k))
        whole = work.emit(made)


def _aggregate_or_each(work: Lowering, i: Instruction) -> None:
    if isinstance(i.type, StructType | ArrayType):
        work.emit(replace(i, type=shapes.value(i.type), operands=tuple(work.one(o) for o in i.operands)))
    else:
        _elementwise(work, i)


_Handler = Callable[[Lowering, Instruction], None]
_EACH = """add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem fneg freeze trunc zext sext
    fptrunc fpext sitofp uitofp ptrtoint inttoptr""".split()

TABLE: dict[str, _Handler] = {
    **dict.fromkeys(_EACH, _elementwise),
    **dict.fromkeys(("icmp", "fcmp"), _compare),
    **dict.fromkeys(("fptosi", "fptoui"), _to_integer),
    **dict.fromkeys(("br", "switch", "unreachable"), _branch),
    "bitcast": _bitcast,
    "select": _aggregate_or_each,
    "phi": _phi,
    "ret": _return,
    "extractelement": _extract,
    "insertelement": _insert,
    "shufflevector": _shuffle,
    "extractvalue": _extract_value,
    "insertvalue": _insert_value,
}
