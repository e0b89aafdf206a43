"""`metalloid ls FILE`: the Metal libraries in a file, and the kernels in them."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from metalloid.air.container import KINDS, Container, Entry, find_containers, open_data, read_container
from metalloid.errors import CompileError, MetalloidError


@click.command("ls")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("pattern", default="*")
@click.option(
    "--signatures", is_flag=True, help="what each kernel takes; reads the code of each, 50 a second"
)
@click.option("--json", "as_json", is_flag=True, help="for machines")
def command(file: Path, pattern: str, signatures: bool, as_json: bool) -> None:
    """List the Metal libraries in FILE, and their kernels whose names match PATTERN.

    FILE is a .metallib, or anything that holds some: a dylib, an app.

    \b
    metalloid ls mlx.metallib 'steel_gemm_*'
    metalloid ls libtorch_cpu.dylib 'exp_*float*' --signatures
    """
    data = open_data(file)
    found = list(find_containers(data, str(file)))
    if not found and file.suffix == ".metallib":
        read_container(data, str(file))  # tells what is wrong with it
    if not found:
        raise MetalloidError(f"there is no Metal library in {file}")
    chosen = [(c, [e for e in c.entries if fnmatch.fnmatchcase(e.name, pattern)]) for c in found]
    texts = _signatures(chosen) if signatures else {}
    if as_json:
        click.echo(json.dumps([_facts(c, entries, texts) for c, entries in chosen], indent=2))
        return
    for container, entries in chosen:
        click.echo(_head(container))
        for entry in entries:
            click.echo(_line(entry, texts.get((container.start, entry.name), "")))


def _head(container: Container) -> str:
    kernels = sum(entry.is_kernel for entry in container.entries)
    place = f" at byte {container.start}" if container.start else ""
    versions = ", ".join(sorted({_version(entry.air) for entry in container.entries}))
    return (
        f"{container.name}{place}: Metal library for {container.system}, {container.size} bytes, "
        f"{kernels} kernel{'s' * (kernels != 1)}, AIR {versions or 'of no version'}"
    )


def _line(entry: Entry, signature: str) -> str:
    kind = "" if entry.is_kernel else f"  ({KINDS.get(entry.kind, f'kind {entry.kind}')})"
    text = signature or f"{entry.name}{kind}"
    return "\n".join(f"    {line}" for line in text.splitlines())


def _facts(container: Container, entries: list[Entry], texts: dict[tuple[int, str], str]) -> dict[str, Any]:
    return {
        "file": container.name,
        "offset": container.start,
        "size": container.size,
        "system": container.system,
        "kernels": sum(entry.is_kernel for entry in container.entries),
        "functions": [
            {
                "name": entry.name,
                "kind": KINDS.get(entry.kind, str(entry.kind)),
                "air": _version(entry.air),
                "metal": _version(entry.metal),
                "bitcode": entry.size,
                **({"signature": texts[key]} if (key := (container.start, entry.name)) in texts else {}),
            }
            for entry in entries
        ],
    }


def _version(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _signatures(chosen: list[tuple[Container, list[Entry]]]) -> dict[tuple[int, str], str]:
    console = Console(stderr=True)
    total = sum(len(entries) for _, entries in chosen)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading", total=total)
        found: dict[tuple[int, str], str] = {}
        for key, text in _each(chosen):
            found[key] = text
            bar.advance(task)
        return found


def _each(chosen: list[tuple[Container, list[Entry]]]) -> Iterator[tuple[tuple[int, str], str]]:
    from metalloid.air.build import declared_signature

    for container, entries in chosen:
        for entry in entries:
            try:
                text = str(declared_signature(container, entry))
            except CompileError as error:
                text = f"{entry.name}: {error.diagnostics[0].message}"
            yield (container.start, entry.name), text
