"""`metalloid chat [MODEL]`: talk to a Llama that runs on Metal kernels."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click
from rich.console import Console

from metalloid.cli.options import device_option
from metalloid.llama import Chat, Choice, Cost, load
from metalloid.llama.style import NAMES


@click.command("chat")
@click.argument("model", required=False, type=click.Path(path_type=Path))
@click.option("--prompt", "-p", help="ask this and leave; without it, text from a pipe, else a conversation")
@click.option("--system", default="", help="what the model is told before the first question")
@click.option("--temperature", default=0.7, show_default=True, type=click.FloatRange(0), help="0: no chance")
@click.option("--top-k", default=40, show_default=True, type=click.IntRange(0), help="0: all tokens")
@click.option("--top-p", default=0.95, show_default=True, type=click.FloatRange(0, 1, min_open=True))
@click.option("--seed", type=int, help="the same seed gives the same answers; without it, chance decides")
@click.option(
    "--max-tokens",
    default=0,
    type=click.IntRange(0),
    help="of an answer; without it, as long as the model likes",
)
@click.option(
    "--style", type=click.Choice(NAMES), help="how questions are put; found by the tokenizer where not given"
)
@click.option("--exact", is_flag=True, help="do not round inputs of q4_0 and q8_0 weights to 8 bits")
@device_option
@click.option("--json", "as_json", is_flag=True, help="for machines: the answer and what it cost, at the end")
def command(
    model: Path | None,
    prompt: str | None,
    system: str,
    temperature: float,
    top_k: int,
    top_p: float,
    seed: int | None,
    max_tokens: int,
    style: str | None,
    exact: bool,
    as_json: bool,
) -> None:
    """Talk to a Llama. MODEL is a Hugging Face folder or a GGUF file; without it, a small teller of stories that
    comes with metalloid.

    \b
    metalloid chat -p "Tell me a story about a fox." --seed 1
    metalloid chat model.gguf --system "You are brief."
    """
    chosen = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    chat = Chat(load(model, exact), Choice(temperature, top_k, top_p, chosen), system, style or "")
    with Console(stderr=True).status("getting ready"):
        chat.session.prepare()
    if prompt is None and not sys.stdin.isatty():
        prompt = sys.stdin.read().strip()
        if not prompt:
            raise click.UsageError("there is nothing in the pipe; give a question with --prompt.")
    if prompt is None:
        _converse(chat, max_tokens)
    elif as_json:
        text = "".join(chat.ask(prompt, max_tokens))
        cost = chat.cost
        click.echo(
            json.dumps(
                {
                    "text": text,
                    "tokens": cost.tokens,
                    "tokens_per_second": round(cost.rate, 1),
                    "prompt_tokens": cost.prompt_tokens,
                    "prompt_seconds": round(cost.prompt_seconds, 4),
                    "seed": chosen,
                }
            )
        )
    else:
        _say(chat, prompt, max_tokens)


def _converse(chat: Chat, max_tokens: int) -> None:
    """Questions until the end of the input; Ctrl-C ends an answer, or the conversation between two."""
    click.echo("Ask for something; Ctrl-D ends.", err=True)
    while True:
        try:
            text = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            click.echo()
            return
        if not text:
            continue
        try:
            _say(chat, text, max_tokens)
        except KeyboardInterrupt:
            click.echo("\n(stopped)", err=True)


def _say(chat: Chat, prompt: str, max_tokens: int) -> None:
    for piece in chat.ask(prompt, max_tokens):
        click.echo(piece, nl=False)
        sys.stdout.flush()
    click.echo()
    click.echo(_told(chat.cost, chat.session.context), err=True)


def _told(cost: Cost, context: int) -> str:
    line = (
        f"({cost.tokens} tokens, {cost.rate:.0f} tokens/s; prompt of {cost.prompt_tokens} tokens"
        f" in {cost.prompt_seconds * 1e3:.0f} ms)"
    )
    return f"{line}\n(the context of {context} tokens is full)" if cost.full else line
