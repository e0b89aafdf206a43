"""`metalloid xcrun metal|metallib ...`: stand-ins for the tools that compile Metal libraries."""

from __future__ import annotations

import sys

import click


@click.command(
    "xcrun",
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": [],
    },
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Examine Metal sources and keep them as a library that the framework loads.

    \b
    metalloid xcrun -sdk macosx metal -c add.metal -o add.air
    metalloid xcrun -sdk macosx metallib add.air -o default.metallib
    """
    from metalloid.framework.tools import xcrun

    sys.exit(xcrun(list(arguments)))
