"""What Metal's functions, attributes and words mean, and what metalloid's rules say. One line each, in text files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from metalloid.errors import MetalloidError
from metalloid.rules import rule

_VECTOR = re.compile(r"(packed_)?(u?(?:char|short|int|long)|half|float|bfloat|bool)([234])")
_MATRIX = re.compile(r"(half|float)([234])x([234])")
_BYTES = {"char": 1, "bool": 1, "short": 2, "half": 2, "bfloat": 2, "int": 4, "float": 4, "long": 8}
KINDS = ("functions", "attributes", "words")


@dataclass(frozen=True)
class Entry:
    """A word of Metal: how it is written, and what it does."""

    name: str
    written: str
    meaning: str

    @property
    def markdown(self) -> str:
        return f"```metal\n{self.written}\n```\n{self.meaning}"


@cache
def entries(kind: str) -> dict[str, Entry]:
    """All of "functions", "attributes" or "words"."""
    text = (resources.files(__name__) / f"{kind}.txt").read_text(encoding="utf-8")
    found = {}
    for line in text.splitlines():
        name, written, meaning = (part.replace("\\|", "|").strip() for part in re.split(r"(?<!\\)\|", line))
        found[name] = Entry(name, written, meaning)
    return found


def look_up(word: str, attribute: bool = False) -> Entry | None:
    """What a word means; inside `[[ ]]` an attribute of that name goes first."""
    for kind in ("attributes", *KINDS) if attribute else ("functions", "words", "attributes"):
        if word in entries(kind):
            return entries(kind)[word]
    return _shaped(word)


def _shaped(word: str) -> Entry | None:
    if match := _MATRIX.fullmatch(word):
        kind, columns, rows = match[1], int(match[2]), int(match[3])
        size = columns * _BYTES[kind] * (4 if rows == 3 else rows)
        return Entry(word, word, f"A matrix of {columns} columns, each a {kind}{rows}; {size} bytes.")
    if match := _VECTOR.fullmatch(word):
        packed, kind, count = bool(match[1]), match[2], int(match[3])
        length = 4 if count == 3 and not packed else count
        size = _BYTES[kind.removeprefix("u")] * length
        also = (
            ", as many as a vector of 4" if length > count else ", without a gap behind it" if packed else ""
        )
        return Entry(word, word, f"{count} components of {kind}; {size} bytes{also}.")
    return None


@cache
def rule_text(number: str) -> str:
    """The page of a rule as Markdown, without its examples: what, why, and the fix. Empty where there is none."""
    try:
        page = rule(number)
    except MetalloidError:
        return ""
    text = re.sub(r"^```.*?^```\n?", "", page.text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^## Example\n+", "", text, flags=re.MULTILINE)
    text = re.sub(r"^## (.*)$", r"**\1**", text, flags=re.MULTILINE)
    title, _, rest = text.partition("\n")
    body = re.sub(r"\n{3,}", "\n\n", rest).strip()
    return f"**{title.removeprefix('# ')}**\n\n{body}\n\n`metalloid rule {number}` has an example."
