"""`metalloid deactivate`: take away what `metalloid activate` wrote."""

from __future__ import annotations

import click

from metalloid.cli.startup import remove


@click.command("deactivate")
def command() -> None:
    """Take away what `metalloid activate` wrote."""
    removed = remove()
    click.echo(f"removed {removed}" if removed else "metalloid was not activated here")
