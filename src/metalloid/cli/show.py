"""`metalloid show FILE --kernel NAME --stage ll`: any stage of a kernel's way."""

from __future__ import annotations

import json
from pathlib import Path

import click

from metalloid import backends
from metalloid.backends.base import Triple
from metalloid.cli.options import choose_kernel, make_source, parse_constants, source_options
from metalloid.cli.values import grid
from metalloid.compile import kernel_names, scalar, stages
from metalloid.compile.stages import FRONT, Constants
from metalloid.errors import NotVectorised
from metalloid.frontend.stored import encode
from metalloid.runtime.device import device
from metalloid.source import Source

NO_VECTOR_CODE = (
    "; There is no vector code for this kernel: it is interpreted, one thread after the other, slowly."
)


def _signature(source: Source, kernel: str, constants: Constants) -> str:
    signature = scalar(source, kernel, constants)[1]
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


def _devices() -> dict[str, str]:
    """Which device a stage is of; where several have one of that name, the one that was asked for."""
    found: dict[str, str] = {}
    for name in (device().name, *backends.names()):
        for stage in backends.named(name).stages:
            found.setdefault(stage, name)
    return found


DEVICES = _devices()
STAGES = (*FRONT, *DEVICES, "signature")


def _shown(stage: str, source: Source, kernel: str, constants: Constants, size: Triple) -> str:
    if stage == "signature":
        return _signature(source, kernel, constants)
    try:
        backend = backends.named(
            DEVICES.get(stage, backends.FIRST)
        )  # texts are made without the device itself
        return stages.stage(stage, source, kernel, constants, size, backend)
    except NotVectorised as error:
        return f"{NO_VECTOR_CODE}\n; {' '.join(str(error).removeprefix('[engine] ').split())}"


@click.command("show")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--kernel", help="its name; may be left out where the file has one")
@click.option("--stage", type=click.Choice(STAGES), default="signature", show_default=True)
@click.option("--constant", multiple=True, metavar="NAME=VALUE", help="a function constant, by name or index")
@click.option(
    "--threadgroup", default="256", help="its size, for the stages behind ll: 256 or 16,16", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="for machines; the signature only")
@source_options
def command(
    file: Path,
    kernel: str | None,
    stage: str,
    constant: tuple[str, ...],
    threadgroup: str,
    as_json: bool,
    include: tuple[Path, ...],
    define: tuple[str, ...],
    math: str,
) -> None:
    """Show a stage of a kernel of FILE.

    metal: its text; air: what a .metallib holds of it; rewritten: the C++ clang gets; ll: scalar LLVM IR;
    signature: what it takes. Then come the stages of devices. Those of the CPU are canon.ll: in canonical form;
    regions.ll: divided at its barriers; vec.ll: vector IR for this processor; asm: machine code.
    FILE may also be scalar IR, kernel.ll.
    """
    source = make_source(file, include, define, math)
    constants = parse_constants(constant)
    if file.suffix == ".ll":
        stage = stage if stage in DEVICES else "ll"
    whole = stage == "metal" or file.suffix == ".ll"
    names = () if whole else kernel_names(source)
    name = "" if whole else choose_kernel(names, kernel, str(file))
    if as_json:
        click.echo(json.dumps(encode(scalar(source, name, constants)[1]), indent=2))
    else:
        x, y, z = (*grid(threadgroup), 1, 1)[:3]
        click.echo(_shown(stage, source, name, constants, (x, y, z)))
