"""`metalloid devices`: what kernels can run on here, and its limits."""

from __future__ import annotations

import json
from typing import Any

import click

import metalloid as mt


@click.command("devices")
@click.option("--json", "as_json", is_flag=True, help="for machines")
def command(as_json: bool) -> None:
    """List the devices of this machine, the default first; METALLOID_DEVICE chooses another."""
    rows = [_facts(device) for device in mt.devices()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    chosen = mt.device().name
    for row in rows:
        click.echo(row["name"] + (" (default)" if row["name"] == chosen else ""))
        vectors = f", {row['vector_bits']}-bit vectors" if "vector_bits" in row else ""
        click.echo(f"    processor    {row['processor']}, {row['threads']} threads{vectors}")
        click.echo(
            f"    threadgroup  up to {row['max_threads_per_threadgroup']} threads, SIMD-groups of {row['simd_width']}"
        )
        click.echo(f"    memory       up to {row['max_threadgroup_memory_length']} bytes per threadgroup")


def _facts(device: mt.Device) -> dict[str, Any]:
    return {
        "name": device.name,
        **device.backend.facts(),
        "simd_width": device.backend.limits.simd_width,
        "max_threads_per_threadgroup": device.max_threads_per_threadgroup,
        "max_threadgroup_memory_length": device.max_threadgroup_memory_length,
    }
