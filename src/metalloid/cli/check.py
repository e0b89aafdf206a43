"""`metalloid check kernel.metal --grid ...` and `metalloid check script.py ...`: say why a kernel is wrong."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from rich.console import Console

import metalloid as mt
from metalloid.checker.refusals import raised
from metalloid.cli.hints import as_options
from metalloid.cli.launching import Call, call_of, launch_options
from metalloid.cli.paint import paint
from metalloid.cli.script import run_script
from metalloid.errors import MetalloidError
from metalloid.runtime.places import speaking_of

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("check", context_settings={"ignore_unknown_options": True})
@launch_options()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--json", "as_json", is_flag=True, help="for machines; what a script prints goes to stderr")
@click.option("--sarif", type=_FILE, help="write the findings as SARIF 2.1.0, for code scanning")
@click.option("--html", type=_FILE, help="write a page: source with findings, who wrote what, races drawn")
def command(
    arguments: tuple[str, ...],
    as_json: bool,
    sarif: Path | None,
    html: Path | None,
    **options: Any,
) -> None:
    """Check one launch of a kernel of FILE, or every launch of a Python script.

    Exit code 1 where findings remain; notes about cost are no findings.

    \b
    metalloid check add.metal --grid 1000 --arg a=ones:1000:float32 --arg b=ones:1000:float32
                    --out out:1000:float32 --html report.html
    metalloid check train.py --steps 3          every launch in it, in any form: numpy, MLX, torch
    metalloid check train.py -- --json          what comes after -- is the script's
    """
    file: Path = options["file"]
    console = Console(stderr=True)
    if file.suffix == ".py":
        _refuse_launch_options(click.get_current_context())
        report, code = run_script(file, arguments, console, quiet=as_json)
    elif arguments:
        raise click.UsageError(f"there is no option or argument {arguments[0]!r}")
    else:
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


def _refuse_launch_options(context: click.Context) -> None:
    """A script makes its own launches."""
    ours = {"file", "arguments", "as_json", "sarif", "html"}
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in ours and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise MetalloidError(
                f"{parameter.opts[-1]} describes the launch of a .metal file; {context.params['file']} makes its own.\n"
                f"Write it after -- where it is meant for the script: metalloid check script.py -- {parameter.opts[-1]}"
                " ..."
            )
