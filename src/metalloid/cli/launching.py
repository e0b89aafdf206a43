"""The options that describe one launch of a kernel in a file; `run`, `check`, `bench` and `tune` share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import metalloid as mt
from metalloid.cli.exits import BadOption
from metalloid.cli.options import Decorator, choose_kernel, make_source, parse_constants, source_options
from metalloid.cli.values import Array, argument, grid, output

_OPTIONS = (
    click.option("--kernel", help="its name; may be left out where the file has one"),
    click.option("--grid", help="threads in all: 1024 or 64,64"),
    click.option("--threadgroups", help="how many threadgroups, instead of --grid"),
    click.option("--threadgroup", help="threads in each threadgroup: 256 or 16,16"),
    click.option(
        "--threadgroup-memory", multiple=True, metavar="INDEX=BYTES", help="host-sized threadgroup memory"
    ),
    click.option(
        "--arg", multiple=True, metavar="NAME=VALUE", help="x=arange:1024:float32, n=1024, x=@file.npy"
    ),
    click.option(
        "--out", multiple=True, metavar="NAME:SHAPE:DTYPE", help="an output, filled with 0xCD before the run"
    ),
    click.option(
        "--constant", multiple=True, metavar="NAME=VALUE", help="a function constant, by name or index"
    ),
)


@dataclass(frozen=True)
class Call:
    """A kernel and all that one call of it takes: `call.kernel(**call.bound, **call.sizes)`."""

    kernel: mt.Kernel
    arguments: dict[str, Any]
    outputs: dict[str, Array]
    sizes: dict[str, Any]  # grid, threadgroup, threadgroups, threadgroup_memory

    @property
    def bound(self) -> dict[str, Any]:
        return {**self.arguments, **self.outputs}


def launch_options(required: bool = True) -> Decorator:
    """A file, a kernel in it, its arguments, its grid, how it is compiled; `call_of` reads them."""
    path = click.Path(exists=True, dir_okay=False, path_type=Path)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        command = source_options(command)
        for option in reversed(_OPTIONS):
            command = option(command)
        return click.argument("file", type=path, required=required)(command)

    return decorate


def call_of(
    file: Path,
    kernel: str | None,
    grid: str | None,
    threadgroups: str | None,
    threadgroup: str | None,
    threadgroup_memory: tuple[str, ...],
    arg: tuple[str, ...],
    out: tuple[str, ...],
    constant: tuple[str, ...],
    include: tuple[Path, ...],
    define: tuple[str, ...],
    math: str,
) -> Call:
    """What the options of `launch_options` ask for."""
    library = mt.device().library(make_source(file, include, define, math))
    name = choose_kernel(library.kernels, kernel, str(file))
    arguments = dict(argument(text) for text in arg)
    outputs = dict(output(text) for text in out)
    if twice := sorted(set(arguments) & set(outputs)):
        raise BadOption(f"{twice[0]!r} is given by --arg and by --out")
    sizes = {
        "grid": _size(grid),
        "threadgroups": _size(threadgroups),
        "threadgroup": _size(threadgroup),
        "threadgroup_memory": _memory(threadgroup_memory),
    }
    return Call(library.kernel(name, constants=parse_constants(constant)), arguments, outputs, sizes)


def _size(text: str | None) -> tuple[int, ...] | None:
    return grid(text) if text else None


def _memory(texts: tuple[str, ...]) -> dict[int, int]:
    try:
        return {int(index): int(size) for index, size in (text.split("=") for text in texts)}
    except ValueError:
        raise BadOption(f"--threadgroup-memory {texts[0]!r}: expected INDEX=BYTES, such as 0=1024") from None
