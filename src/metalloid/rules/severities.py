"""How bad a rule is, by its number: errors and warnings make a report not ok, notes do not."""

from __future__ import annotations

ERROR, WARNING, NOTE = "error", "warning", "note"
# By the hundreds of a rule's number; of single rules, what the compiler only warns about and what
# is likely, not certain.
_HUNDREDS = {"1": ERROR, "2": ERROR, "3": ERROR, "4": WARNING, "5": NOTE, "6": ERROR}
_OWN = {"M311": WARNING, "M622": WARNING, "M623": WARNING, "M625": NOTE}


def severity_of(rule: str) -> str:
    return _OWN.get(rule) or _HUNDREDS.get(rule[1:2], ERROR)
