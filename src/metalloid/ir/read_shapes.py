"""Read an instruction by the shape of its line: the line less the names of its locals.

Kernels say the same things with other names: the 36,000 lines of a dozen kernels have 1,100 shapes. The first line of a
shape is read with numbers for names, which say where the names of the next one belong.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.errors import DeviceError
from metalloid.ir.module import Instruction
from metalloid.ir.read_code import read_instruction
from metalloid.ir.types import StructType, Type
from metalloid.ir.values import Local, Value
from metalloid.patterns import pattern
from metalloid.records import dataclass

_NAME = pattern(r'%("[^"]*"|[-\w$.]+)')
_MOST = 20_000  # shapes
_shapes: dict[str, _Shape | None] = {}


@dataclass(frozen=True, slots=True)
class _Shape:
    """An instruction whose locals are numbers: places in the list of its line's names."""

    model: Instruction
    name: int  # -1: it has no result
    operands: tuple[tuple[int, Value, Type], ...]  # -1: no local
    labels: tuple[int, ...]

    def with_names(self, names: list[str], metadata: tuple[tuple[str, str], ...]) -> Instruction:
        one = self.model
        return Instruction(
            one.opcode,
            one.type,
            tuple([value if at < 0 else Local(names[at], type) for at, value, type in self.operands]),
            names[self.name] if self.name >= 0 else "",
            one.flags,
            one.predicate,
            tuple([names[at] for at in self.labels]) if self.labels else (),
            one.element,
            one.align,
            one.ordering,
            one.failure_ordering,
            one.scope,
            one.indices,
            one.callee,
            one.style,
            metadata,
        )


def read_by_shape(
    line: str, structs: Mapping[str, StructType], metadata: tuple[tuple[str, str], ...], prefix: str
) -> Instruction:
    """The instruction on this line. Locals that are numbers get `prefix` in front of them."""
    parts = _NAME.split(line)
    names = parts[1::2]
    for n, name in enumerate(names):
        if name[0] == '"':
            names[n] = name[1:-1]
        elif name.isdigit():
            names[n] = prefix + name
    if structs.keys().isdisjoint(names):
        key = "%".join(parts[::2])
        if key not in _shapes:
            _keep(key, parts[::2])
        if (shape := _shapes.get(key)) is not None:
            return shape.with_names(names, metadata)
    numbered = "".join(_numbered(part, prefix) if n % 2 else part for n, part in enumerate(parts))
    return read_instruction(numbered, structs, metadata)


def _numbered(name: str, prefix: str) -> str:
    return f"%{prefix if name.isdigit() else ''}{name}"


def _keep(key: str, pieces: list[str]) -> None:
    if len(_shapes) >= _MOST:
        _shapes.clear()
    line = "".join(f'{piece}%"{n}"' for n, piece in enumerate(pieces[:-1])) + pieces[-1]
    try:
        _shapes[key] = _shape(read_instruction(line, {}, ()), len(pieces) - 1)
    except DeviceError:  # a line that cannot be read: reading it as it is says why
        _shapes[key] = None


def _shape(model: Instruction, count: int) -> _Shape | None:
    """None where a name has gone elsewhere, as into the text of metadata."""
    operands = tuple((int(o.name) if isinstance(o, Local) else -1, o, o.type) for o in model.operands)
    name, labels = int(model.name or -1), tuple(map(int, model.labels))
    found = [*(at for at, _, _ in operands if at >= 0), *([name] if name >= 0 else []), *labels]
    return _Shape(model, name, operands, labels) if sorted(found) == list(range(count)) else None
