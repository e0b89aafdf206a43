"""M407 and M408: integers divided by zero, and numbers that 8 or 16 bits do not hold.

A line that handles bits, or a hash that multiplies itself by a number, is meant to cut them off: nothing is said
of it. A cast written out (`ushort(a * b)`) is not tested at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.findings import Finding

_TYPES = {
    -8: ("uchar", 0, 255),
    -7: ("char", -128, 127),
    -16: ("ushort", 0, 65535),
    -15: ("short", -32768, 32767),
}
_BITS = re.compile(r"<<|>>|\^|~|(?<!&)&(?!&)|(?<!\|)\|(?!\|)")
_HASH = re.compile(r"\b(?P<name>\w+)\s*(?:\*=\s*\d|=\s*\(*\s*(?P=name)\s*\*\s*\d)")
_NAMED = re.compile(r"\b(\w+)\s*[-+*/%]?=(?!=)")
_COMMENT = re.compile(r"//.*|/\*.*?\*/")
_DIVISOR = re.compile(r"\s*=?\s*(?P<text>[A-Za-z_][\w.]*(?:\[[^\[\]]*\])?|\([^()]*\))")


def integers(case: Case) -> Iterator[Finding]:
    for record in case.observation.records:
        if record.rule == "M407":
            yield _divided(case, record)
        elif record.rule == "M408" and not _cuts(case, record):
            yield _narrow(case, record)


def _divided(case: Case, record: Record) -> Finding:
    place = record.access.location
    line = case.line(place)[max(0, place.column - 1) :] if place else ""
    sign = line[:1] if line[:1] in ("/", "%") else ""
    found = _DIVISOR.match(line[1:]) if sign else None
    what = f"'{found['text']}'" if found else "the divisor"
    word = {"/": "an integer is divided", "%": "a remainder of a division"}.get(sign, "an integer is divided")
    return case.finding(
        record,
        f"{word} by zero: {what} is 0; what comes out is undefined (here: 0)",
        f"divide only where {what} is not 0, or find out who hands a 0 to this launch",
    )


def _cuts(case: Case, record: Record) -> bool:
    if record.detail["index"] == -1:  # the largest number, which a comparison turns away
        return True
    line = _COMMENT.sub("", case.line(record.access.location))
    return bool(_BITS.search(line) or _HASH.search(line))


def _narrow(case: Case, record: Record) -> Finding:
    number = record.detail["index"]
    name, least, most = _TYPES[record.detail["size"]]
    span = most - least + 1
    kept = (number - least) % span + least
    wide = "int" if least or number < 0 else "uint"
    return case.finding(
        record,
        f"{number} does not fit a {name} ({least} to {most}): it becomes {kept}",
        f"keep it in {_article(wide)} {wide}; where it is meant to wrap around, say so with a cast: {name}(...)",
        detail={"named": found[1] if (found := _NAMED.search(case.line(record.access.location))) else ""},
    )


def _article(word: str) -> str:
    return "an" if word[0] in "aeio" else "a"
