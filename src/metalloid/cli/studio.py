"""`metalloid studio [FILE]`: write, run and check a kernel in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from metalloid.errors import MetalloidError


@click.command("studio")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--port", default=0, show_default="a free one", help="the port on 127.0.0.1")
@click.option("--browser/--no-browser", default=True, help="open a browser, or only print the address")
def command(file: Path | None, port: int, browser: bool) -> None:
    """Open FILE, or a gallery of broken kernels, in a page of this machine.

    The page shows mistakes as you type, runs the kernel, says what is wrong with it, draws races, and shows the code
    that was generated. It is served on 127.0.0.1 only, to whoever has the address that is printed; a kernel runs in a
    process of its own, with an end to its time and memory.
    """
    from metalloid.studio.server import Server

    if file is not None and file.suffix not in (".metal", ".h", ".msl", ""):
        raise MetalloidError(f"{file} is no Metal text; the studio opens .metal files")
    try:
        server = Server(file, port)
    except OSError as problem:
        raise MetalloidError(f"port {port} cannot be used: {problem.strerror}") from problem
    click.echo(f"metalloid studio: {server.address}\nCtrl-C ends it.")
    if file is not None and not file.exists():
        click.echo(f"{file} is not there yet: it is made when you save.")
    server.studio.warm()
    if browser:
        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("")
    finally:
        server.server_close()
