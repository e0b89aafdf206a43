"""`metalloid config --cflags --libs`: what other builds need to use the framework."""

from __future__ import annotations

import shlex

import click


@click.command("config")
@click.option("--cflags", is_flag=True, help="flags for the compiler")
@click.option("--libs", is_flag=True, help="flags for the linker")
@click.option("--include", is_flag=True, help="the folder with the headers")
@click.option("--libdir", is_flag=True, help="the folder with the library")
@click.option("--bin", "tools", is_flag=True, help="a folder with xcrun and compilers, for PATH")
def command(cflags: bool, libs: bool, include: bool, libdir: bool, tools: bool) -> None:
    """What a build needs to compile and link against metalloid's Metal, as words for a shell.

    \b
    clang -fblocks $(metalloid config --cflags) -c host.m
    PATH=$(metalloid config --bin):$PATH cmake ...
    """
    from metalloid.framework import build, driver
    from metalloid.framework.tools import folder

    words: list[str] = []
    words += driver.cflags() if cflags else []
    words += driver.libs() if libs else []
    words += [str(build.INCLUDE)] if include else []
    words += [str(build.library())] if libdir else []
    words += [str(folder())] if tools else []
    if not words:
        raise click.UsageError("say what is needed: --cflags, --libs, --include, --libdir or --bin")
    click.echo(shlex.join(words))
