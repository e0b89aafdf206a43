"""`metalloid activate`: METALLOID=1 and METALLOID_CHECK=1 then work for every Python program of this environment."""

from __future__ import annotations

import click

from metalloid.cli.startup import write


@click.command("activate")
def command() -> None:
    """Let METALLOID=1 and METALLOID_CHECK=1 serve every Python program of this environment.

    Writes one .pth file beside the installed packages; while the variables are unset it does nothing.
    """
    path = write()
    click.echo(f"wrote {path}")
    click.echo("METALLOID=1 python script.py        MLX and PyTorch find Metal")
    click.echo("METALLOID_CHECK=1 python script.py  and every launch is checked")
