"""A report: the findings of one launch or of many, as text and as data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.observe import Observation
from metalloid.checker.case import Case
from metalloid.findings import NOTE, Finding

if TYPE_CHECKING:
    from metalloid.checker.explain import Explanation

KEPT = 64  # launches that a report keeps whole; older ones without findings only count


@dataclass(frozen=True)
class Checked:
    """One launch: what was seen and what is said about it."""

    case: Case
    findings: tuple[Finding, ...]
    seconds: float = 0.0
    before: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict)  # what small outputs held

    @property
    def kernel(self) -> str:
        return self.case.launch.kernel

    @property
    def launch(self) -> Launch:
        return self.case.launch

    @property
    def observation(self) -> Observation:
        return self.case.observation

    def light(self) -> Checked:
        """The same without its memory: a program may make thousands of launches."""
        seen = self.observation
        counted = Observation(
            records=seen.records, threads=seen.threads, stopped=seen.stopped, left=seen.left
        )
        case = Case(self.case.kernel, replace(self.launch, buffers={}, resources=()), counted)
        return Checked(case, self.findings, self.seconds)


class Report:
    """Findings, worst first; `ok` where all launches ran to their end and nothing but notes about cost was found."""

    def __init__(self, launches: Iterable[Checked] = (), more: Iterable[Finding] = ()) -> None:
        self._launches: list[Checked] = list(launches)
        self._more: list[Finding] = list(more)

    @property
    def launches(self) -> tuple[Checked, ...]:
        return tuple(self._launches)

    @property
    def more(self) -> tuple[Finding, ...]:
        """Findings that no launch has: refused ones, and what shows over several."""
        return tuple(self._more)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings; the same mistake in several launches once, with their counts added."""
        from metalloid.checker.fold import follows, merged

        every = [f for launch in self._launches for f in launch.findings]
        kept = [f for f in every if not any(follows(f, cause) for cause in self._more)]
        return merged([*kept, *self._more])

    @property
    def ok(self) -> bool:
        return not self.stopped and all(f.severity == NOTE for f in self.findings)

    @property
    def stopped(self) -> str:
        """Why a checked run did not go to its end; empty where all did."""
        return next((c.observation.stopped for c in self._launches if c.observation.stopped), "")

    def add(self, item: Checked | Finding) -> None:
        if isinstance(item, Finding):
            self._more.append(item)
        else:
            self._launches.append(item)
            old = len(self._launches) - 1 - KEPT
            if old >= 0 and not self._launches[old].findings:
                self._launches[old] = self._launches[old].light()

    def text(self) -> str:
        """What a person reads: each finding with its line, and a last line that counts."""
        return "\n\n".join([*(f.text() for f in self.findings), self._summary()])

    def _summary(self) -> str:
        found, runs = len(self.findings), len(self._launches)
        threads = sum(c.observation.threads for c in self._launches)
        ran = f"{_count(runs, 'launch', 'launches')}, {_count(threads, 'thread')} checked"
        early = f"; stopped early: {self.stopped}" if self.stopped else ""
        none = "no findings so far" if self.stopped else "no findings"
        said = f"{_count(found, 'finding') if found else none} ({ran}{early})"
        return "\n".join([said, *(f"in part: {words}" for words in self.left)])

    @property
    def left(self) -> tuple[str, ...]:
        """What was looked at in part only, and how far: sentences, one for each kernel."""
        found = [(c.kernel, words) for c in self._launches for words in c.observation.left]
        several = len({kernel for kernel, _ in found}) > 1
        return tuple(dict.fromkeys(f"{words} of '{k}'" if several else words for k, words in found))

    def explain(self, output: str = "", expected: Any = None) -> Explanation:
        """Why an output is zeros, one value, partly untouched or wrong: the first broken link of the chain."""
        from metalloid.checker.explain import explain

        return explain(self, output, expected)

    def data(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "ok": self.ok,
            "stopped": self.stopped,
            "left": list(self.left),
            "findings": [f.json() for f in self.findings],
            "launches": [
                {
                    "kernel": c.kernel,
                    "grid": list(c.launch.grid),
                    "threadgroup": list(c.launch.threadgroup),
                    "threads": c.observation.threads,
                    "findings": len(c.findings),
                }
                for c in self._launches
            ],
        }

    def json(self) -> str:
        return json.dumps(self.data(), indent=2)

    def sarif(self) -> str:
        """SARIF 2.1.0, for code-scanning services and editors."""
        from metalloid.checker.sarif import sarif

        return sarif(self.findings)

    def html(self) -> str:
        """One page that needs nothing else: source with findings, who wrote what, timelines of races."""
        from metalloid.checker.page import html

        return html(self, self._why())

    def _why(self) -> str:
        """The chain behind a result, where there is something to explain."""
        if not self._launches:
            return ""
        why = self.explain()
        odd = why.broken is not None and (not self.ok or why.subject.endswith("all zeros?"))
        return why.text() if odd else ""

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        """A report is always something; ask `ok` whether it is good."""
        return True

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<report: {self._summary().splitlines()[0]}>"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
