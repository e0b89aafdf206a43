"""Put a float between half and bfloat.

Metal casts one to the other; clang knows no such conversion and refuses. The error names the operand,
so it can be wrapped and the source compiled again.
"""

from __future__ import annotations

import re

from metalloid.frontend.rewrite import Edit, Rewritten

_REFUSED = re.compile(
    r"^.*?:\d+:\d+:(?:\{[^}]*\})*\{(?P<l1>\d+):(?P<c1>\d+)-(?P<l2>\d+):(?P<c2>\d+)\}: error: "
    r"(?:static_cast|C-style cast|functional-style cast) from (?P<types>.*) is not allowed$",
    re.MULTILINE,
)
ROUNDS = 8  # clang stops at 20 errors; nobody has more than a few such casts


def widen_casts(messages: str, rewritten: Rewritten, lines_before: int) -> Rewritten | None:
    """The source with every refused cast going through float; None where there is none.

    Ranges count lines of what clang was given, which has `lines_before` in front of the source.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", rewritten.text))]
    edits: set[tuple[int, str]] = set()
    for match in _REFUSED.finditer(messages):
        first, last = int(match["l1"]) - lines_before - 1, int(match["l2"]) - lines_before - 1
        ours = 0 <= first <= last < len(starts)
        if ours and "_Float16" in match["types"] and "__bf16" in match["types"]:
            edits.add((rewritten.original_offset(starts[first] + int(match["c1"]) - 1), "__mt::widened("))
            edits.add((rewritten.original_offset(starts[last] + int(match["c2"]) - 1), ")"))
    if not edits:
        return None
    return rewritten.with_edits(Edit(at, at, text) for at, text in sorted(edits))
