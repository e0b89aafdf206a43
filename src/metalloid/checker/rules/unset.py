"""M110: a private variable, or a part of one, that is used and was never set."""

from __future__ import annotations

import re

from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.findings.places import target

_INSIDE = r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]"
_EXPRESSION = re.compile(rf"[A-Za-z_]\w*(?:(?:\.|->)\w+|{_INSIDE})*")
_STORED = re.compile(rf"\s*=(?!=)\s*(?P<value>{_EXPRESSION.pattern})?\s*(?P<end>;)?")
_SIGN = re.compile(r"[^=!<>]=(?!=)")
_ANYTHING = "what was never set holds anything on a GPU (here: 0)"


def unset(case: Case, record: Record) -> tuple[str, str]:
    place = record.access.location
    line, column = case.line(place), place.column if place else 0
    what, kind = named(line, column)
    base, index = what.split("[")[0], record.detail["index"]
    if kind == "argument":
        said = f"what '{what}' is given was never set by this thread, or not all of it"
        return said, f"set it before the call; {_ANYTHING}"
    if kind == "stored":
        said = f"'{what}'" if what else "what is stored here"
        return f"{said} was never set by this thread, or not all of it", f"set every part of it; {_ANYTHING}"
    if "[" in what and index >= 0:
        return (
            f"'{what}' is used, and this thread has never set that element of '{base}' (the index is {index})",
            f"set every element of '{base}' that is read, or read as many as were set; {_ANYTHING}",
        )
    said = f"'{what}' is used" if what else "a value is used"
    return (
        f"{said}, and this thread has never set it",
        f"give it a value on every way to this line; {_ANYTHING}",
    )


def named(line: str, column: int) -> tuple[str, str]:
    """The expression that stands at a column, or ends there, and what is done with it."""
    if not 0 < column <= len(line):
        return "", ""
    start = column - 1
    while start > 0 and (
        line[start - 1].isalnum() or line[start - 1] in "_." or line[start - 1 : start + 1] == "->"
    ):
        start -= 1  # `p.` before a member
    found = _EXPRESSION.match(line, start)
    if found is None or found.end() < column:
        before = target(line, column - 1)  # `sum += x` stands at its sign
        found = _EXPRESSION.match(line, before) if before >= 0 else None
    if found is None:
        stored = _SIGN.search(line, max(0, column - 2))
        found_value = _STORED.match(line, stored.start() + 1) if stored else None
        return (found_value["value"] or "", "stored") if found_value and found_value["end"] else ("", "")
    if line[found.end() : found.end() + 1] == "(":
        return found[0], "argument"
    if (stored := _STORED.match(line, found.end())) is not None:
        return (stored["value"] or "" if stored["end"] else ""), "stored"
    return found[0], ""
