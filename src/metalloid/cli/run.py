"""`metalloid run FILE --kernel NAME --grid 1024 --arg x=arange:1024:float32 --out out:1024:float32`"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

import metalloid as mt
from metalloid.backends.base import LogMessage
from metalloid.cli.options import choose_kernel, make_source, parse_constants, source_options
from metalloid.cli.values import Array, argument, grid, output
from metalloid.errors import LaunchError


@click.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--kernel", help="its name; may be left out where the file has one")
@click.option("--grid", "grid_text", help="threads in all: 1024 or 64,64")
@click.option("--threadgroups", help="how many threadgroups, instead of --grid")
@click.option("--threadgroup", help="threads in each threadgroup: 256 or 16,16")
@click.option(
    "--threadgroup-memory", multiple=True, metavar="INDEX=BYTES", help="host-sized threadgroup memory"
)
@click.option("--arg", multiple=True, metavar="NAME=VALUE", help="x=arange:1024:float32, n=1024, x=@file.npy")
@click.option(
    "--out", multiple=True, metavar="NAME:SHAPE:DTYPE", help="an output, filled with 0xCD before the run"
)
@click.option("--constant", multiple=True, metavar="NAME=VALUE", help="a function constant, by name or index")
@click.option(
    "--save", type=click.Path(file_okay=False, path_type=Path), help="a folder for the outputs, as .npy"
)
@click.option("--guard/--no-guard", default=True, show_default=True, help="stop at accesses outside buffers")
@click.option("--timeout", type=float, help="seconds after which a runaway kernel is stopped")
@click.option("--json", "as_json", is_flag=True, help="for machines")
@source_options
def command(
    file: Path,
    kernel: str | None,
    grid_text: str | None,
    threadgroups: str | None,
    threadgroup: str | None,
    threadgroup_memory: tuple[str, ...],
    arg: tuple[str, ...],
    out: tuple[str, ...],
    constant: tuple[str, ...],
    save: Path | None,
    guard: bool,
    timeout: float | None,
    as_json: bool,
    include: tuple[Path, ...],
    define: tuple[str, ...],
    math: str,
) -> None:
    """Run a kernel of FILE once and print its outputs.

    \b
    metalloid run add.metal --grid 1024 --arg a=arange:1024:float32 --arg b=ones:1024:float32
                  --out out:1024:float32
    """
    source = make_source(file, include, define, math)
    library = mt.device().library(source)
    chosen = choose_kernel(library.kernels, kernel, str(file))
    run = library.kernel(chosen, constants=parse_constants(constant))
    run.on_log = _log
    arguments = dict(argument(text) for text in arg)
    outputs = dict(output(text) for text in out)
    if twice := sorted(set(arguments) & set(outputs)):
        raise LaunchError(f"{twice[0]!r} is given by --arg and by --out")
    bound: dict[str, Any] = {**arguments, **outputs}
    start = time.perf_counter()
    run(
        **bound,
        grid=grid(grid_text) if grid_text else None,
        threadgroups=grid(threadgroups) if threadgroups else None,
        threadgroup=grid(threadgroup) if threadgroup else None,
        threadgroup_memory=_memory(threadgroup_memory),
        guard=guard,
        timeout=timeout,
    )
    elapsed = time.perf_counter() - start
    written = outputs or {k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        for name, array in written.items():
            np.save(save / f"{name}.npy", array)
    _print(chosen, written, elapsed, as_json)


def _memory(texts: tuple[str, ...]) -> dict[int, int]:
    try:
        return {int(index): int(size) for index, size in (text.split("=") for text in texts)}
    except ValueError:
        raise LaunchError(
            f"--threadgroup-memory {texts[0]!r}: expected INDEX=BYTES, such as 0=1024"
        ) from None


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
