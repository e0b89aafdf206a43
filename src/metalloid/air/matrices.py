"""`simdgroup_matrix` of a binary: a vector of 64 elements, of which the first two are the lane's.

`air.simdgroup_matrix_8x8_{load,store,multiply,multiply_accumulate,init_diag,init_filled}` become the engine's matrix
intrinsics: narrow elements are widened, summed in float and rounded once, as the header does.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.air import shapes
from metalloid.air.lowering import Lowering
from metalloid.air.refused import Refused
from metalloid.ir.intrinsics import MATRIX_PRODUCT, full, matrix_access_name
from metalloid.ir.module import Instruction
from metalloid.ir.types import (
    FLOAT,
    I1,
    I16,
    I32,
    I64,
    VOID,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    Type,
    bits,
)
from metalloid.ir.values import Float, Int, Value

_PAIR = ArrayType(2, I32)
_MEMORY = {shapes.DEVICE: "device", shapes.THREADGROUP: "threadgroup"}


def _as_float(work: Lowering, value: Value) -> Value:
    return value if value.type == FLOAT else work.temporary("fpext", FLOAT, value)


def _narrowed(work: Lowering, value: Value, type: Type) -> Value:
    return value if type == FLOAT else work.temporary("fptrunc", type, value)


def _multiply(work: Lowering, i: Instruction) -> None:
    given = [work.lanes(o) for o in i.operands]
    if len(given) == 2:  # without a sum to add to
        given.append((Float(FLOAT, 0), Float(FLOAT, 0)))
    operands = [_as_float(work, element) for matrix in given for element in matrix]
    both = work.call(MATRIX_PRODUCT, _PAIR, *operands)
    found = []
    for k in (0, 1):
        number = work.temporary("extractvalue", I32, both, indices=(k,))
        found.append(_narrowed(work, work.temporary("bitcast", FLOAT, number), shapes.value(i.type)))
    work.aliases(i.name, tuple(found))


def _place(
    work: Lowering, pointer: Value, element: Type, rest: tuple[Value, ...]
) -> tuple[Value, Value, Value, str]:
    """Where a matrix begins, its stride, whether it is transposed, and the kind of its memory."""
    stride, origin, transposed = work.one(rest[0]), work.lanes(rest[1]), work.one(rest[2])
    assert isinstance(pointer.type, PointerType)
    if pointer.type.space not in _MEMORY:
        raise Refused("it keeps a matrix in private memory, which is not supported")
    row = work.pick(transposed, origin[0], origin[1])
    column = work.pick(transposed, origin[1], origin[0])
    offset = work.temporary("add", I64, work.temporary("mul", I64, row, stride), column)
    begin = work.temporary("getelementptr", pointer.type, pointer, offset, element=element)
    return begin, stride, work.temporary("zext", I32, transposed), _MEMORY[pointer.type.space]


def _load(work: Lowering, i: Instruction) -> None:
    type = shapes.value(i.type)
    place, stride, transposed, kind = _place(work, work.one(i.operands[0]), type, i.operands[1:])
    if bits(type) == 32:
        both = work.call(matrix_access_name("load", 4, kind), _PAIR, place, stride, transposed)
        parts = [work.temporary("extractvalue", I32, both, indices=(k,)) for k in (0, 1)]
    else:
        both = work.call(matrix_access_name("load", 2, kind), I32, place, stride, transposed)
        high = work.temporary("lshr", I32, both, Int(I32, 16))
        parts = [work.temporary("trunc", I16, half) for half in (both, high)]
    work.aliases(i.name, tuple(work.temporary("bitcast", type, part) for part in parts))


def _store(work: Lowering, i: Instruction) -> None:
    elements = work.lanes(i.operands[0])
    type = elements[0].type
    place, stride, transposed, kind = _place(work, work.one(i.operands[1]), type, i.operands[2:])
    number = IntType(bits(type))
    parts = [work.temporary("bitcast", number, element) for element in elements]
    work.call(matrix_access_name("store", number.bits // 8, kind), VOID, place, stride, transposed, *parts)


def _diagonal(work: Lowering, i: Instruction) -> None:
    """Lane L holds row (L>>4&1)*4 + (L>>1&3), columns (L>>3&1)*4 + (L&1)*2 and the next."""
    value = work.one(i.operands[0])
    lane = work.call(full("thread_index_in_simdgroup"), I32, Int(I32, 0))

    def bits_of(shift: int, mask: int, by: int) -> Value:
        moved = work.temporary("lshr", I32, lane, Int(I32, shift))
        return work.temporary("mul", I32, work.temporary("and", I32, moved, Int(I32, mask)), Int(I32, by))

    row = work.temporary("add", I32, bits_of(4, 1, 4), bits_of(1, 3, 1))
    column = work.temporary("add", I32, bits_of(3, 1, 4), bits_of(0, 1, 2))
    assert isinstance(value.type, FloatType)
    zero = Float(value.type, 0)
    found = []
    for k in (0, 1):
        at = work.temporary("add", I32, column, Int(I32, k))
        found.append(work.pick(work.temporary("icmp", I1, row, at, predicate="eq"), value, zero))
    work.aliases(i.name, tuple(found))


def _filled(work: Lowering, i: Instruction) -> None:
    value = work.one(i.operands[0])
    work.aliases(i.name, (value, value))


MATRICES: dict[str, Callable[[Lowering, Instruction], None]] = {
    "simdgroup_matrix_8x8_multiply": _multiply,
    "simdgroup_matrix_8x8_multiply_accumulate": _multiply,
    "simdgroup_matrix_8x8_load": _load,
    "simdgroup_matrix_8x8_store": _store,
    "simdgroup_matrix_8x8_init_diag": _diagonal,
    "simdgroup_matrix_8x8_init_filled": _filled,
}
