"""`metalloid lsp`: a language server for editors, over standard input and output."""

from __future__ import annotations

import click

from metalloid.errors import MetalloidError


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="over standard input and output, which is what it does anyway")
def command(stdio: bool) -> None:
    """Serve an editor: mistakes as you type in .metal files and in the kernels of Python files, hover, completion,
    go to definition, quick fixes. docs/editor.md says how VS Code, Neovim and Emacs start it.
    """
    try:
        from metalloid.lsp.server import server
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise MetalloidError("the language server needs pygls: pip install 'metalloid[lsp]'") from missing
    server.start_io()
