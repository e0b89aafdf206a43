"""pytest: launches of a test are checked, and findings make it fail with their own text.

@pytest.mark.metalloid_check                        this test
@pytest.mark.metalloid_check(ignore=["M406"])       this test, but for a rule that it breaks on purpose
pytest --metalloid-check                            every test

Nothing of the checker is imported before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from metalloid.checker import Report

MARK = "metalloid_check"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("metalloid").addoption(
        "--metalloid-check", action="store_true", help="check every launch of a Metal kernel in every test"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARK}(ignore=()): check every launch of a Metal kernel; findings fail the test"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    mark = item.get_closest_marker(MARK)
    if mark is None and not item.config.getoption("--metalloid-check"):
        return (yield)
    from metalloid.checker import checked

    try:
        with checked() as report:
            result = yield
    except BaseException:  # the test failed by itself; what was found may say why
        if report.findings:
            item.add_report_section("call", "metalloid check", report.text())
        raise
    ignored = frozenset(mark.kwargs.get("ignore", ())) if mark else frozenset()
    if text := _failure(report, ignored):
        pytest.fail(text, pytrace=False)
    return result


def _failure(report: Report, ignored: frozenset[str]) -> str:
    """The text of what is left; empty where the test is in order."""
    if (
        report.stopped and not report.findings
    ):  # whoever did not get to the end may have anything wrong with it
        return report.text()
    left = [f for f in report.findings if f.rule not in ignored and f.severity != "note"]
    if not ignored or not left:
        return report.text() if left else ""
    return "\n\n".join([f.text() for f in left])
