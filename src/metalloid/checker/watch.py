"""Check every launch, in whatever form it is made.

`with mt.checked() as report:` collects; METALLOID_CHECK=1 prints findings at the launch that has them.
One watcher serves all who listen, so that a launch runs once, however many blocks it is in.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from metalloid.backends.base import Launch
from metalloid.checker.checked_launches import Checked
from metalloid.checker.engines import within
from metalloid.checker.examined import forget
from metalloid.checker.ledger import Ledger
from metalloid.checker.refusals import noticed, raised, refusal
from metalloid.checker.report import Report
from metalloid.checker.run import check_launch
from metalloid.errors import LaunchError
from metalloid.findings import Finding
from metalloid.runtime.places import place
from metalloid.runtime.watch import Notice, Watcher, watchers

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

Listener = Callable[[Checked | Finding], None]


class Checking(Watcher):
    """The watcher: it runs launches itself, under observation."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._lock = threading.RLock()
        self._said: LaunchError | None = None

    def listen(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.append(listener)
            if self not in watchers:
                watchers.append(self)

    def leave(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.remove(listener)
            if not self._listeners:
                watchers.remove(self)

    def before(self, kernel: KernelCode, launch: Launch) -> bool:
        with self._lock:  # launches of several threads one after the other
            self._tell(check_launch(kernel, launch))
        return True

    def refused(self, kernel: KernelCode, error: BaseException) -> None:
        if isinstance(error, LaunchError) and not self.said(error):
            self._said = error
            self._tell(refusal(kernel, error, place()))

    def said(self, error: BaseException) -> bool:
        """Whether this error is a finding already."""
        return self._said is error

    def noticed(self, notice: Notice) -> bool:
        self._tell(noticed(notice))
        return True

    def _tell(self, item: Checked | Finding) -> None:
        for listener in tuple(self._listeners):
            listener(item)


_checking = Checking()


def listen(listener: Listener) -> None:
    """Check every launch from now on, for somebody who hears of each."""
    _checking.listen(listener)


@contextmanager
def checked(timeout: float | None = None) -> Iterator[Report]:
    """Every launch inside the block is checked; the report grows as they run.

    A launch that has not ended after `timeout` seconds, 60 where nothing is said, is a finding.
    """
    report, ledger = Report(), Ledger()
    forget()  # another block may have had other data
    _checking.listen(report.add)
    watchers.append(ledger)
    try:
        with within(timeout):
            yield report
    except Exception as error:
        note_error(report, error)
        raise
    finally:
        watchers.remove(ledger)
        _checking.leave(report.add)
        for finding in ledger.findings():
            report.add(finding)


def note_error(report: Report, error: BaseException) -> bool:
    """An error that comes out of checked code may be a finding, and may be one already; True where it is."""
    if _checking.said(error):
        return True
    found = raised(error)
    for finding in found:
        report.add(finding)
    return bool(found)


def print_findings() -> None:
    """Print findings to stderr as launches have them, each mistake once: METALLOID_CHECK=1."""
    told: set[object] = set()

    def tell(item: Checked | Finding) -> None:
        findings = (item,) if isinstance(item, Finding) else item.findings
        for finding in findings:
            key = finding.rule, finding.kernel, finding.location, finding.buffer
            if key not in told:
                told.add(key)
                print(f"metalloid: {finding.text()}", file=sys.stderr)
        stopped = item.observation.stopped if isinstance(item, Checked) else ""
        if stopped and not findings and (stopped, item.kernel) not in told:
            told.add((stopped, item.kernel))
            print(f"metalloid: [{item.kernel}] stopped early: {stopped}", file=sys.stderr)

    listen(tell)
