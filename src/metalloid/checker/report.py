"""A report: the findings of one launch or of many, as text, as data, as a page, and with the reasons behind them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from metalloid.checker.checked_launches import CheckedLaunches
from metalloid.findings import Finding

if TYPE_CHECKING:
    from metalloid.checker.explain.link import Explanation


class Report(CheckedLaunches):
    """Findings, worst first; `ok` where all launches ran to their end and nothing but notes about cost was found."""

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

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, and each finding with its line."""
        from metalloid.checker.page import notebook

        return notebook(self, self._why())

    def _why(self) -> Explanation | None:
        """The chain behind a result, where there is something to explain."""
        if not self._launches:
            return None
        why = self.explain()
        odd = why.answer is not None and (not self.ok or why.subject.endswith("all zeros?"))
        return why if odd else None

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
