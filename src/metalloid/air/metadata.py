"""Read metadata nodes out of a module's text: tuples of numbers, words, references and globals.

AIR describes a kernel's parameters there: `!18 = !{i32 0, !"air.buffer", !"air.location_index", i32 3, ...}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from metalloid.ir.tokens import unquote

_ITEM = re.compile(
    r'!"(?P<word>(?:[^"\\]|\\.)*)"|(?P<node>!\d+)|(?:ptr(?: addrspace\(\d+\))?) (?P<name>@(?:"[^"]*"|[-\w$.]+))'
    r"|i\d+ (?P<number>-?\d+|true|false)|(?P<null>null)"
)


@dataclass(frozen=True)
class Node:
    """A reference to another node."""

    name: str  # "!12"


@dataclass(frozen=True)
class Symbol:
    """A function or a global."""

    name: str


Item = int | str | Node | Symbol | None


def items(nodes: Mapping[str, str], name: str) -> tuple[Item, ...]:
    """What a node holds; () for one that is not there."""
    return tuple(_items(nodes.get(name, "")))


def _items(text: str) -> Iterator[Item]:
    for found in _ITEM.finditer(text):
        if found["word"] is not None:
            yield found["word"]
        elif found["node"]:
            yield Node(found["node"])
        elif found["name"]:
            yield Symbol(unquote(found["name"]))
        elif found["number"]:
            yield _number(found["number"])
        else:
            yield None


def _number(text: str) -> int:
    return int(text == "true") if text.isalpha() else int(text)


def nodes_of(nodes: Mapping[str, str], name: str) -> tuple[tuple[Item, ...], ...]:
    """The contents of all nodes that a node refers to."""
    return tuple(items(nodes, item.name) for item in items(nodes, name) if isinstance(item, Node))


def after(row: tuple[Item, ...], word: str, count: int = 1) -> tuple[Item, ...]:
    """What follows a word in a row; () where the word is not there, or too little follows."""
    if word not in row:
        return ()
    at = row.index(word) + 1
    return row[at : at + count] if at + count <= len(row) else ()
