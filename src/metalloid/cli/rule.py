"""`metalloid rule M603`: print the page of a rule."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.markdown import Markdown

from metalloid.rules import all_rules, index, rule


@click.command("rule")
@click.argument("number", required=False)
@click.option("--json", "as_json", is_flag=True, help="for machines")
@click.option("--markdown", is_flag=True, help="the list as a Markdown page with links: docs/rules.md")
def command(number: str | None, as_json: bool, markdown: bool) -> None:
    """Explain a rule; without a number, list them all."""
    if number is None:
        pages = all_rules()
        if markdown:
            click.echo(index())
        elif as_json:
            click.echo(json.dumps([{"rule": p.number, "title": p.title} for p in pages], indent=2))
        else:
            click.echo("\n".join(f"{p.number}  {p.title}" for p in pages))
        return
    page = rule(number)
    if as_json:
        click.echo(json.dumps({"rule": page.number, "title": page.title, "text": page.text}, indent=2))
    else:
        Console().print(Markdown(page.text))
