"""Which programs were run, by which code on which processor: a file of the repository, a line for each run.

A long run is made of many short ones, on machines that come and go. Each begins behind the programs of those before it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

RUNS = Path(__file__).with_name("runs.jsonl")


@dataclass
class Run:
    """Programs from `first` to before `end`; what became of them, by kind. 0 settings: all of each program's."""

    commit: str
    processor: str
    switches: str
    first: int
    end: int
    kinds: dict[str, int]
    settings: int = 0


def runs(path: Path = RUNS) -> list[Run]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Run(**json.loads(line)) for line in lines]


def following(switches: str, path: Path = RUNS) -> int:
    """The first program that no run of the same switches has had."""
    return max((r.end for r in runs(path) if r.switches == switches), default=0)


class Recorder:
    """One run while it goes on: its line is written anew whenever it has come further."""

    def __init__(self, switches: str, settings: int = 0, path: Path = RUNS) -> None:
        from conformance.checkout import commit, processor

        self.path, self.before = path, runs(path)
        first = following(switches, path)
        self.run = Run(commit(), processor(), switches, first, first, {}, settings)
        self._done: dict[int, str] = {}

    def done(self, seed: int, kind: str) -> None:
        """Programs end in any order; those count before which none is missing."""
        self._done[seed] = kind
        while (kind := self._done.pop(self.run.end, "")) != "":
            self.run.end += 1
            self.run.kinds = dict(Counter(self.run.kinds) + Counter({kind: 1}))

    def write(self) -> None:
        if self.run.end > self.run.first:
            lines = [json.dumps(asdict(r)) + "\n" for r in (*self.before, self.run)]
            self.path.write_text("".join(lines), encoding="utf-8")
