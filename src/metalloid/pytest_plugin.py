"""pytest: launches of a test are served and checked, and findings make it fail with their own text.

pytest --metalloid                                  MLX and PyTorch find Metal
pytest --metalloid-check                            the same, and every launch of every test is checked
metalloid = "mlx torch check"                       the same in [tool.pytest.ini_options]
@pytest.mark.metalloid_check                        launches of this test are checked
@pytest.mark.metalloid_check(ignore=["M406"])       but for a rule that it breaks on purpose

Nothing of the checker is imported before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from metalloid.checker import Report
    from metalloid.checker.choice import Choice

MARK = "metalloid_check"
CHECK = "check"  # the word of the ini option that is no form


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("metalloid")
    group.addoption("--metalloid", action="store_true", help="MLX and PyTorch find Metal, on any machine")
    group.addoption(
        "--metalloid-check",
        action="store_true",
        help="the same, and check every launch of a Metal kernel in every test",
    )
    parser.addini("metalloid", "forms to put in place, and `check`: metalloid = mlx torch check", type="args")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Forms are in place before the first conftest.py asks whether there is Metal."""
    known = early_config.known_args_namespace
    words = early_config.getini("metalloid")
    if not (words or known.metalloid or known.metalloid_check):
        return
    from metalloid.errors import MetalloidError
    from metalloid.forms.attach import attach, chosen

    forms = [] if known.metalloid else [word for word in words if word != CHECK]
    try:
        detach = attach(chosen(forms, "pytest's option metalloid"))
    except MetalloidError as error:
        raise pytest.UsageError(f"{error} Beside them there is `{CHECK}`.") from None
    early_config.add_cleanup(detach)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARK}(ignore=()): check every launch of a Metal kernel; findings fail the test"
    )
    if _checks(config):
        _settings(config)  # settings that cannot be read end the run, not every test


def _settings(config: pytest.Config) -> Choice:
    """What the project's pyproject.toml says of findings."""
    from metalloid.checker.choice import project, with_baseline
    from metalloid.errors import MetalloidError

    try:
        return with_baseline(project(config.rootpath))
    except MetalloidError as error:
        raise pytest.UsageError(str(error)) from None


def _checks(config: pytest.Config) -> bool:
    return bool(config.getoption("--metalloid-check")) or CHECK in config.getini("metalloid")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    mark = item.get_closest_marker(MARK)
    if mark is None and not _checks(item.config):
        return (yield)
    from metalloid.checker import checked
    from metalloid.checker.engines import within

    try:
        choice = _settings(item.config)
    except pytest.UsageError as error:  # of a test with the mark alone
        pytest.fail(str(error), pytrace=False)
    try:
        with within(choice.timeout), checked() as report:
            result = yield
    except BaseException:  # the test failed by itself; what was found may say why
        if report.findings:
            item.add_report_section("call", "metalloid check", report.text())
        raise
    ignored = tuple(mark.kwargs.get("ignore", ())) if mark else ()
    if text := _failure(report, replace(choice, ignore=(*choice.ignore, *ignored))):
        pytest.fail(text, pytrace=False)
    return result


def _failure(report: Report, choice: Choice) -> str:
    """The text of what counts; empty where the test is in order."""
    from metalloid.checker.choosing import chosen

    kept, _ = chosen(report, choice)
    if kept.stopped and not report.findings:  # whoever did not get to the end may have anything wrong with it
        return kept.text()
    return kept.text() if choice.fails(kept.findings) else ""
