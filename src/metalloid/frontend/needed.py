"""What clang need not read of a source to compile one kernel of it: whatever nothing that is needed mentions.

By names alone, so every overload of a name stays, and a name that stands anywhere outside of what could be left out
(in an operator, a specialisation, an enum: `scan/parts.py`) keeps what it names. A text that does not compile so is
compiled whole. ggml's largest file has 270,000 characters; a kernel needs a tenth of them.
"""

from __future__ import annotations

from metalloid.frontend.declarations import Entry, Span
from metalloid.frontend.unit import Unit, entry_names

# What C++ calls without naming it: range loops and structured bindings.
_UNNAMED = frozenset(("begin", "end", "get"))


def needless(unit: Unit, entry: Entry) -> list[Span]:
    """The items that a kernel can be compiled without, of a source that has no mistakes."""
    needed = unit.closure([*entry_names(entry), *unit.mentioned_outside, *_UNNAMED])
    return [span for name, span in unit.parts if name not in needed]
