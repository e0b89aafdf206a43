"""Where pointers of a function lead to, before the optimiser: which variable each one is into.

A variable whose address goes anywhere else than into loads, stores, copies, steps and variables that hold one pointer
is not followed.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.frontend.unset.lines import NAMES, Line
from metalloid.records import dataclass, field

_POINTERS = ("ptr", "ptr addrspace(5)")


@dataclass
class Pointers:
    """`base` of a pointer is its variable; `slots` are variables that hold a pointer, with the variable it is into."""

    base: dict[str, str] = field(default_factory=dict)
    slots: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)  # of variables
    escaped: set[str] = field(default_factory=set)

    def leads(self, pointer: str) -> str:
        """The variable a pointer is into, where that variable can be followed."""
        found = self.base.get(pointer, "")
        return "" if found in self.escaped else found


def pointers(lines: Sequence[tuple[str, Line]]) -> Pointers:
    found = Pointers()
    held: dict[str, set[str]] = {}  # by slot: what was put in; "" for what is not known
    size = -1
    while size != (size := len(found.base)):
        known, held = held, {}
        for _, line in lines:
            _derive(found, known, held, line)
    for slot, into in held.items():
        if len(into) == 1 and "" not in into:
            found.slots[slot] = next(iter(into))
        else:
            found.escaped |= into
    for text, line in lines:
        _escapes(found, text, line)
    before = -1
    while before != (before := len(found.escaped)):
        found.escaped |= {into for slot, into in found.slots.items() if slot in found.escaped}
    return found


def _derive(found: Pointers, known: dict[str, set[str]], held: dict[str, set[str]], line: Line) -> None:
    base = found.base
    if line.form == "alloca":
        base[line.name] = line.name
        found.types[line.name] = line.type
    elif line.form in ("cast", "gep") and line.of in base:
        base[line.name] = base[line.of]
    elif line.form == "load" and line.type in _POINTERS:
        slot = base.get(line.of, "")
        into = (known.get(slot, set()) | held.get(slot, set())) - {""}
        if len(into) == 1:
            base[line.name] = next(iter(into))
    elif line.form == "store" and line.type in _POINTERS:
        slot = base.get(line.of, "")
        if found.types.get(slot) in _POINTERS and line.value != "null":  # which leads to no variable
            held.setdefault(slot, set()).add(base.get(line.value, ""))


def _escapes(found: Pointers, text: str, line: Line) -> None:
    """Variables whose address this line takes elsewhere."""
    if line.form in ("alloca", "cast", "gep", "load", "compare", "copy", "fill"):
        return
    if line.form == "store":
        into = found.base.get(line.value, "")
        if into and found.base.get(line.of, "") not in found.slots:
            found.escaped.add(into)
        return
    found.escaped.update(found.base[name] for name in NAMES.findall(text) if name in found.base)
