"""Values of several parts, such as a struct or both elements of a matrix product, become those parts.

Every part is a value of its own then: it crosses barriers and goes through phis like any other. Only operations that
give several results at once, calls and compare-exchange, still make a whole, which is taken apart where it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from metalloid.errors import NotVectorised
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import I8, I32, VOID, ArrayType, StructType, Type
from metalloid.ir.values import Aggregate, Bytes, Int, Local, Named, Value
from metalloid.records import replace

Path = tuple[int, ...]
Parts = dict[Path, Value]
_WHOLE = ("call", "cmpxchg")


def scalarize_aggregates(function: Function, layout: DataLayout) -> Function:
    """The function without values of several parts, but for results of calls and compare-exchange."""
    if not any(_aggregate(i.type) or _stores_aggregate(i) for i in function.instructions()):
        return function
    return _Scalarizer(function, layout).run()


class _Scalarizer:
    def __init__(self, function: Function, layout: DataLayout) -> None:
        self.function, self.layout = function, layout
        self._parts: dict[str, Parts] = {}
        self._stores = 0
        self._taken: dict[str, dict[Path, Instruction]] = {}  # of wholes: the parts that are used

    def run(self) -> Function:
        for i in self.function.instructions():  # parts that have a name already keep it
            if i.opcode == "extractvalue" and not _aggregate(i.type):
                self._name(i)
        code = {b.name: [list(self._scalar(i)) for i in b.instructions] for b in self.function.blocks}
        return self.function.with_blocks(
            tuple(self._block(block, code[block.name]) for block in self.function.blocks)
        )

    def _name(self, i: Instruction) -> None:
        made = self.function.definitions[i.uses[0]] if i.uses else None
        if made is not None and made.opcode in _WHOLE:
            self._taken.setdefault(made.name, {}).setdefault(i.indices, i)

    def _block(self, block: Block, code: list[list[Instruction]]) -> Block:
        phis: list[Instruction] = []
        rest: list[Instruction] = []
        for i, made in zip(block.instructions, code, strict=True):
            (phis if i.opcode == "phi" else rest).extend(made)
            rest += self._taken.get(i.name, {}).values() if i.opcode in _WHOLE else ()
        return Block(block.name, (*phis, *rest))

    # ---- what an instruction becomes ------------------------------------------------------------------------

    def _scalar(self, i: Instruction) -> Iterator[Instruction]:
        values = {u: self._one(u) for u in i.uses if self._replaced(u)}
        if i.opcode in ("extractvalue", "insertvalue") and not self._kept(i):
            return
        if i.opcode == "store" and _aggregate(i.operands[0].type):
            yield from self._store(i)
        elif _aggregate(i.type) and i.opcode not in _WHOLE:
            yield from self._apart(i)
        elif not self._kept(i):
            yield i.substitute(values)

    def _kept(self, i: Instruction) -> bool:
        """Whether it takes a part from a whole, and was put behind that."""
        if i.opcode != "extractvalue" or not i.uses:
            return False
        return self._taken.get(i.uses[0], {}).get(i.indices) is i

    def _apart(self, i: Instruction) -> Iterator[Instruction]:
        """A phi, select, freeze or load: one for each part."""
        if i.opcode == "load":
            for path, part in self.parts(i.value).items():
                assert isinstance(part, Local)
                at = self._at(i, i.operands[-1], path, part.name)
                yield at
                align = self._align(i, path)
                yield replace(i, type=part.type, operands=(at.value,), name=part.name, align=align)
            return
        if i.opcode not in ("phi", "select", "freeze"):
            raise NotVectorised(f"[engine] {i.opcode} of several parts is not supported")
        whole = [self.parts(o) if _aggregate(o.type) else None for o in i.operands]
        for path, part in self.parts(i.value).items():
            assert isinstance(part, Local)
            operands = tuple(
                self._value(o if p is None else p[path]) for o, p in zip(i.operands, whole, strict=True)
            )
            yield replace(i, type=part.type, operands=operands, name=part.name)

    def _store(self, i: Instruction) -> Iterator[Instruction]:
        self._stores += 1
        for path, part in self.parts(i.operands[0]).items():
            at = self._at(i, i.operands[1], path, f"mt.parts{self._stores}.{'.'.join(map(str, path))}")
            yield at
            align = self._align(i, path)
            yield replace(i, type=VOID, operands=(self._value(part), at.value), align=align)

    def _at(self, i: Instruction, base: Value, path: Path, name: str) -> Instruction:
        """The address of a part in memory."""
        offset = Int(I32, _offset(self.layout, _accessed(i), path))
        made = Instruction("getelementptr", base.type, (base, offset), f"{name}.at", element=I8)
        return replace(made, metadata=i.debug_only)

    def _align(self, i: Instruction, path: Path) -> int:
        return gcd(max(i.align, 1), _offset(self.layout, _accessed(i), path))

    # ---- parts ------------------------------------------------------------------------------------------------

    def parts(self, value: Value) -> Parts:
        """The parts of a value, by where they are in it."""
        if not isinstance(value, Local):
            return dict(_constant_parts(value))
        if value.name not in self._parts:
            self._parts[value.name] = self._found(self.function.definitions[value.name])
        return self._parts[value.name]

    def _found(self, i: Instruction) -> Parts:
        if i.opcode == "insertvalue":
            whole, part = i.operands
            inner: Parts = self.parts(part) if _aggregate(part.type) else {(): self._value(part)}
            return self.parts(whole) | {(*i.indices, *path): v for path, v in inner.items()}
        if i.opcode == "extractvalue":
            return self._inside(i.operands[0], i.indices)
        named = {path: f"{i.name}.part{'.'.join(map(str, path))}" for path, _ in _leaves(i.type)}
        if i.opcode not in _WHOLE:
            return {path: Local(named[path], type) for path, type in _leaves(i.type)}
        taken = self._taken.setdefault(i.name, {})
        for path, type in _leaves(i.type):
            if path not in taken:
                taken[path] = Instruction("extractvalue", type, (i.value,), named[path], indices=path)
        return {path: taken[path].value for path, _ in _leaves(i.type)}

    def _inside(self, whole: Value, at: Path) -> Parts:
        return {p[len(at) :]: v for p, v in self.parts(whole).items() if p[: len(at)] == at}

    def _replaced(self, name: str) -> bool:
        i = self.function.definitions.get(name)
        return i is not None and i.opcode == "extractvalue" and not _aggregate(i.type)

    def _one(self, name: str) -> Value:
        """The value that a part is."""
        i = self.function.definitions[name]
        made = self.function.definitions[i.uses[0]] if i.uses else None
        if made is not None and made.opcode in _WHOLE:
            return self._taken[made.name][i.indices].value
        return self._value(self._inside(i.operands[0], i.indices)[()])

    def _value(self, value: Value) -> Value:
        if isinstance(value, Local) and self._replaced(value.name):
            return self._one(value.name)
        return value


def _accessed(i: Instruction) -> Type:
    return i.type if i.opcode == "load" else i.operands[0].type


def _aggregate(type: Type) -> bool:
    return isinstance(type, ArrayType | StructType)


def _stores_aggregate(i: Instruction) -> bool:
    return i.opcode == "store" and _aggregate(i.operands[0].type)


def _elements(type: Type) -> list[Type]:
    if isinstance(type, ArrayType):
        return [type.element] * type.count
    assert isinstance(type, StructType)
    return list(type.elements)


def _leaves(type: Type) -> Iterator[tuple[Path, Type]]:
    if not _aggregate(type):
        yield (), type
        return
    for n, element in enumerate(_elements(type)):
        for path, leaf in _leaves(element):
            yield (n, *path), leaf


def _constant_parts(value: Value) -> Iterator[tuple[Path, Value]]:
    if not _aggregate(value.type):
        yield (), value
    elif isinstance(value, Aggregate):
        for n, element in enumerate(value.elements):
            for path, part in _constant_parts(element):
                yield (n, *path), part
    elif isinstance(value, Bytes):
        yield from (((n,), Int(I8, byte)) for n, byte in enumerate(value.data))
    else:
        assert isinstance(value, Named)
        for path, type in _leaves(value.type):
            yield path, Named(type, value.word)


def _offset(layout: DataLayout, type: Type, path: Path) -> int:
    """Bytes from the start of a value to a part of it."""
    at = 0
    for n in path:
        if isinstance(type, StructType):
            at += layout.struct(type)[0][n]
        else:
            assert isinstance(type, ArrayType)
            at += n * layout.size(type.element)
        type = _elements(type)[n]
    return at
