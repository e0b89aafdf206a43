"""The lines of a function before the optimiser that have to do with private memory, taken apart.

Clang writes few forms there; what is none of them is `None`, and whoever's address stands in it is not followed.
"""

from __future__ import annotations

import re

from metalloid.records import dataclass

NAME = r'%(?:"[^"]+"|[\w.$-]+)'
_PTR = r"ptr(?: addrspace\(5\))?"
NAMES = re.compile(NAME)
_ALLOCA = re.compile(rf"  (?P<name>{NAME}) = alloca (?P<type>.+), align (?P<align>\d+), addrspace\(5\)$")
_CAST = re.compile(rf"  (?P<name>{NAME}) = addrspacecast {_PTR} (?P<of>{NAME}) to {_PTR}(?=[,\n]|$)")
_GEP = re.compile(rf"  (?P<name>{NAME}) = getelementptr .+?, {_PTR} (?P<of>{NAME})(?P<indices>.*?)(?=, !|$)")
_LOAD = re.compile(
    rf"  (?P<name>{NAME}) = load (?:volatile )?(?P<type>.+), {_PTR} (?P<of>{NAME}), align (?P<align>\d+)"
)
_STORE = re.compile(rf"  store (?:volatile )?(?P<what>.+), {_PTR} (?P<of>{NAME}), align (?P<align>\d+)")
_COPY = re.compile(
    rf"  (?:tail )?call void @llvm\.mem(?:cpy|move)\.[\w.]+\(ptr(?: addrspace\(\d\))? [^%@,]*(?P<to>{NAME}|[^,]+), "
    rf"ptr(?: addrspace\(\d\))? [^%@,]*(?P<of>{NAME}|[^,]+), i64 (?P<bytes>\d+), i1"
)
_FILL = re.compile(
    rf"  (?:tail )?call void @llvm\.memset\.[\w.]+\({_PTR} [^%@,]*(?P<to>{NAME}), i8 \S+ i64 (?P<bytes>\d+), i1"
)
_MOVE = re.compile(
    rf"  (?P<name>{NAME}) = (?P<word>phi|select|bitcast|freeze|trunc|zext) (?P<rest>.*?)(?=, !|$)"
)
_EXTRACT = re.compile(rf"  (?P<name>{NAME}) = extractvalue (?P<what>.+?)(?P<indices>(?:, \d+)+)(?=, !|$)")
_COMPARE = re.compile(rf"  {NAME} = icmp ")
_DEFINED = re.compile(rf"  (?P<name>{NAME}) = ")
DEBUG = re.compile(r", !dbg !\d+")


@dataclass(frozen=True)
class Line:
    """One instruction: its form, what it defines, which pointer it goes through, which value it stores."""

    form: str  # alloca cast gep load store copy fill extract move compare other
    name: str = ""
    of: str = ""  # the pointer; of a copy, where it comes from
    to: str = ""  # of a copy and a fill: where it goes
    type: str = ""
    value: str = ""
    bytes: int = 0
    align: str = ""
    index: str = ""  # the last index of a gep, with its type


def parse(line: str) -> Line | None:
    """None for what uses no value: labels, empty lines, records of debuggers."""
    if not line.startswith("  ") or line.startswith("    #dbg"):
        return None
    for take in (_memory, _pointer):
        made = take(line)
        if made is not None:
            return made
    defined = _DEFINED.match(line)
    name = defined["name"] if defined else ""
    if found := _EXTRACT.match(line):
        type, value = split_type(found["what"])
        return Line("extract", name, of=value, type=type, index=found["indices"])
    if found := _MOVE.match(line):
        return Line("move", name, type=found["word"], value=found["rest"])
    return Line("compare" if _COMPARE.match(line) else "other", name)


def _memory(line: str) -> Line | None:
    if found := _LOAD.match(line):
        return Line("load", found["name"], found["of"], type=found["type"], align=found["align"])
    if found := _STORE.match(line):
        type, value = split_type(found["what"])
        return Line("store", "", found["of"], type=type, value=value, align=found["align"])
    if found := _COPY.match(line):
        return Line("copy", "", found["of"], found["to"], bytes=int(found["bytes"]))
    if found := _FILL.match(line):
        return Line("fill", "", "", found["to"], bytes=int(found["bytes"]))
    return None


def _pointer(line: str) -> Line | None:
    if found := _ALLOCA.match(line):
        return Line("alloca", found["name"], type=found["type"], align=found["align"])
    if found := _CAST.match(line):
        return Line("cast", found["name"], found["of"])
    if found := _GEP.match(line):
        return Line("gep", found["name"], found["of"], index=found["indices"].rpartition(", ")[2])
    return None


_CLOSING = {"[": "]", "<": ">", "{": "}"}


def split_type(text: str) -> tuple[str, str]:
    """`[2 x i32] %10` as its type and its value."""
    if text[0] == "%":
        found = NAMES.match(text)
        end = found.end() if found else len(text)
    elif text[0] in _CLOSING:
        end = _closed(text)
    else:
        end = len(re.match(r"ptr addrspace\(\d\)|\S+", text)[0])  # type: ignore[index]
    return text[:end], text[end:].strip()


def _closed(text: str) -> int:
    depth = 0
    for at, letter in enumerate(text):
        depth += letter in "[<{"
        depth -= letter in "]>}"
        if depth == 0:
            return at + 1
    return len(text)


def elements(text: str) -> list[str]:
    """The types inside `{ float, [4 x i8] }`."""
    rest, found = text.strip().removeprefix("<").removesuffix(">").strip().strip("{}").strip(), []
    while rest:
        type, rest = split_type(rest)
        found.append(type.rstrip(","))
        rest = rest.removeprefix(",").strip()
    return found


_SCALARS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
_MANY = re.compile(r"[\[<](\d+) x (.+)[\]>]")


def bits(type: str) -> int:
    """How many bits a number, a vector or an array of numbers takes in memory; 0 of anything else."""
    if type in _SCALARS:
        return _SCALARS[type]
    if re.fullmatch(r"i\d+", type):
        width = int(type[1:])
        return width if width % 8 == 0 else 0
    found = _MANY.fullmatch(type)
    return int(found[1]) * bits(found[2]) if found else 0
