"""`metalloid cc ...` and `metalloid c++ ...`: compile and link a program against the framework."""

from __future__ import annotations

import subprocess
import sys

import click

from metalloid.backends.toolchain import compiler


def compile_command(name: str, language: str) -> click.Command:
    @click.command(
        name,
        context_settings={
            "ignore_unknown_options": True,
            "allow_interspersed_args": False,
            "help_option_names": [],
        },
        help=f"Compile and link a {language} program that uses Metal. The arguments are clang's, `-framework Metal`"
        " and others of a Mac's included.",
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def compile(arguments: tuple[str, ...]) -> None:
        from metalloid.framework.driver import command as translated

        if not arguments or arguments == ("--help",):
            context = click.get_current_context()
            click.echo(context.get_help())
            sys.exit(0 if arguments else 2)
        sys.exit(subprocess.run([compiler(), name, *translated(arguments)], check=False).returncode)

    assert isinstance(compile, click.Command)
    return compile


command = compile_command("cc", "C or Objective-C")
