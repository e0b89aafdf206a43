"""The `metalloid` command: one file per subcommand, loaded when it is called."""

from __future__ import annotations

import importlib

import click

from metalloid.cli.exits import guarded
from metalloid.version import __version__

COMMANDS = {
    "demo": "Metal kernels on this machine, checked and measured",
    "run": "run a kernel once, or a Python program with MLX and PyTorch served",
    "studio": "write, run and check a kernel in the browser",
    "check": "say why a kernel is wrong: one launch, or every launch of a Python program",
    "bench": "how fast a kernel is, and how near the limits of this machine",
    "tune": "the fastest threadgroup for a launch",
    "lint": "compile every kernel of a .metal or .py file and say what is wrong",
    "lsp": "serve an editor: mistakes as you type, hover, completion, quick fixes",
    "show": "any stage of a kernel's way: metal, air, rewritten, ll, signature, vec.ll, asm",
    "ls": "the Metal libraries in a file (.metallib, dylib, app) and their kernels",
    "cc": "compile and link a C or Objective-C program that uses Metal",
    "c++": "the same for C++ and Objective-C++, with metal-cpp",
    "config": "what other builds need to link against metalloid's Metal",
    "xcrun": "stand-ins for xcrun metal and xcrun metallib",
    "chat": "talk to a Llama that runs on Metal kernels",
    "rule": "the page of a rule: what, why, example, fix",
    "devices": "what kernels can run on here",
    "activate": "let METALLOID=1 serve every Python program of this environment",
    "deactivate": "take away what activate wrote",
}

_MODULES = {"c++": "cxx"}  # where a command is no name in Python


class _Commands(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"metalloid.cli.{_MODULES.get(name, name)}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def group() -> None:
    """Run, check and measure Metal compute kernels on any machine."""


def main() -> None:
    """Errors of metalloid are messages, not tracebacks."""
    guarded(group)
