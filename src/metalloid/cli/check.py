"""`metalloid check kernel.metal --grid ...`, `check script.py ...`, `check -m module ...`: why a kernel is wrong."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

import metalloid as mt
from metalloid.checker.choice import Choice, baseline, left_out
from metalloid.checker.choosing import chosen
from metalloid.checker.elsewhere import Wish
from metalloid.checker.engines import within
from metalloid.checker.refusals import raised
from metalloid.cli.control import NAMES, choice_of, control_options
from metalloid.cli.exits import FINDINGS
from metalloid.cli.formats import FORMATS, github
from metalloid.cli.hints import as_options
from metalloid.cli.launching import Call, call_of, launch_options
from metalloid.cli.native import NativeProgram
from metalloid.cli.paint import paint
from metalloid.cli.script import check_program
from metalloid.cli.words import TakesProgram, need_file, program, refuse_launch_options
from metalloid.runtime.places import speaking_of

_FILE = click.Path(dir_okay=False, path_type=Path)
_OURS = frozenset(
    {"form", "as_json", "sarif", "html", "write_baseline", *NAMES}
)  # options that fit a program too
_UNSEEN = "no kernel was launched, so nothing was checked; launches of other processes are not seen."


class _Check(TakesProgram):
    own_after_script = True


@click.command("check", cls=_Check)
@launch_options(required=False)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="for machines; what a script prints goes to stderr")
@click.option("--sarif", type=_FILE, help="write the findings as SARIF 2.1.0, for code scanning")
@click.option("--html", type=_FILE, help="write a page: source with findings, who wrote what, races drawn")
@control_options(running=True)
def command(
    form: str,
    as_json: bool,
    sarif: Path | None,
    html: Path | None,
    write_baseline: Path | None,
    **options: Any,
) -> None:
    """Check one launch of a kernel of FILE, or every launch of a program: Python, or built with metalloid cc.

    Exit code 1 where findings remain (notes about cost do not count), 2 where the command was not understood, 3 where
    metalloid failed; else that of the program. [tool.metalloid] in pyproject.toml may hold the same settings.

    \b
    metalloid check add.metal --grid 1000 --arg a=ones:1000:float32 --arg b=ones:1000:float32
                    --out out:1000:float32 --html report.html
    metalloid check train.py --steps 3          every launch in it, in any form: numpy, MLX, torch
    metalloid check train.py -- --json          what comes after -- is the script's
    metalloid check -m pytest tests             a module; what comes after it is its own
    metalloid check bin/tool --size 64          a program in C, C++ or Objective-C
    """
    console, context = Console(stderr=True), click.get_current_context()
    choice, found = choice_of(options), program(context)
    form, page = "json" if as_json else form, ""
    with within(choice.timeout):
        if found is not None:
            refuse_launch_options(context, _OURS)
            quiet = form in ("json", "sarif")
            if isinstance(found, NativeProgram):
                report, code, page = found.check(Wish(choice, page=html is not None), quiet)
            else:
                report, code = check_program(found, console, quiet)
        else:
            file = need_file(options["file"])
            with console.status(f"checking {file.name}") if console.is_terminal else nullcontext():
                report, code = as_options(_checked(options)), 0
    nothing = not report.launches and not report.more
    report, reasons = chosen(report, choice)
    _write(report, sarif, html, write_baseline, page)
    _print(report, form)
    if reasons:
        click.echo(left_out(reasons), err=True)
    if nothing and (choice.require_launches or code == 0):
        click.echo(f"metalloid: {_UNSEEN}", err=True)
        code = FINDINGS if choice.require_launches else code
    sys.exit(_verdict(report, choice, write_baseline is not None) or code)


def _print(report: mt.Report, form: str) -> None:
    if form == "json":
        click.echo(report.json())
    elif form == "sarif":
        click.echo(report.sarif())
    else:
        paint(report)
        if form == "github" and report.findings:  # beside the text, which a workflow's log shows
            click.echo(github(report.findings))


def _write(
    report: mt.Report, sarif: Path | None, html: Path | None, known: Path | None, page: str = ""
) -> None:
    texts = (
        (sarif, report.sarif),
        (html, lambda: page or report.html()),  # the program itself may have written it, with its memory
        (known, lambda: baseline(report.findings)),
    )
    for path, text in texts:
        if path is not None:
            path.write_text(text(), encoding="utf-8")
            click.echo(f"wrote {path}", err=True)


def _verdict(report: mt.Report, choice: Choice, accepted: bool) -> int:
    """The exit code as far as the report decides it; what has just become the baseline is accepted."""
    if report.stopped and choice.fail_on != "never":
        return FINDINGS
    return FINDINGS if choice.fails(report.findings) and not accepted else 0


def _checked(options: dict[str, Any]) -> mt.Report:
    """One launch. Text that does not compile is a finding too; outputs start as memory that nobody has set."""
    try:
        call: Call = call_of(**options)
    except mt.CompileError as error:
        return mt.Report(more=raised(error))
    bound: dict[str, Any] = dict(call.arguments)
    for name, array in call.outputs.items():
        bound[name] = mt.device().empty(array.shape, array.dtype)
        bound[name].memory().reshape(-1).view(np.uint8)[...] = 0xCD
    signature = call.kernel.signature
    with speaking_of(signature.file, signature.line):
        return mt.check(call.kernel, **bound, **call.sizes)
