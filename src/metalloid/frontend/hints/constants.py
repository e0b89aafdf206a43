"""M621: a shift or a division that is no constant expression, or cannot be given Metal's meaning where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metalloid.errors import Diagnostic
from metalloid.frontend.hints.context import Context, Table
from metalloid.records import replace

_AMOUNT = (
    "when a kernel runs, the amount counts modulo the width; write it so: `a << (n & 31)`, or 63 for 64 bits"
)
_DIVISOR = "when a kernel runs, a number divided by zero is 0 here; a constant has to say so: `d ? a / d : 0`"
_SIGNS = (
    (re.compile(r"^(?:shift count|negative shift count)"), _AMOUNT),
    (re.compile(r"^(?:division|remainder) by zero"), _DIVISOR),
)


def not_constant(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    for note in notes:
        for sign, hint in _SIGNS:
            if sign.search(note.message):
                message = f"{match[0]}: {note.message}"
                return replace(diagnostic, rule="M621", message=message, hint=hint)
    return None


def out_of_range(
    match: re.Match[str], diagnostic: Diagnostic, context: Context, notes: Sequence[Diagnostic]
) -> Diagnostic | None:
    message = diagnostic.message.split(" [-W")[0].removesuffix(" is undefined")
    hint = next(hint for sign, hint in _SIGNS if sign.search(diagnostic.message))
    return replace(diagnostic, rule="M621", message=message, hint=hint)


TABLE: Table = (
    (
        re.compile(r".*(?:must be initialized by|is not|not) an? (?:integral )?constant expression"),
        not_constant,
    ),
    (re.compile(r"^(?:shift count|division by zero|remainder by zero).*\[-Werror"), out_of_range),
)
