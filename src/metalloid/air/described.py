"""What AIR's metadata says of a kernel: its parameters, its limits, its function constants.

!air.kernel = !{!15}
!15 = !{ptr @saxpy, !{}, !{parameters}, options...}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from metalloid.air.metadata import Item, Node, Symbol, after, items, nodes_of
from metalloid.air.typenames import struct_type, type_named
from metalloid.ir.module import Module
from metalloid.ir.types import PointerType
from metalloid.ir.types import Type as LLVM
from metalloid.types import Kind, Struct, Type

Nodes = Mapping[str, str]
SPACES = {0: "thread", 1: "device", 2: "constant", 3: "threadgroup"}
_MEMORY = ("air.buffer", "air.indirect_buffer", "air.threadgroup")
# AIR's word for a position where it is not `air.` and Metal's own.
_OTHER_WORDS = {"thread_execution_width": "threads_per_simdgroup"}
_CONDITION = "air.function_constant"


@dataclass(frozen=True)
class Argument:
    """One parameter of a kernel."""

    position: int  # among the function's parameters
    name: str
    kind: Kind
    type: Type
    index: int = -1
    space: str = "thread"
    const: bool = False
    reference: bool = False
    builtin: str = ""
    condition: str = ""  # the global that says whether it is there


@dataclass(frozen=True)
class Constant:
    """A function constant."""

    symbol: str  # the global that holds it
    type: str
    name: str
    index: int


@dataclass(frozen=True)
class Described:
    function: str
    arguments: tuple[Argument, ...]
    constants: tuple[Constant, ...]
    max_threads: int = 1024
    unknown: str = ""  # what a parameter asks for that a compute kernel here cannot have


def describe(module: Module) -> Described | None:
    """The one kernel that a module holds; None where it holds none."""
    nodes = module.metadata
    rows = nodes_of(nodes, "!air.kernel")
    if not rows or len(rows[0]) < 3 or not isinstance(rows[0][0], Symbol):
        return None
    row = rows[0]
    assert isinstance(row[0], Symbol)
    arguments: list[Argument] = []
    unknown = ""
    function = module.function.get(row[0].name)
    types = [parameter.type for parameter in function.parameters] if function else []
    for argument in nodes_of(nodes, row[2].name) if isinstance(row[2], Node) else ():
        made = _argument(nodes, _with_space(argument, types))
        if isinstance(made, str):
            unknown = unknown or made
        else:
            arguments.append(made)
    return Described(
        row[0].name, tuple(arguments), tuple(_constants(nodes)), _threads(nodes, row[3:]), unknown
    )


def _with_space(row: tuple[Item, ...], types: list[LLVM]) -> tuple[Item, ...]:
    """AIR 2.4 does not say in which space a buffer lies: its parameter does."""
    if "air.address_space" in row or not row or not isinstance(row[0], int) or row[0] >= len(types):
        return row
    type = types[row[0]]
    return (*row, "air.address_space", type.space) if isinstance(type, PointerType) else row


def _threads(nodes: Nodes, options: tuple[Item, ...]) -> int:
    for option in options:
        row = items(nodes, option.name) if isinstance(option, Node) else ()
        if (found := after(row, "air.max_work_group_size")) and isinstance(found[0], int):
            return found[0]
    return 1024


def _constants(nodes: Nodes) -> Iterator[Constant]:
    for row in nodes_of(nodes, "!air.function_constants"):
        match row:
            case (Symbol(symbol), str(type), str(name), int(index), *_):
                yield Constant(symbol, type, name, index)


def _argument(nodes: Nodes, row: tuple[Item, ...]) -> Argument | str:
    """A parameter, or the word of one that is not known."""
    position = row[0] if row and isinstance(row[0], int) else 0
    condition = ""
    if found := after(row, _CONDITION):
        row = tuple(item for item in row if item != _CONDITION and item != found[0])
        global_ = items(nodes, found[0].name) if isinstance(found[0], Node) else ()
        condition = next((item.name for item in global_ if isinstance(item, Symbol)), "")
    word = row[1] if len(row) > 1 and isinstance(row[1], str) else ""
    name = _word(row, "air.arg_name") or f"argument{position}"
    type_name = _word(row, "air.arg_type_name")
    if word in _MEMORY:
        return _memory(nodes, row, position, name, type_name, condition)
    builtin = word.removeprefix("air.")
    builtin = _OTHER_WORDS.get(builtin, builtin)
    type = type_named(type_name)
    if type is None or not word.startswith("air."):
        return word or "a parameter without a kind"
    return Argument(position, name, "builtin", type, builtin=builtin, condition=condition)


def _memory(
    nodes: Nodes, row: tuple[Item, ...], position: int, name: str, type_name: str, condition: str
) -> Argument | str:
    space = SPACES.get(_number(row, "air.address_space", 1), "device")
    kind: Kind = "threadgroup" if space == "threadgroup" else "buffer"
    size, align = _number(row, "air.arg_type_size", 1), _number(row, "air.arg_type_align_size", 1)
    fields = after(row, "air.struct_type_info")
    type: Type | None = None
    if fields and isinstance(fields[0], Node):
        type = struct_type(nodes, fields[0].name, type_name, size, align)
    type = type or type_named(type_name) or Struct(type_name or "void", (), size, align)
    return Argument(
        position,
        name,
        kind,
        type,
        index=_number(row, "air.location_index", position),
        space=space,
        const="air.read" in row or space == "constant",
        # More bytes than one of its type is `constant long strides[2]`: memory of several, however many are given.
        reference=0 < _number(row, "air.buffer_size", 0) <= size,
        condition=condition,
    )


def _word(row: tuple[Item, ...], key: str) -> str:
    found = after(row, key)
    return found[0] if found and isinstance(found[0], str) else ""


def _number(row: tuple[Item, ...], key: str, otherwise: int) -> int:
    found = after(row, key)
    return found[0] if found and isinstance(found[0], int) else otherwise
