"""`metalloid lint FILE...`: compile every kernel of files and folders, without running anything."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from metalloid.checker.choice import Choice, baseline, left_out, spoken_of
from metalloid.checker.sarif import sarif
from metalloid.cli.control import choice_of, control_options
from metalloid.cli.exits import FINDINGS
from metalloid.cli.formats import FORMATS, as_finding, github
from metalloid.cli.options import make_source, source_options
from metalloid.cli.sources import files, on_disk
from metalloid.errors import Diagnostic
from metalloid.forms.lint import Report, lint_metal, lint_python


@click.command("lint")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="the same as --format json")
@click.option("--stdin-filename", metavar="NAME", default="", help="what - is called: a .metal or .py file")
@control_options(running=False)
@source_options
def command(
    paths: tuple[Path, ...],
    form: str,
    as_json: bool,
    stdin_filename: str,
    write_baseline: Path | None,
    include: tuple[Path, ...],
    define: tuple[str, ...],
    math: str,
    **options: Any,
) -> None:
    """Compile every kernel of .metal files, and the inline kernels of .py files that can be found.

    Folders are searched for both; - is stdin. Exit code 1 where anything is wrong, 2 where the command was not
    understood, 3 where metalloid failed.

    \b
    metalloid lint src kernels.metal
    metalloid lint --format github .           annotations in a workflow
    metalloid lint - --stdin-filename model.py < model.py
    """
    choice = choice_of(options)
    reports: list[Report] = []
    reasons: list[str] = []
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        for path in files(paths):
            progress = _shown(bar, path.name)
            with on_disk(path, stdin_filename) as file:
                if file.suffix == ".py":
                    report = lint_python(file, progress)
                else:
                    report = lint_metal(make_source(file, include, define, math), progress)
                report = _named(report, str(file), stdin_filename or "stdin") if file != path else report
                reports.append(_chosen(report, file, choice, reasons))
    _print(reports, "json" if as_json else form)
    if reasons:
        click.echo(left_out(reasons), err=True)
    found = [as_finding(d) for report in reports for d in report.diagnostics]
    if write_baseline is not None:
        write_baseline.write_text(baseline(found), encoding="utf-8")
        click.echo(f"wrote {write_baseline}", err=True)
        return
    severe = dataclasses.replace(choice, fail_on="error" if choice.fail_on == "warning" else choice.fail_on)
    sys.exit(FINDINGS if severe.fails(found) else 0)


def _chosen(report: Report, file: Path, choice: Choice, reasons: list[str]) -> Report:
    """The report with the messages that count."""
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    kept: list[Diagnostic] = []
    for said in report.diagnostics:
        comments = spoken_of(lines, said.line) if said.file == report.file else [said.excerpt]
        why = choice.why_not(as_finding(said), comments)
        if why:
            reasons.append(why)
        else:
            kept.append(said)
    return dataclasses.replace(report, diagnostics=tuple(kept))


def _named(report: Report, was: str, name: str) -> Report:
    """The report of a file by another name."""

    def told(said: Diagnostic) -> Diagnostic:
        return dataclasses.replace(said, file=name) if said.file == was else said

    return dataclasses.replace(
        report,
        file=name,
        diagnostics=tuple(map(told, report.diagnostics)),
        unresolved=tuple(map(told, report.unresolved)),
    )


def _shown(bar: Progress, name: str) -> Callable[[int, int], None]:
    task = bar.add_task(name, total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)


def _print(reports: list[Report], form: str) -> None:
    found = [as_finding(d) for report in reports for d in report.diagnostics]
    if form == "json":
        click.echo(json.dumps([dataclasses.asdict(r) for r in reports], indent=2))
    elif form == "sarif":
        click.echo(sarif(found))
    elif form == "github":
        click.echo(github([*found, *(as_finding(d) for r in reports for d in r.unresolved)]), nl=bool(found))
    else:
        told = [r for r in reports if len(reports) == 1 or r.kernels or r.diagnostics or r.unresolved]
        click.echo("\n".join(map(_text, told)) if told else "no kernel was found")


def _text(report: Report) -> str:
    lines = [d.text() for d in (*report.diagnostics, *report.unresolved)]
    errors = sum(d.severity == "error" for d in report.diagnostics)
    kernels = f"{len(report.kernels)} kernel{'s' * (len(report.kernels) != 1)}"
    verdict = "no mistakes" if not errors else f"{errors} mistake{'s' * (errors != 1)}"
    skipped = f", {len(report.unresolved)} not compiled" if report.unresolved else ""
    return "\n".join([*lines, f"{report.file}: {kernels}, {verdict}{skipped}"])
