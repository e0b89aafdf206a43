"""What the checker said of other people's kernels, as part of the repository: a run of all takes hours.

`wild.json` has the cases of each way ("source", "library") by what was found in them, with the commit and the processor
of the run; the latest run of a case counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

RECORD = Path(__file__).with_name("wild.json")


@dataclass(frozen=True)
class Verdict:
    """Of one case: the rules that spoke, or "refused" or "died"; none where nothing was found."""

    rules: tuple[str, ...]
    commit: str
    processor: str


def load(way: str) -> dict[str, Verdict]:
    """By the case's label."""
    found: dict[str, Verdict] = {}
    for commit, processor, rules, labels in _tables().get(way, ()):
        for label in labels:
            found[label] = Verdict(tuple(rules), commit, processor)
    return found


def store(way: str, verdicts: Mapping[str, Verdict]) -> None:
    """Together with what the record has of other cases."""
    tables = _tables()
    groups: dict[Verdict, list[str]] = {}
    for label, verdict in sorted({**load(way), **verdicts}.items()):
        groups.setdefault(verdict, []).append(label)
    tables[way] = [[v.commit, v.processor, list(v.rules), labels] for v, labels in groups.items()]
    text = ",\n".join(f"{json.dumps(name)}: [\n{_rows(tables[name])}]" for name in sorted(tables))
    whole = RECORD.with_suffix(".partial")
    whole.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    whole.replace(RECORD)


def _rows(rows: Iterable[list[object]]) -> str:
    return ",\n".join(json.dumps(row) for row in rows)


def _tables() -> dict[str, list[list[object]]]:
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
