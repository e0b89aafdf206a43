"""Read the text of a module, as clang and LLVM print it, into the model.

One pass over the lines. Debug records (`#dbg_value`) are left out. Numbered
values get names (`%7` becomes `%_7`), because LLVM wants numbers in order
and passes move things about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from threading import Lock

from metalloid.errors import DeviceError
from metalloid.ir.module import Block, Function, GlobalVariable, Instruction, Module, Parameter
from metalloid.ir.read_call import attributes
from metalloid.ir.read_shapes import read_by_shape
from metalloid.ir.read_values import ValueReader
from metalloid.ir.tokens import unquote
from metalloid.ir.types import StructType
from metalloid.ir.values import Constant
from metalloid.patterns import pattern

_NUMBERED = pattern(r"%(?=\d+(?![-\w$.]))")
_ATTACHMENT = pattern(r"!([-\w$.]+) (![0-9]+|!\{[^}]*\})")
_LABEL = pattern(r'([-\w$.]+|"[^"]*"):')
_QUOTED = pattern(r'"([^"]*)"')
_STRUCT = pattern(r'%("[^"]*"|[-\w$.]+) = type (.*)')
_TYPE_NAME = pattern(r'%("[^"]*"|[-\w$.]+)')
_GLOBAL = pattern(
    r'@("[^"]*"|[-\w$.]+) = (?P<prefix>.*?)\s*(?:addrspace\((?P<space>\d+)\) )?'
    r"(?P<prefix2>(?:externally_initialized )?)(?P<kind>global|constant) (?P<rest>.*)"
)


def read(text: str) -> Module:
    """The module this text describes."""
    prefix = "_"
    while re.search(rf"%{prefix}\d+\b", text):
        prefix += "_"
    return _Reader(prefix).module(text)


_KEPT = 4  # modules, of the texts that were asked for last
_recent: dict[str, Module] = {}
_lock = Lock()


def read_once(text: str) -> Module:
    """The same, for those who look at one module several times over: a check reads its kernel seven times."""
    found = _recent.get(text)
    return found if found is not None else keep(text, read(text))


def keep(text: str, module: Module) -> Module:
    """The module of a text, from one who has both: `read_once` finds it, and does not read what was just written."""
    with _lock:
        _recent.pop(text, None)
        while len(_recent) >= _KEPT:
            del _recent[next(iter(_recent))]
        _recent[text] = module
    return module


class _Reader:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.structs: dict[str, StructType] = {}
        self.functions: list[Function] = []
        self.globals: list[GlobalVariable] = []
        self.attributes: dict[str, str] = {}
        self.metadata: dict[str, str] = {}
        self.words = {"datalayout": "", "triple": "", "source": ""}
        self.other: list[str] = []

    def module(self, text: str) -> Module:
        all_lines = text.splitlines()
        self._types([line for line in all_lines if line.startswith("%")])
        lines = iter(all_lines)
        for line in lines:
            self._top(line, lines)
        return Module(
            tuple(self.functions),
            tuple(self.globals),
            self.words["datalayout"],
            self.words["triple"],
            self.words["source"],
            tuple(self.structs.values()),
            self.attributes,
            self.metadata,
            tuple(self.other),
        )

    def _top(self, line: str, lines: Iterator[str]) -> None:
        if not line or line[0] == ";":
            return
        if line[0] == "!":
            name, _, node = line.partition(" = ")
            self.metadata[name] = node
        elif line.startswith("attributes #"):
            name, _, group = line[len("attributes ") :].partition(" = ")
            self.attributes[name] = group
        elif line.startswith("define "):
            self.functions.append(self._function(line, lines))
        elif line.startswith("declare "):
            self.functions.append(self._function(line, None))
        elif line[0] == "@":
            self.globals.append(self._global(line))
        elif line[0] == "%":
            pass  # read before everything else
        elif line[0] == "$":
            self.other.append(line)
        elif line.startswith(("target ", "source_filename")):
            self._target(line)
        else:
            raise DeviceError(f"[ir] this line is not supported: {line}")

    def _target(self, line: str) -> None:
        word = line.split(" = ")[0].removeprefix("target ")
        found = _QUOTED.search(line)
        assert found
        self.words["source" if word == "source_filename" else word] = found[1]

    def _types(self, lines: list[str]) -> None:
        """Struct types, each after those it holds; the text may name them in any order."""
        bodies: dict[str, str] = {}
        for line in lines:
            found = _STRUCT.fullmatch(line)
            if not found:
                raise DeviceError(f"[ir] this type is not supported: {line}")
            bodies[found[1].strip('"')] = found[2]

        def settle(name: str) -> None:
            if name in self.structs or name not in bodies:
                return
            for inner in _TYPE_NAME.findall(bodies[name]):
                settle(inner.strip('"'))
            body = ValueReader(bodies[name], self.structs).type()
            if not isinstance(body, StructType):
                raise DeviceError(f"[ir] this type is not supported: {bodies[name]}")
            self.structs[name] = StructType(body.elements, body.packed, name)

        for name in bodies:
            settle(name)

    def _global(self, line: str) -> GlobalVariable:
        head, metadata = split_metadata(line)
        found = _GLOBAL.fullmatch(head)
        if not found:
            raise DeviceError(f"[ir] this global is not supported: {line}")
        prefix = found["prefix"]
        r = ValueReader(found["rest"], self.structs)
        type = r.type()
        initializer: Constant | None = None
        if r.peek not in ("", ","):
            initializer = r.constant(type)
        align, suffix = 0, ""
        while r.accept(","):
            if r.accept("align"):
                align = r.number()
            else:
                suffix += ", " + attributes(r)
        return GlobalVariable(
            found[1].strip('"'),
            type,
            initializer,
            int(found["space"] or 0),
            found["kind"] == "constant",
            (prefix + " " + found["prefix2"]).strip(),
            suffix,
            align,
            metadata,
        )

    def _function(self, line: str, lines: Iterator[str] | None) -> Function:
        line = self._name_numbers(line)
        line, _, comment = line.rstrip().removesuffix("{").rstrip().partition(" !dbg ")
        metadata = (("dbg", comment.split()[0]),) if comment else ()
        r = ValueReader(line, self.structs)
        r.next()
        prefix = attributes(r)
        result = r.type()
        name = unquote(r.next())
        r.expect("(")
        parameters, variadic = [], False
        while not r.accept(")"):
            if r.accept("..."):
                variadic = True
                continue
            type = r.type()
            words = attributes(r)
            local = unquote(r.next()) if r.peek[:1] == "%" else ""
            parameters.append(Parameter(local, type, words))
            r.accept(",")
        suffix = attributes(r)
        if r.peek:
            r.fail("this part of a function's head is not supported")
        # LLVM prints no label for an unnamed entry block; its number follows the parameters'.
        entry = f"{self.prefix}{sum(not p.name or p.name.startswith(self.prefix) for p in parameters)}"
        blocks = self._blocks(entry, lines) if lines is not None else ()
        return Function(name, result, tuple(parameters), blocks, prefix, suffix, variadic, metadata)

    def _name_numbers(self, line: str) -> str:
        return _NUMBERED.sub("%" + self.prefix, line)

    def _blocks(self, name: str, lines: Iterator[str]) -> tuple[Block, ...]:
        blocks: list[Block] = []
        code: list[Instruction] = []
        for line in lines:
            if line == "}":
                break
            if not line or line.lstrip()[0] in "#;":
                continue
            if line[0] != " ":
                found = _LABEL.match(line)
                if not found:
                    raise DeviceError(f"[ir] expected a label: {line}")
                if code:
                    blocks.append(Block(name, tuple(code)))
                    code = []
                label = found[1].strip('"')
                name = self.prefix + label if label.isdigit() else label
                continue
            line = _joined(line, lines)
            head, metadata = split_metadata(line)
            code.append(read_by_shape(head, self.structs, metadata, self.prefix))
        blocks.append(Block(name, tuple(code)))
        return tuple(blocks)


def _joined(line: str, lines: Iterator[str]) -> str:
    """A switch spans lines up to its closing bracket."""
    if not line.endswith("["):
        return line
    parts = [line]
    for more in lines:
        parts.append(more)
        if more.lstrip().startswith("]"):
            break
    return " ".join(parts)


def split_metadata(line: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A line less its attachments (`, !dbg !12`), and the attachments."""
    start = line.find(", !", line.rfind('"') + 1)
    if start < 0:
        return line, ()
    return line[:start], tuple(_ATTACHMENT.findall(line, start))
