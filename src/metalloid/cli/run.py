"""`metalloid run kernel.metal --grid ...`, `metalloid run script.py ...`, `metalloid run -m module ...`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from metalloid.backends.base import LogMessage
from metalloid.cli.launching import call_of, launch_options
from metalloid.cli.values import Array
from metalloid.cli.words import TakesProgram, need_file, program, refuse_launch_options
from metalloid.config import GUARDS


@click.command("run", cls=TakesProgram)
@launch_options(required=False)
@click.option(
    "--save", type=click.Path(file_okay=False, path_type=Path), help="a folder for the outputs, as .npy"
)
@click.option(
    "--guard",
    type=click.Choice(tuple(GUARDS)),
    default="stop",
    show_default=True,
    help="at an access outside its memory: stop there; go on as a GPU does (robust); do not look (off)",
)
@click.option("--no-guard", is_flag=True, help="the same as --guard off")
@click.option("--timeout", type=float, help="seconds after which a runaway kernel is stopped")
@click.option("--json", "as_json", is_flag=True, help="for machines")
def command(
    save: Path | None, guard: str, no_guard: bool, timeout: float | None, as_json: bool, **options: Any
) -> None:
    """Run a kernel of FILE once and print its outputs; or a program: Python with MLX and PyTorch served, or
    one that metalloid cc built.

    \b
    metalloid run add.metal --grid 1024 --arg a=arange:1024:float32 --arg b=ones:1024:float32
                  --out out:1024:float32
    metalloid run train.py --steps 3      a script; what comes after it is its own
    metalloid run -m pytest tests         a module
    metalloid run bin/tool --size 64      a program in C, C++ or Objective-C
    """
    found = program(click.get_current_context())
    if found is not None:
        refuse_launch_options(click.get_current_context(), frozenset())
        sys.exit(found.run())
    need_file(options["file"])
    call = call_of(**options)
    call.kernel.on_log = _log
    start = time.perf_counter()
    call.kernel(**call.bound, **call.sizes, guard=GUARDS["off" if no_guard else guard], timeout=timeout)
    elapsed = time.perf_counter() - start
    written = call.outputs or {k: v for k, v in call.arguments.items() if isinstance(v, np.ndarray)}
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        for name, array in written.items():
            np.save(save / f"{name}.npy", array)
    _print(call.kernel.name, written, elapsed, as_json)


def _log(message: LogMessage) -> None:
    click.echo(message.text, err=True)


def _print(kernel: str, arrays: dict[str, Array], elapsed: float, as_json: bool) -> None:
    if as_json:
        values = {
            name: array.astype("float64" if array.dtype.kind == "V" else array.dtype).tolist()
            for name, array in arrays.items()
        }
        click.echo(json.dumps({"kernel": kernel, "milliseconds": elapsed * 1e3, "outputs": values}))
        return
    for name, array in arrays.items():
        shown = np.array2string(array, threshold=32, edgeitems=4, precision=6)
        click.echo(f"{name} = {shown}  ({array.dtype}, {' x '.join(map(str, array.shape))})")
    click.echo(f"{kernel}: {elapsed * 1e3:.2f} ms, compiling included", err=True)
