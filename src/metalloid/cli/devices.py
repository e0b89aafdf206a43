"""`metalloid devices`: what kernels can run on here, and its limits."""

from __future__ import annotations

import json
from typing import Any

import click

import metalloid as mt
from metalloid import config
from metalloid.backends.base import SIMD_WIDTH
from metalloid.backends.cpu.codegen import host


@click.command("devices")
@click.option("--json", "as_json", is_flag=True, help="for machines")
def command(as_json: bool) -> None:
    """List the devices of this machine, the default first; METALLOID_DEVICE chooses another."""
    rows = [_facts(device) for device in mt.devices()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for number, row in enumerate(rows):
        click.echo(row["name"] + (" (default)" if number == 0 else ""))
        click.echo(
            f"    processor    {row['processor']}, {row['threads']} threads, {row['vector_bits']}-bit vectors"
        )
        click.echo(
            f"    threadgroup  up to {row['max_threads_per_threadgroup']} threads, SIMD-groups of {SIMD_WIDTH}"
        )
        click.echo(f"    memory       up to {row['max_threadgroup_memory_length']} bytes per threadgroup")


def _facts(device: mt.Device) -> dict[str, Any]:
    target = host()
    return {
        "name": device.name,
        "processor": target.cpu,
        "threads": config.threads(),
        "vector_bits": 8 * target.info.vector_bytes,
        "max_threads_per_threadgroup": device.max_threads_per_threadgroup,
        "max_threadgroup_memory_length": device.max_threadgroup_memory_length,
    }
