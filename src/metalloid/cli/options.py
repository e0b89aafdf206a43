"""Options that several commands share, and how they become a Source."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from metalloid.errors import MetalloidError
from metalloid.runtime.device import device
from metalloid.source import MATH_MODES, Constant, Source

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "-I", "--include", multiple=True, type=click.Path(path_type=Path), help="a folder for #include"
    ),
    click.option("-D", "--define", multiple=True, metavar="NAME=VALUE", help="a macro"),
    click.option("--math", type=click.Choice(MATH_MODES), default="fast", show_default=True),
)


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _chosen(context: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """The default device of this process from here on; one that cannot be used is refused now."""
    if name:
        device(name)
        os.environ["METALLOID_DEVICE"] = name
    return name


device_option = click.option(
    "--device",
    "device_name",
    metavar="NAME",
    callback=_chosen,
    expose_value=False,
    is_eager=True,
    help="where kernels run; `metalloid devices` lists them",
)


def make_source(path: Path, include: tuple[Path, ...], define: tuple[str, ...], math: str) -> Source:
    try:
        defines = {d.partition("=")[0]: d.partition("=")[2] if "=" in d else "1" for d in define}
        return Source.from_file(path, include=include, defines=defines, math=math)
    except OSError as problem:
        raise MetalloidError(f"{path} cannot be read: {problem.strerror}") from problem


def parse_constants(texts: tuple[str, ...]) -> dict[str | int, Constant]:
    """`use_bias=true`, `3=7`, `scale=0.5`."""
    values: dict[str | int, Constant] = {}
    for text in texts:
        name, found, value = text.partition("=")
        if not found:
            raise MetalloidError(
                f"--constant {text!r}: expected NAME=VALUE or INDEX=VALUE, such as use_bias=true or 3=7"
            )
        values[int(name) if name.isdigit() else name] = _constant(text, value)
    return values


def _constant(text: str, value: str) -> Constant:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    for kind in (lambda v: int(v, 0), float):
        try:
            return kind(value)
        except ValueError:
            continue
    raise MetalloidError(f"--constant {text!r}: {value!r} is neither true, false nor a number")


def choose_kernel(names: Sequence[str], asked: str | None, file: str) -> str:
    """The kernel asked for; without one, the only one there is."""
    if asked is not None:
        return asked
    if len(names) == 1:
        return names[0]
    if not names:
        raise MetalloidError(f"{file} has no kernel; a kernel is written `kernel void name(...)`")
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    raise MetalloidError(f"{file} has {len(names)} kernels; choose one with --kernel: {shown}")
