"""The checker: run a kernel under observation and say why it is wrong.

`mt.check(kernel, ..., grid=...)` checks one launch; `with mt.checked() as report:` every launch in the
block, whatever form it was made in. An observation (backends/observe.py) goes through the rules of
`checker/rules/`, which make findings of it; `fold` leaves one finding per mistake.

The package is not called `check`: importing `metalloid.check` would put a module in the place of the
function `mt.check`.
"""

from __future__ import annotations

from metalloid.checker.checked_launches import Checked
from metalloid.checker.report import Report
from metalloid.checker.run import check
from metalloid.checker.watch import checked
from metalloid.findings import Finding, Side

__all__ = ["Checked", "Finding", "Report", "Side", "check", "checked"]
