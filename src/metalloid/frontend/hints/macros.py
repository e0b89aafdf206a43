"""A ';' that is missing in or after the use of a macro: the caret stands at the use, whatever lacks it."""

from __future__ import annotations

import re

from metalloid.errors import Diagnostic
from metalloid.frontend.hints.context import Context, Macro
from metalloid.records import replace


def macro_use(line: str, place: int, context: Context) -> tuple[Macro, int, int] | None:
    """The user's macro whose use in the line covers the place, and where that use begins and ends."""
    for word in re.finditer(r"[A-Za-z_]\w*", line):
        if word.start() > place:
            break
        end = end_of_use(line, word.end())
        if place <= end and (macro := context.macro(word[0])):
            return macro, word.start(), end
    return None


def semicolon_of_macro(macro: Macro, start: int, end: int, line: str, diagnostic: Diagnostic) -> Diagnostic:
    """The statement without ';' is in the macro, or it ends with the macro's use."""
    followed = re.sub(r"//.*", "", line[end:]).strip()
    if ";" not in macro.body and not followed.startswith(";"):
        return replace(
            diagnostic,
            rule="M601",
            column=end + 1,
            length=1,
            message=f"missing ';' after '{macro.name}'",
            hint="add ';' where the caret points",
        )
    return replace(
        diagnostic,
        rule="M601",
        column=start + 1,
        length=len(macro.name),
        message=f"missing ';' inside the macro '{macro.name}'",
        hint=f"look at `#define {macro.name}`: each of its statements ends in ';'",
    )


def end_of_use(line: str, end: int) -> int:
    """Where the use of a macro ends: behind its arguments, where it has some on this line."""
    depth = 0
    for place in range(end, len(line) if line[end:].lstrip().startswith("(") else end):
        depth += {"(": 1, ")": -1}.get(line[place], 0)
        if line[place] == ")" and depth == 0:
            return place + 1
    return end
