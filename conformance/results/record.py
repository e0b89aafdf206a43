"""Which cases had a second opinion, of which commit and on which processor.

The record is part of the repository: a run takes hours, and goes on from session to session. Cases that never ran come
first, then those whose verdict is oldest.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.results.case import Case
from conformance.results.judge import Verdict
from metalloid.errors import OutOfTime
from metalloid.frontend.clang import GAVE_UP

RECORD = Path(__file__).with_name("second.json")
Labels = dict[str, "Entry"]


@dataclass(frozen=True)
class Entry:
    """The last verdict on a case on one kind of processor."""

    commit: str
    ways: int
    ulps: float
    reason: str = ""  # why it failed
    number: int = 0  # verdicts are counted: a larger one is later

    @property
    def passed(self) -> bool:
        return not self.reason


def load(processor: str) -> Labels:
    return {label: Entry(*entry) for label, entry in _read().get(processor, {}).items()}


def processors() -> list[str]:
    return sorted(_read())


def add(processor: str, commit: str, verdicts: Iterable[Verdict]) -> None:
    """Verdicts in the order in which they were reached; not those that only say how busy the machine was."""
    found = _read()
    mine = found.setdefault(processor, {})
    last = max((Entry(*entry).number for entry in mine.values()), default=0)
    for number, v in enumerate((v for v in verdicts if not _hurried(v)), last + 1):
        reason = " ".join(v.reason.split())[:200]
        mine[f"{v.suite} {v.family} {v.name}"] = [commit, v.ways, round(v.ulps, 2), reason, number]
    _write(found)


def _hurried(verdict: Verdict) -> bool:
    return OutOfTime.__name__ in verdict.reason or GAVE_UP in verdict.reason


def drop_others(labels: Iterable[str]) -> None:
    """Forget cases that are no longer there."""
    known = set(labels)
    _write({p: {k: v for k, v in e.items() if k in known} for p, e in _read().items()})


def oldest_first(cases: list[Case], processor: str) -> list[Case]:
    """Of those as old as each other one of each family, then the second ones: a part of a run sees something of all."""
    known, seen = load(processor), Counter[tuple[str, str]]()
    keys: dict[str, tuple[int, int]] = {}
    for case in cases:
        age = known[case.label].number if case.label in known else 0
        keys[case.label] = (age, seen[case.suite, case.family])
        seen[case.suite, case.family] += 1
    return sorted(cases, key=lambda case: keys[case.label])


def _read() -> dict[str, dict[str, list[Any]]]:
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def _write(found: dict[str, dict[str, list[Any]]]) -> None:
    """One line for each case."""
    parts = []
    for processor, entries in sorted(found.items()):
        lines = [f"{json.dumps(label)}: {json.dumps(entry)}" for label, entry in sorted(entries.items())]
        parts.append(f"{json.dumps(processor)}: {{\n" + ",\n".join(lines) + "\n}")
    whole = RECORD.with_suffix(".partial")  # a run that is stopped here must not leave half of it
    whole.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
    whole.replace(RECORD)
