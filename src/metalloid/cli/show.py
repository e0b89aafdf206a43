"""`metalloid show FILE --kernel NAME --stage ll`: any stage of a kernel's way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from metalloid.cli.options import choose_kernel, make_source, parse_constants, source_options
from metalloid.frontend import compile_kernel, find_kernels, rewritten_text
from metalloid.frontend.stored import encode
from metalloid.source import Constant, Source

Stage = Callable[[Source, str, Mapping[str | int, Constant]], str]


def _signature(source: Source, kernel: str, constants: Mapping[str | int, Constant]) -> str:
    signature = compile_kernel(source, kernel, constants).signature
    lines = [str(signature), ""]
    lines.append(f"threads per threadgroup: at most {signature.max_total_threads}")
    lines.append(f"threadgroup memory:      {signature.threadgroup_memory} bytes of its own")
    for parameter in signature.buffers:
        lines.append(
            f"buffer {parameter.index}: {parameter.name}, {parameter.type} "
            f"({parameter.type.size} bytes), {parameter.access}"
        )
        for field in getattr(parameter.type, "fields", ()):
            lines.append(f"    +{field.offset:<4} {field.type} {field.name}")
    if signature.undefined_constants:
        lines.append(
            f"needs a value for:       {', '.join(signature.undefined_constants)} (--constant NAME=VALUE)"
        )
    lines += [f"logs:                    {text!r}" for text in signature.logs]
    return "\n".join(lines)


STAGES: dict[str, Stage] = {
    "metal": lambda source, kernel, constants: source.text,
    "rewritten": rewritten_text,
    "ll": lambda source, kernel, constants: compile_kernel(source, kernel, constants).ir,
    "signature": _signature,
}


@click.command("show")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--kernel", help="its name; may be left out where the file has one")
@click.option("--stage", type=click.Choice(list(STAGES)), default="signature", show_default=True)
@click.option("--constant", multiple=True, metavar="NAME=VALUE", help="a function constant, by name or index")
@click.option("--json", "as_json", is_flag=True, help="for machines; the signature only")
@source_options
def command(
    file: Path,
    kernel: str | None,
    stage: str,
    constant: tuple[str, ...],
    as_json: bool,
    include: tuple[Path, ...],
    define: tuple[str, ...],
    math: str,
) -> None:
    """Show a stage of a kernel of FILE: its text, the C++ clang gets, scalar LLVM IR, its signature."""
    source = make_source(file, include, define, math)
    constants = parse_constants(constant)
    names = () if stage == "metal" else tuple(entry.name for entry in find_kernels(source))
    name = "" if stage == "metal" else choose_kernel(names, kernel, str(file))
    if as_json:
        click.echo(json.dumps(encode(compile_kernel(source, name, constants).signature), indent=2))
    else:
        click.echo(STAGES[stage](source, name, constants))
