"""M407 and M408: integers divided by zero, and numbers that 8 or 16 bits do not hold.

A line that handles bits, or a hash that multiplies itself by a number, is meant to cut them off: nothing is said
of it. A cast written out (`ushort(a * b)`) is not tested at all.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import replace

from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.findings import Finding
from metalloid.ir.intrinsics import FROM_FLOAT, FROM_UNSIGNED, OF_VECTORS
from metalloid.location import Location

_TYPES = {
    -8: ("uchar", 0, 255),
    -7: ("char", -128, 127),
    -16: ("ushort", 0, 65535),
    -15: ("short", -32768, 32767),
}
_BITS = re.compile(r"<<|>>|\^|~|(?<!&)&(?!&)|(?<!\|)\|(?!\|)")
_HASH = re.compile(r"\b(?P<name>\w+)\s*(?:\*=\s*\d|=\s*\(*\s*(?P=name)\s*\*\s*\d)")
_NARROW = r"(?:u?char|u?short|u?int(?:8|16)_t)[234]?"
_CAST = re.compile(rf"\b{_NARROW}\s*\(|\(\s*{_NARROW}\s*\)|_cast\s*<\s*{_NARROW}\s*>")
_NAMED = re.compile(r"\b(\w+)\s*[-+*/%]?=(?!=)")
_ELEMENT = re.compile(r"\b(?P<name>\w+)\s*\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*[-+*]?=(?!=)")
_ENDS = re.compile(r"[;{}]\s*(?://.*)?$|^\s*$|^\s*#")
_LONGEST = 8  # lines of a statement
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


def _signed(number: int) -> int:
    """A number of 32 bits, as clang hands it on, with its sign."""
    return number - (1 << 32) if 1 << 31 <= number < 1 << 32 else number


def _cuts(case: Case, record: Record) -> bool:
    if _signed(record.detail["index"]) == -1:  # the largest number, which a comparison turns away
        return True
    line = _COMMENT.sub("", _statement(case, record))
    if record.detail["size"] < -min(FROM_FLOAT.values()):
        return bool(_CAST.search(line))
    return bool(_BITS.search(line) or _HASH.search(line))


def _statement(case: Case, record: Record) -> str:
    """The statement: from a `;` or brace before the place to one behind it, on up to a few lines before and behind it.

    `f(w) + f(w >> 4)` may take several; a whole kernel may stand on one, with other statements and a `uint& n`.
    """
    place = record.access.location
    line, at = case.line(place), max(0, place.column - 1) if place else 0
    start = max(line.rfind(sign, 0, at) for sign in ";{}") + 1
    end = min((found for sign in ";{}" if (found := line.find(sign, at)) >= 0), default=-1)
    lines = [line[start : end if end >= 0 else None]]
    if not start:
        lines = [*_beside(case, place, -1), *lines]
    return "\n".join(lines if end >= 0 else [*lines, *_beside(case, place, 1)])


def _beside(case: Case, place: Location | None, step: int) -> list[str]:
    """The lines before a place, or behind it, that belong to the statement there."""
    found: list[str] = []
    before = case.line(place)
    for _ in range(_LONGEST if place is not None else 0):
        assert place is not None
        if place.line + step < 1:
            break
        place = replace(place, line=place.line + step)
        line = case.line(place)
        if _ENDS.search(before if step > 0 else line):
            break
        found.insert(len(found) if step > 0 else 0, line)
        before = line
    return found


def _narrow(case: Case, record: Record) -> Finding:
    number, kind = record.detail["index"], record.detail["size"]
    if kind < -min(FROM_FLOAT.values()):
        return _from_float(case, record)
    vector, unsigned = kind < -OF_VECTORS, -OF_VECTORS < kind < -FROM_UNSIGNED
    name, least, most = _TYPES[kind + OF_VECTORS * vector + FROM_UNSIGNED * unsigned]
    number = number if unsigned else _signed(number)
    span = most - least + 1
    kept = (number - least) % span + least
    wide = "int" if least or number < 0 else "uint"
    hint = f"keep it in {_article(wide)} {wide}; where it is meant to wrap around, say so with a cast: {name}(...)"
    place = record.access.location
    by = case.line(place)[max(0, place.column - 1) :][:1] if place else ""
    by = by if by in ("-", "*") else "+"
    if vector:
        hint = (
            f"elements of {name} vectors are not widened before they are added or multiplied: convert both sides to"
            f" {wide} vectors first ({wide}4(a) {by} {wide}4(b))"
        )
    if output := _output(case, record):
        end, keeps = (most, "min") if number > most else (least, "max")
        stops = f"where it is meant to stop at {end}, as pixels and samples do, write"
        if vector and by != "*":
            hint += f"; {stops} {name}4({keeps}({wide}4(a) {by} {wide}4(b), {end}{'u' * (wide == 'uint')}))"
        elif not vector:
            hint = (
                f"{stops} {name}(clamp(value, {least}, {most})); where it is meant to wrap around, {name}(value); else"
                f" '{output}' needs a wider type"
            )
    return case.finding(
        record,
        f"{number} does not fit {'an element of a vector of' if vector else 'a'} {name} ({least} to {most}): it becomes"
        f" {kept}",
        hint,
        detail={"named": found[1] if (found := _NAMED.search(case.line(record.access.location))) else ""},
    )


def _output(case: Case, record: Record) -> str:
    """The array of the launch that the number is put into, whose type the statement cannot choose; else ""."""
    found = _ELEMENT.search(_statement(case, record))
    names = {p.name for p in case.kernel.signature.buffers}
    return found["name"] if found and found["name"] in names else ""


def _from_float(case: Case, record: Record) -> Finding:
    """A float that is converted to a type that does not hold it: which number comes out is not defined."""
    bits, lower = next(
        (bits, lower) for bits, lower in FROM_FLOAT.items() if record.detail["size"] + lower in _TYPES
    )
    raw = (record.detail["index"] & ((1 << bits) - 1)).to_bytes(bits // 8, "little")
    value = struct.unpack("<f" if bits == 32 else "<e", raw)[0]
    name, least, most = _TYPES[record.detail["size"] + lower]
    return case.finding(
        record,
        f"{value:.9g} does not fit a {name} ({least} to {most}): what it becomes is undefined",
        f"clamp it first: {name}(clamp(value, {least}.0f, {most}.0f)); or find out why it is that large",
    )


def _article(word: str) -> str:
    return "an" if word[0] in "aeio" else "a"
