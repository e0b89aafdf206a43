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
from metalloid.checker.refusals import raised
from metalloid.cli.hints import as_options
from metalloid.cli.launching import Call, call_of, launch_options
from metalloid.cli.paint import paint
from metalloid.cli.script import check_program
from metalloid.cli.words import TakesProgram, need_file, program, refuse_launch_options
from metalloid.runtime.places import speaking_of

_FILE = click.Path(dir_okay=False, path_type=Path)
_OURS = frozenset({"as_json", "sarif", "html"})  # options that make sense for a program too


class _Check(TakesProgram):
    own_after_script = True


@click.command("check", cls=_Check)
@launch_options(required=False)
@click.option("--json", "as_json", is_flag=True, help="for machines; what a script prints goes to stderr")
@click.option("--sarif", type=_FILE, help="write the findings as SARIF 2.1.0, for code scanning")
@click.option("--html", type=_FILE, help="write a page: source with findings, who wrote what, races drawn")
def command(
    as_json: bool,
    sarif: Path | None,
    html: Path | None,
    **options: Any,
) -> None:
    """Check one launch of a kernel of FILE, or every launch of a Python program.

    Exit code 1 where findings remain; notes about cost are no findings.

    \b
    metalloid check add.metal --grid 1000 --arg a=ones:1000:float32 --arg b=ones:1000:float32
                    --out out:1000:float32 --html report.html
    metalloid check train.py --steps 3          every launch in it, in any form: numpy, MLX, torch
    metalloid check train.py -- --json          what comes after -- is the script's
    metalloid check -m pytest tests             a module; what comes after it is its own
    """
    console, context = Console(stderr=True), click.get_current_context()
    found = program(context)
    if found is not None:
        refuse_launch_options(context, _OURS)
        report, code = check_program(found, console, quiet=as_json)
    else:
        file = need_file(options["file"])
        with console.status(f"checking {file.name}") if console.is_terminal else nullcontext():
            report, code = as_options(_checked(options)), 0
    for path, text in ((sarif, report.sarif), (html, report.html)):
        if path is not None:
            path.write_text(text(), encoding="utf-8")
            click.echo(f"wrote {path}", err=True)
    if as_json:
        click.echo(report.json())
    else:
        paint(report)
    sys.exit(code if report.ok else 1)


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
