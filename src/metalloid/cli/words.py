"""A command that takes a kernel's file or a program: which words of a line are the command's own.

Everything after `-m MODULE` is the module's, and so is everything after `--`, as with Python itself. After a script
the command may still find options of its own there, where it is told to look for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from metalloid.cli.native import NativeProgram, is_native, why_not
from metalloid.cli.program import Program, is_python

PROGRAM = "metalloid.program"


class TakesProgram(click.Command):
    """Splits the line before click reads it; `program(context)` is what it found."""

    own_after_script = False  # whether options of the command may also stand after the script

    def parse_args(self, context: click.Context, words: list[str]) -> list[str]:
        before, file, after = self._split(list(words))
        if file == "-m":
            if not after or after[0].startswith("-"):
                raise click.UsageError("-m needs the name of a module, such as -m pytest.", context)
            context.meta[PROGRAM] = Program(after[0], tuple(after[1:]), module=True)
            return super().parse_args(context, before)
        _explain_missing(context, file)
        python = file is not None and is_python(Path(file))
        if file is None or not (python or is_native(Path(file))):
            return super().parse_args(context, words)
        if not python and (problem := why_not(Path(file))):
            raise click.UsageError(problem, context)
        own, given = self._own(after) if self.own_after_script else ([], _without_dashes(after))
        context.meta[PROGRAM] = (Program if python else NativeProgram)(file, tuple(given))
        return super().parse_args(context, [*before, *own])

    def _split(self, words: list[str]) -> tuple[list[str], str | None, list[str]]:
        """Options before the first word that is none, that word (or -m), and what comes after it."""
        at = 0
        while at < len(words):
            word = words[at]
            if word == "-m":
                return words[:at], word, words[at + 1 :]
            if word == "--":
                return words[:at], *_first(words[at + 1 :])
            if not word.startswith("-") or word == "-":
                return words[:at], word, words[at + 1 :]
            at += 1 + self._takes(word)
        return words, None, []

    def _own(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """The command's options among the words after a script, and the script's own words."""
        own: list[str] = []
        given: list[str] = []
        at = 0
        while at < len(words):
            if words[at] == "--":
                return own, [*given, *words[at + 1 :]]
            known = words[at].startswith("--") and self._option(words[at]) is not None
            end = at + 1 + (self._takes(words[at]) if known else 0)
            (own if known else given).extend(words[at:end])
            at = end
        return own, given

    def _option(self, word: str) -> click.Option | None:
        name = word.partition("=")[0]
        options = (p for p in self.params if isinstance(p, click.Option))
        return next((o for o in options if name in (*o.opts, *o.secondary_opts)), None)

    def _takes(self, word: str) -> int:
        """How many of the words after an option belong to it."""
        option = self._option(word)
        return int(option is not None and not option.is_flag and not option.count and "=" not in word)


def program(context: click.Context) -> Program | NativeProgram | None:
    """The program of a line; None where it names a kernel's file."""
    found: Program | NativeProgram | None = context.meta.get(PROGRAM)
    return found


def need_file(file: Path | None) -> Path:
    """The kernel's file of a line that has no program."""
    if file is None:
        raise click.UsageError(
            "name a .metal file, a Python script, a program that metalloid cc built, or a module with -m."
        )
    return file


def refuse_launch_options(context: click.Context, ours: frozenset[str]) -> None:
    """A program makes its own launches; `ours` are the options that speak of programs too."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in ours and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option, found = parameter.opts[-1], program(context)
            module = isinstance(found, Program) and found.module
            what = f"{'-m ' * module}{found.target}" if found else "a program"
            raise click.UsageError(
                f"{option} describes the launch of a .metal file; {what} makes its own.\n"
                f"Write it after -- where it is meant for the script: metalloid {context.info_name} script.py --"
                f" {option} ...",
                context,
            )


def _first(words: list[str]) -> tuple[str | None, list[str]]:
    return (words[0], words[1:]) if words else (None, [])


def _without_dashes(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["--"] else words


def _explain_missing(context: click.Context, file: str | None) -> None:
    if file is None or Path(file).exists():
        return
    module = "" if Path(file).suffix else f" A module is run with -m: metalloid {context.info_name} -m {file}"
    raise click.UsageError(f"there is no file {file!r}.{module}", context)
