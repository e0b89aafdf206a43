"""One function of AIR as code of scalars, in the engine's address spaces.

Every instruction goes through a table. A vector value `%v` becomes `%v..0`, `%v..1`...; what only moves elements
about (extractelement, insertelement, shufflevector) makes no code: it is noted which value stands for which, and put in
at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from metalloid.air import shapes
from metalloid.air.constants import constant, elements_of, nothing
from metalloid.air.guards import guarded
from metalloid.air.refused import Refused
from metalloid.ir.module import Block, Function, Instruction, Module, Parameter
from metalloid.ir.types import (
    I1,
    I32,
    VOID,
    ArrayType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    bits,
)
from metalloid.ir.values import Global, Int, Local, Metadata, Named, Value

LOOSE = ("reassoc", "nsz", "arcp", "contract", "afn")  # fast math less the promise that there are no NaNs
_PROMISES = ("nnan", "ninf")
_KEPT = ("dbg", "llvm.loop")


@dataclass
class Lowering:
    """The code of one function as it is made."""

    module: Module
    code: list[Instruction] = field(default_factory=list)
    stands_for: dict[str, Value] = field(default_factory=dict)
    counter: int = 0
    metadata: tuple[tuple[str, str], ...] = ()
    declared: dict[str, tuple[Type, tuple[Type, ...]]] = field(default_factory=dict)

    # ---- values

    def lanes(self, value: Value) -> tuple[Value, ...]:
        """The elements of a vector."""
        if isinstance(value, Local):
            type = shapes.value(value.type)
            return tuple(Local(lane(value.name, k), type) for k in range(shapes.lanes(value.type)))
        if isinstance(value, Metadata):
            raise Refused("it uses metadata as a value")
        return elements_of(value)

    def one(self, value: Value) -> Value:
        """A value that is no vector."""
        if isinstance(value, Local):
            return Local(value.name, shapes.value(value.type))
        return value if isinstance(value, Metadata) else constant(value)

    def each(self, value: Value, count: int) -> tuple[Value, ...]:
        """The elements of a vector, or a scalar so many times."""
        return self.lanes(value) if isinstance(value.type, VectorType) else (self.one(value),) * count

    # ---- code

    def emit(self, made: Instruction) -> Value:
        """Add an instruction of scalars, with the guards it needs; the value it makes."""
        made = replace(made, metadata=self.metadata, flags=flags(made))
        self.code += guarded(made, self.fresh)
        return made.value

    def fresh(self) -> str:
        self.counter += 1
        return f"air..{self.counter}"

    def temporary(self, opcode: str, type: Type, *operands: Value, **more: object) -> Value:
        made = Instruction(opcode, type, operands, name=self.fresh())
        return self.emit(replace(made, **more))  # type: ignore[arg-type]

    def call(self, name: str, result: Type, *operands: Value, called: str = "") -> Value:
        """Call a function of scalars; `called` is the name of the result."""
        self.declared.setdefault(name, (result, tuple(o.type for o in operands)))
        made = "" if result == VOID else called or self.fresh()
        pointer = PointerType(0)
        return self.emit(Instruction("call", result, operands, name=made, callee=Global(name, pointer)))

    def alias(self, name: str, value: Value) -> None:
        self.stands_for[name] = value

    def aliases(self, name: str, values: tuple[Value, ...]) -> None:
        for k, value in enumerate(values):
            self.alias(lane(name, k), value)

    def pick(self, condition: Value, then: Value, other: Value) -> Value:
        return self.temporary("select", then.type, condition, then, other)

    def offset(self, pointer: Value, element: Type, index: int) -> Value:
        """A place `index` elements on."""
        if not index:
            return pointer
        return self.temporary(
            "getelementptr", pointer.type, pointer, Int(I32, index), element=element, flags=("inbounds",)
        )


def lane(name: str, index: int) -> str:
    return f"{name}..{index}"


def flags(i: Instruction) -> tuple[str, ...]:
    """Without promises that the hardware does not keep."""
    if "fast" in i.flags:
        return LOOSE
    return tuple(f for f in i.flags if f not in _PROMISES)


def lower_function(module: Module, function: Function) -> tuple[Function, Lowering]:
    """The function in scalars, and what it calls."""
    from metalloid.air.memory import MEMORY

    table = {**TABLE, **MEMORY}
    work = Lowering(module)
    blocks: list[Block] = []
    for block in function.blocks:
        for i in block.instructions:
            if i.opcode not in table:
                raise Refused(f"the instruction '{i.opcode}' is not supported")
            work.metadata = tuple(m for m in i.metadata if m[0] in _KEPT)
            table[i.opcode](work, i)
        blocks.append(Block(block.name, tuple(work.code)))
        work.code.clear()
    settled = _settled(work.stands_for)
    done = tuple(Block(b.name, tuple(i.substitute(settled) for i in b.instructions)) for b in blocks)
    parameters = tuple(made for p in function.parameters for made in expanded(p))
    return (
        Function(function.name, shapes.inside(function.result), parameters, done, metadata=function.metadata),
        work,
    )


def expanded(parameter: Parameter) -> tuple[Parameter, ...]:
    """A parameter as scalars."""
    type = shapes.value(parameter.type)
    count = shapes.lanes(parameter.type)
    return tuple(Parameter(lane(parameter.name, k), type) for k in range(count)) or (
        Parameter(parameter.name, type),
    )


def _settled(stands_for: Mapping[str, Value]) -> dict[str, Value]:
    """Each name with the value at the end of its chain."""
    found: dict[str, Value] = {}
    for name in stands_for:
        value: Value = stands_for[name]
        seen = {name}
        while isinstance(value, Local) and value.name in stands_for and value.name not in seen:
            seen.add(value.name)
            value = stands_for[value.name]
        found[name] = value
    return found


# ---- instructions


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
