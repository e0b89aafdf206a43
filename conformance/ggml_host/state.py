"""What became of each case: a run that was stopped goes on with the rest, on another machine too.

The record is part of the repository. It is short: an operation's cases are told by their places in the suite's list,
those of one commit and processor together, with the sums of their seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.ggml_host.build import PLACE
from conformance.ranges import places, ranges

STATE = Path(__file__).with_name("verdicts.json")
SLICE = PLACE / "slice.json"  # cases, failed, seconds
Listed = Mapping[str, list[str]]  # the cases of each operation, in the suite's order


@dataclass
class Outcome:
    """One case. Seconds run from the end of the case before it; `compiled` counts the pipelines that it asked for."""

    passed: bool
    words: str = ""  # of a failure
    cold: float = 0.0
    compiled: int = 0
    warm: float = 0.0  # in a second run: its kernels come from the cache
    commit: str = ""  # of metalloid, that gave the verdict; of the first ones it was not noted
    processor: str = ""

    def again(self, later: Outcome) -> Outcome:
        """A second run: its verdict counts, the first's cold time stays."""
        return Outcome(
            later.passed, later.words, self.cold, self.compiled, later.cold, later.commit, later.processor
        )


def load(listed: Listed) -> dict[str, Outcome]:
    """Seconds of a case are the mean of those that it was recorded with."""
    if not STATE.exists():
        return {}
    kept = json.loads(STATE.read_text(encoding="utf-8"))
    found: dict[str, Outcome] = {}
    for name, rows in kept["passed"].items():
        for commit, processor, held, cold, warm, compiled in rows:
            found_at = [p for p in places(held) if p < len(listed.get(name, ()))]
            for place in found_at:
                each = (cold / len(found_at), compiled, warm / len(found_at))
                found[listed[name][place]] = Outcome(True, "", *each, commit, processor)
    known = {case for cases in listed.values() for case in cases}
    failed = {case: Outcome(False, *entry) for case, entry in kept["failed"].items() if case in known}
    return found | failed


def store(outcomes: Mapping[str, Outcome], listed: Listed) -> None:
    passed = {name: rows for name in sorted(listed) if (rows := _rows(listed[name], outcomes))}
    failed = {
        case: [o.words, o.cold, o.compiled, o.warm, o.commit, o.processor]
        for case, o in sorted(outcomes.items())
        if not o.passed
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in passed.items())
    partial = STATE.with_suffix(".partial")
    partial.write_text(f'{{"passed": {{\n{lines}\n}},\n"failed": {json.dumps(failed, indent=0)}}}\n')
    partial.rename(STATE)


def _rows(cases: list[str], outcomes: Mapping[str, Outcome]) -> list[list[Any]]:
    """Those that passed: of one commit and processor together, apart where they ran a second time or compiled."""
    groups: dict[tuple[str, str, bool, bool], list[tuple[int, Outcome]]] = {}
    for place, case in enumerate(cases):
        o = outcomes.get(case)
        if o is not None and o.passed:
            groups.setdefault((o.commit, o.processor, o.warm > 0, o.compiled > 0), []).append((place, o))
    rows = []
    for (commit, processor, _, compiled), held in groups.items():
        seconds = (round(sum(getattr(o, which) for _, o in held), 2) for which in ("cold", "warm"))
        rows.append([commit, processor, ranges(place for place, _ in held), *seconds, int(compiled)])
    return rows


def load_slice() -> tuple[int, int, float] | None:
    return tuple(json.loads(SLICE.read_text())) if SLICE.exists() else None  # type: ignore[return-value]


def store_slice(found: tuple[int, int, float]) -> None:
    SLICE.write_text(json.dumps(found))
