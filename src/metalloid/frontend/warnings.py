"""What clang warns about, as findings: values nobody set, indices past an array, divisions and shifts without a value.

Undefined behaviour is compiled away before anybody could watch it, so the compiler is asked while it still sees the
text. Only what stands in the user's own files is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from metalloid.errors import Diagnostic
from metalloid.frontend.build import warned
from metalloid.frontend.diagnose import MESSAGE, Preimage, Texts, place
from metalloid.frontend.entry import bindings
from metalloid.frontend.parse import Parsed
from metalloid.frontend.rewrite import rewrite
from metalloid.frontend.translate import choose, constant_values
from metalloid.source import Constant

_FLAG = re.compile(r"^(?P<text>.*) \[-W(?P<flag>[\w-]+)\]$")


@dataclass(frozen=True)
class _Told:
    """How a warning is told."""

    rule: str
    hint: str
    severity: str = "warning"


_UNSET = "give it a value where it is declared; a variable that nobody set holds anything on a GPU"
_DIVIDED = "when a kernel runs, a number divided by zero is 0 here and anything elsewhere: test the divisor"
_SHIFTED = "the amount counts modulo the width: write `a << (n & 31)` where that is meant"
_TOLD: Mapping[str, _Told] = {
    "uninitialized": _Told("M622", _UNSET),
    "sometimes-uninitialized": _Told("M622", _UNSET),
    "return-type": _Told("M622", "return a value on every way through the function"),
    "array-bounds": _Told("M623", "use an index below the size, or make the array larger"),
    "division-by-zero": _Told("M621", _DIVIDED),
    "shift-count-overflow": _Told("M621", _SHIFTED),
    "shift-count-negative": _Told("M621", _SHIFTED),
    "sign-compare": _Told(
        "M625", "a negative number counts as a large one here: cast one side on purpose", "note"
    ),
}
FLAGS = ("-Wno-everything", *(f"-W{name}" for name in _TOLD))


def warnings(
    parsed: Parsed,
    name: str = "",
    constants: Mapping[str | int, Constant] | None = None,
    needed: bool = False,
) -> tuple[Diagnostic, ...]:
    """Warnings about one kernel, with the templates that it uses; about all functions where none is named.

    `needed`: of a source without mistakes, and only about what the kernel needs.
    """
    entry = choose(parsed, name) if name else None
    values = constant_values(parsed, constants or {})
    parts = [True, False] if needed else [False]
    # A constant that the launch does not give is no zero that could divide; 0 where the text wants a number there.
    rewritten = [
        rewrite(parsed.unit, entry, values, part, unknown) for unknown in (True, False) for part in parts
    ]
    bound = bindings(parsed.unit, entry) if entry else ()
    messages, given = warned(parsed.source, rewritten, entry, bound, FLAGS)
    texts, preimage = Texts(parsed.source), Preimage(given)
    found: dict[tuple[str, int, str], Diagnostic] = {}
    for line in messages.splitlines():
        said = MESSAGE.match(line)
        flagged = _FLAG.match(said["text"]) if said and said["severity"] == "warning" else None
        if said is None or flagged is None or not texts.lines(said["file"]):
            continue
        told = _TOLD.get(flagged["flag"])
        if told is not None:
            one = Diagnostic(
                flagged["text"].replace("__local ", "threadgroup ").replace("__global ", "device "),
                said["file"],
                int(said["line"]),
                int(said["column"]),
                1,
                told.severity,
                told.rule,
            )
            placed = place(one, texts, preimage)
            found.setdefault((placed.file, placed.line, told.rule), replace(placed, hint=told.hint))
    return tuple(found.values())
