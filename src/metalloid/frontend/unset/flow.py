"""Which variables of a function may hold something that nobody set, and which values may come from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from metalloid.frontend.unset.lines import DEBUG, NAMES, Line, bits, split_type
from metalloid.frontend.unset.pointers import Pointers
from metalloid.records import dataclass, field

_SELECT = re.compile(r"(?:[a-z]+ )*?i1 (?P<if>[^,]+), (?P<first>.+), (?P<second>[^,]+)")
_CONVERT = re.compile(r"(?:[a-z]+ )*?(?P<what>.+) to (?P<type>.+)")
_PHI = re.compile(r"(?:(?:reassoc|nnan|ninf|nsz|arcp|contract|afn|fast) )*(?P<rest>.*)")
_INCOMING = re.compile(r"\[ (?P<value>[^,]+), (?P<block>%[^ ]+) \]")
_INTEGER = re.compile(r"i\d+")
_BITFIELD = re.compile(r"%bf\.")


@dataclass(frozen=True)
class Twin:
    """What goes with a value: as many bits, set where the value's are; of a struct, one of its type."""

    type: str
    index: str = "-1"  # the index that it was read with
    debug: str = ""


@dataclass
class Flow:
    sources: set[str] = field(default_factory=set)  # declared without a value
    variables: set[str] = field(default_factory=set)  # those, and what values of theirs are put in
    values: dict[str, Twin] = field(default_factory=dict)
    structs: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the types inside each

    def type(self, type: str) -> str:
        """The type of what goes with a value; "" where nothing does."""
        if type in self.structs:
            return type
        return "i1" if type == "i1" else f"i{width}" if (width := bits(type)) else ""

    def inner(self, line: Line) -> str:
        """The type of what is taken out of a struct."""
        type = line.type
        for index in line.index.split(", ")[1:]:
            inside = self.structs.get(type, ())
            if int(index) >= len(inside):
                return ""
            type = inside[int(index)]
        return type


def flow(
    lines: Sequence[tuple[str, Line]],
    known: Pointers,
    annotated: str,
    structs: Mapping[str, Sequence[str]],
) -> Flow:
    found = Flow(structs=structs)
    for text, line in lines:
        if line.form in ("store", "fill") and annotated in text:
            into = known.leads(line.of or line.to)
            if into and not known.types[into].startswith("ptr"):
                found.sources.add(into)
    found.variables |= found.sources
    indices = {
        line.name: line.index[4:] for _, line in lines if line.form == "gep" and line.index[:4] == "i64 "
    }
    size = -1
    while size != (size := len(found.variables) + len(found.values)):
        for text, line in lines:
            _step(found, known, indices, text, line)
    return found


def _step(found: Flow, known: Pointers, indices: dict[str, str], text: str, line: Line) -> None:
    type, index = "", "-1"
    if line.form == "load":
        if known.leads(line.of) in found.variables and not _BITFIELD.match(line.name):
            type, index = found.type(line.type), indices.get(line.of, "-1")
    elif line.form == "extract" and line.of in found.values:
        inner = found.inner(line)
        type = found.type(inner) if inner[:1] != "[" else ""
    elif line.form == "move" and any(name in found.values for name in NAMES.findall(line.value)):
        made = type_of_move(line)
        type = found.type(made) if made not in found.structs else ""
    elif line.form == "store" and line.value in found.values:
        into = known.leads(line.of)
        if into and into not in known.slots:
            found.variables.add(into)
    elif line.form == "copy" and known.leads(line.of) in found.variables and (into := known.leads(line.to)):
        found.variables.add(into)
    if type and line.name not in found.values:
        debug = DEBUG.search(text)
        found.values[line.name] = Twin(type, index, debug[0] if debug else "")


def type_of_move(line: Line) -> str:
    """The type of what a choice or a conversion gives; "" where its twin is not made."""
    if line.type == "phi":
        found = _PHI.match(line.value)
        return split_type(found["rest"])[0] if found else ""
    if line.type == "select":
        chosen = _SELECT.fullmatch(line.value)
        return split_type(chosen["first"])[0] if chosen else ""
    converted = _CONVERT.fullmatch(line.value)
    if converted is None:  # freeze
        return split_type(line.value)[0]
    was, is_ = split_type(converted["what"])[0], converted["type"]
    if line.type in ("trunc", "zext"):
        return is_ if _INTEGER.fullmatch(is_) and _INTEGER.fullmatch(was) else ""
    return is_ if bits(was) == bits(is_) else ""


def twin_of_move(line: Line, found: Flow, rename: Mapping[str, str]) -> str:
    """The instruction that makes the twin of a choice or a conversion."""
    type = found.values[line.name].type

    def of(value: str) -> str:
        return rename[value] if value in found.values else "-1"

    if line.type == "phi":
        parts = [f"[ {of(m['value'])}, {m['block']} ]" for m in _INCOMING.finditer(line.value)]
        return f"phi {type} {', '.join(parts)}"
    if line.type == "select":
        chosen = _SELECT.fullmatch(line.value)
        assert chosen
        first, second = (split_type(chosen[word])[1] for word in ("first", "second"))
        return f"select i1 {chosen['if']}, {type} {of(first)}, {type} {of(second)}"
    converted = _CONVERT.fullmatch(line.value)
    value = split_type(converted["what"] if converted else line.value)[1]
    was = found.values[value].type
    word = {"trunc": "trunc", "zext": "sext"}.get(line.type, "bitcast")
    return f"{word} {was} {of(value)} to {type}"
