"""What became of each case, kept in .conformance/ggml-host/cases.json: a run that was stopped goes on with the rest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from conformance.ggml_host.build import PLACE

STATE = PLACE / "cases.json"
SLICE = PLACE / "slice.json"  # cases, failed, seconds


@dataclass
class Outcome:
    """One case. Seconds run from the end of the case before it; `compiled` counts the pipelines that it asked for."""

    passed: bool
    words: str = ""  # of a failure
    cold: float = 0.0
    compiled: int = 0
    warm: float = 0.0  # in a second run: its kernels come from the cache
    commit: str = ""  # of metalloid, that gave the verdict; of the first ones it was not noted

    def again(self, later: Outcome) -> Outcome:
        """A second run: its verdict counts, the first's cold time stays."""
        return Outcome(later.passed, later.words, self.cold, self.compiled, later.cold, later.commit)


def load() -> dict[str, Outcome]:
    if not STATE.exists():
        return {}
    return {case: Outcome(**entry) for case, entry in json.loads(STATE.read_text()).items()}


def store(outcomes: dict[str, Outcome]) -> None:
    partial = STATE.with_suffix(".partial")
    partial.write_text(json.dumps({case: asdict(o) for case, o in outcomes.items()}, indent=0))
    partial.rename(STATE)


def load_slice() -> tuple[int, int, float] | None:
    return tuple(json.loads(SLICE.read_text())) if SLICE.exists() else None  # type: ignore[return-value]


def store_slice(found: tuple[int, int, float]) -> None:
    SLICE.write_text(json.dumps(found))
