"""`metalloid demo`: Metal kernels on this machine."""

from __future__ import annotations

import time
from importlib import resources

import click
from rich.console import Console
from rich.table import Table

from metalloid.frontend import Kernel, compile_kernel, find_kernels
from metalloid.source import Source


@click.command("demo")
def command() -> None:
    """Compile the demo kernels and show what was found in them."""
    text = (resources.files("metalloid.demo") / "kernels.metal").read_text(encoding="utf-8")
    source = Source(text, name="kernels.metal")
    console = Console()
    table = Table(title="Metal kernels, compiled to LLVM IR without a GPU")
    for heading in ("kernel", "buffers", "threadgroup memory", "instructions"):
        table.add_column(heading, justify="left" if heading in ("kernel", "buffers") else "right")
    table.add_column("cold, ms", justify="right")
    for entry in find_kernels(source):
        start = time.perf_counter()
        kernel = compile_kernel(source, entry.name, fresh=True)
        table.add_row(
            entry.name,
            _buffers(kernel),
            _memory(kernel),
            str(_instructions(kernel)),
            f"{(time.perf_counter() - start) * 1e3:.0f}",
        )
    console.print(table)


def _buffers(kernel: Kernel) -> str:
    return ", ".join(f"{p.name}: {p.type} ({p.access.replace('_', '/')})" for p in kernel.signature.buffers)


def _memory(kernel: Kernel) -> str:
    host = any(p.kind == "threadgroup" for p in kernel.signature.parameters)
    own = kernel.signature.threadgroup_memory
    return " + ".join(filter(None, (f"{own} bytes" if own else "", "host-sized" if host else ""))) or "none"


def _instructions(kernel: Kernel) -> int:
    body = kernel.ir.split("define ", 1)[1].split("\n}", 1)[0]
    return sum(line.startswith("  ") for line in body.split("\n"))
