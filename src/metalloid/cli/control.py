"""Options that say which findings count and when a command fails; `check` and `lint` share them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from metalloid.checker.choice import LEVELS, Choice, project, settings, with_baseline
from metalloid.cli.options import Decorator

_RULES = "M201, or M2 for all that begin with it; several with commas"
_CHOOSING: tuple[Decorator, ...] = (
    click.option("--select", metavar="RULES", help=f"only these rules: {_RULES}"),
    click.option("--ignore", metavar="RULES", help="not these rules"),
    click.option(
        "--fail-on", type=click.Choice(LEVELS), help="the least severity that fails  [default: warning]"
    ),
    click.option("--baseline", metavar="FILE", help="findings that are known already do not count"),
    click.option(
        "--write-baseline",
        type=click.Path(dir_okay=False, path_type=Path),
        help="write such a file from what is found now",
    ),
)
_RUNNING: tuple[Decorator, ...] = (
    click.option("--timeout", type=float, help="seconds after which a launch is stopped  [default: 60]"),
    click.option("--require-launches", is_flag=True, default=None, help="fail where no kernel was launched"),
)
NAMES = ("select", "ignore", "fail_on", "baseline", "timeout", "require_launches")


def control_options(running: bool) -> Decorator:
    """The options; those about launches only where there are any."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed((*_CHOOSING, *(_RUNNING if running else ()))):
            command = option(command)
        return command

    return decorate


def choice_of(options: dict[str, Any]) -> Choice:
    """What the options say, on top of what pyproject.toml says; they are taken out of `options`."""
    given = {name.replace("_", "-"): options.pop(name, None) for name in NAMES}
    said = {name: value for name, value in given.items() if value is not None}
    folder = Path.cwd()
    return with_baseline(settings(project(folder), said, "", folder))
