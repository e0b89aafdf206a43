"""Why zeros: follow a result from the launch to the value, and name the first link that is broken.

Every call succeeded and the output is zeros, one value, half empty or wrong. The chain is always the same:
was it committed, did threads run, is the output bound, did stores run, where did they go, did another
overwrite them, is the value itself zero. Each link is answered with what the checked run saw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from metalloid.checker.checked_launches import CheckedLaunches
from metalloid.checker.explain import launch, stores, values
from metalloid.checker.explain.link import Explanation, Link, said_of
from metalloid.checker.explain.output import Output, choose
from metalloid.findings import NOTE

LINKS: tuple[Callable[[Output, CheckedLaunches], Link | None], ...] = (
    launch.committed,
    launch.ran,
    launch.bound,
    launch.local_memory,
    stores.stored,
    stores.inside,
    launch.ended,
    stores.one_place,
    stores.covered,
    values.kept,
    values.value,
    values.found,
)


@np.errstate(invalid="ignore")  # what nobody has written may be any bits, a signaling NaN's too
def explain(report: CheckedLaunches, output: str = "", expected: Any = None) -> Explanation:
    """Why an output is as it is: the one named, else the first that looks odd, of the last launch that has one."""
    if not report.launches:
        links = [_judged(link, report, expected) for link in launch.nothing_ran(report)]
        return Explanation("why is there no result?", tuple(links))
    chosen = choose(report, output, expected)
    told = next((f for f in report.findings if f.severity != NOTE), None)
    last = [] if told is None else [Link(False, said_of(told), told.hint, told)]
    if chosen is None:
        return Explanation("the launches have no output to explain", tuple(last))
    looks = chosen.looks()
    subject = f"why is '{chosen.name}' of {chosen.checked.kernel} {looks or 'as it is'}?"
    links = []
    for question in LINKS:
        link = question(chosen, report)
        if link is not None:
            links.append(_judged(_blamed(link, chosen), report, expected))
            if not link.holds:
                return Explanation(subject, tuple(links))
    return Explanation(subject, (*links, *last))


def _blamed(link: Link, output: Output) -> Link:
    """What is broken, with the finding that says why: what to do is not said twice, and differently.

    Where elements were not written the link itself knows most.
    """
    told = [f for f in output.checked.findings if f.severity != NOTE]
    if link.holds or link.finding is not None or not told:
        return link
    mine = next((f for f in told if f.buffer == output.name), told[0])
    if mine.rule in ("M106", "M305"):
        return link
    return replace(link, said=f"{link.said}\n{said_of(mine)}", hint=mine.hint, finding=mine)


def _judged(link: Link, report: CheckedLaunches, expected: Any) -> Link:
    """No link is broken where no rule is and nobody said what was meant: it is odd, and the answer all the same."""
    return replace(link, holds=True, odd=True) if not link.holds and report.ok and expected is None else link
