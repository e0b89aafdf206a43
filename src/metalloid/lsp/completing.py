"""What can stand at a place: attributes inside `[[`, flags behind `mem_flags::`, else words and names of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metalloid.frontend.hints.vocabulary import KEYWORDS
from metalloid.lsp.names import declarations
from metalloid.lsp.reference import entries

FLAGS = ("mem_none", "mem_device", "mem_threadgroup", "mem_texture")
_SCALARS = (
    "char",
    "uchar",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "half",
    "bfloat",
    "float",
    "bool",
)
TYPES = tuple(f"{scalar}{count}" for scalar in _SCALARS for count in ("", "2", "3", "4"))
KERNEL = (
    "kernel void ${1:name}(device const float* ${2:x} [[buffer(0)]], device float* ${3:out} [[buffer(1)]],\n"
    "                 constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
    "    if (i < n) {\n        $3[i] = $2[i];$0\n    }\n}"
)


@dataclass(frozen=True)
class Choice:
    label: str
    kind: str  # function, attribute, word, type, name, snippet
    detail: str = ""
    meaning: str = ""
    snippet: str = ""


def choices(text: str, offset: int) -> list[Choice]:
    """Of the Metal in `text`, at an offset."""
    before = text[:offset]
    opened = before.rfind("[[")
    if opened > before.rfind("]]") and "\n" not in before[opened:]:
        return [Choice(e.name, "attribute", e.written, e.meaning) for e in entries("attributes").values()]
    if re.search(r"mem_flags::\w*$", before):
        words = entries("words")
        return [Choice(flag, "word", words[flag].written, words[flag].meaning) for flag in FLAGS]
    if re.search(r"(\.|->|::)\w*$", before):
        return [] if before.rstrip("_").endswith("::") else list(_members(text))
    return [*_names(text, offset), *_words()]


def _members(text: str) -> Iterator[Choice]:
    """Of the text's own structs; swizzles are for the fingers."""
    seen = {d.name for d in declarations(text) if d.kind == "member"}
    yield from (Choice(name, "name", "member") for name in sorted(seen))


def _names(text: str, offset: int) -> Iterator[Choice]:
    seen: dict[str, str] = {}
    for d in declarations(text):
        if d.kind != "member" and (d.seen_from(offset) or d.kind in ("function", "struct", "macro")):
            seen[d.name] = d.kind
    yield from (Choice(name, "name", kind) for name, kind in seen.items())


def _words() -> Iterator[Choice]:
    yield Choice("kernel", "snippet", "kernel void name(...)", "A kernel, one thread per element.", KERNEL)
    for e in entries("functions").values():
        yield Choice(e.name, "function", e.written, e.meaning)
    for e in entries("words").values():
        if e.name != "kernel":
            yield Choice(e.name, "word", e.written, e.meaning)
    known = {*entries("words"), *entries("functions")}
    yield from (Choice(name, "type") for name in TYPES if name not in known)
    yield from (Choice(name, "word") for name in sorted(KEYWORDS - known - set(TYPES)))
