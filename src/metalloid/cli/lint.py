"""`metalloid lint FILE...`: compile everything in a file."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from metalloid.cli.options import make_source, source_options
from metalloid.forms.lint import Report, lint_metal, lint_python


@click.command("lint")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--json", "as_json", is_flag=True, help="for machines")
@source_options
def command(
    files: tuple[Path, ...], as_json: bool, include: tuple[Path, ...], define: tuple[str, ...], math: str
) -> None:
    """Compile every kernel of .metal files, and the inline kernels of .py files that can be found.

    Exit code 1 where anything is wrong.
    """
    reports = []
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        for path in files:
            progress = _shown(bar, path.name)
            if path.suffix == ".py":
                reports.append(lint_python(path, progress))
            else:
                reports.append(lint_metal(make_source(path, include, define, math), progress))
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(r) for r in reports], indent=2))
    else:
        click.echo("\n".join(_text(r) for r in reports))
    sys.exit(1 if any(d.severity == "error" for r in reports for d in r.diagnostics) else 0)


def _shown(bar: Progress, name: str) -> Callable[[int, int], None]:
    task = bar.add_task(name, total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)


def _text(report: Report) -> str:
    lines = [d.text() for d in (*report.diagnostics, *report.unresolved)]
    errors = sum(d.severity == "error" for d in report.diagnostics)
    kernels = f"{len(report.kernels)} kernel{'s' * (len(report.kernels) != 1)}"
    verdict = "no mistakes" if not errors else f"{errors} mistake{'s' * (errors != 1)}"
    skipped = f", {len(report.unresolved)} not compiled" if report.unresolved else ""
    return "\n".join([*lines, f"{report.file}: {kernels}, {verdict}{skipped}"])
