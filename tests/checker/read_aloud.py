"""`python -m tests.checker.read_aloud [M105 ...]`: the whole text of findings, for somebody who reads them.

One for every rule and every shape of a hint, out of the positives of the tests, with what `explain()` says. Not a test:
whether a sentence blames the right thing is seen by reading it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial

from metalloid.checker import Report
from metalloid.findings import Finding
from metalloid.rules import rule
from tests.checker import test_pages, test_triplets
from tests.checker.second_round.case import report_of
from tests.checker.second_round.test_second_round import CASES
from tests.checker.triplet import run

Made = tuple[str, str, Callable[[], Report]]  # the rule that is meant, a name, how it is made


def positives() -> Iterator[Made]:
    for number, (wrong, _) in test_pages.LAUNCHES.items():
        yield number, f"the page of {number}", partial(test_pages.checked, rule(number).wrong, wrong)
    for triplet in test_triplets.TRIPLETS:
        if triplet.find:
            yield triplet.find[0][0], triplet.name, partial(run, triplet)
    for case in CASES:
        if case.find:
            yield case.find, case.name, partial(report_of, case)


def shape(finding: Finding) -> tuple[str, str]:
    """What two findings have in common that read alike."""
    return finding.rule, re.sub(r"'[^']*'|\d+", "_", finding.hint or finding.message)[:80]


def main(rules: list[str]) -> None:
    seen: set[tuple[str, str]] = set()
    for number, name, make in positives():
        if rules and number not in rules:
            continue
        report = make()
        new = [shape(f) for f in report.findings if shape(f) not in seen]
        if new:
            seen.update(new)
            print(
                f"##### {name}\n{report.text()}\n--- why\n{report.explain().text() if report.launches else ''}\n",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
