"""When, by which version and by which command a page was made."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from datetime import datetime
from html import escape
from pathlib import PurePath

from metalloid.version import __version__

_LONGEST = 400


def made_by() -> str:
    """One line for the head of a page."""
    now = datetime.now().astimezone()
    called = command(sys.orig_argv)
    by = f"<code>{escape(called)}</code>" if called else "a notebook or an interactive session"
    stamp = f'<time datetime="{now.isoformat(timespec="seconds")}">{now:%Y-%m-%d %H:%M %Z}</time>'
    return f'<p class="made">{stamp} &middot; metalloid {__version__} &middot; {by}</p>'


def command(words: Sequence[str]) -> str:
    """A command line as somebody would type it; empty where nobody typed one."""
    if len(words) < 2 or "ipykernel" in " ".join(words[:4]):
        return ""
    first, *rest = words
    name = PurePath(rest[0]).name
    if name in ("metalloid", "pytest"):
        rest[0] = name
    elif rest[:1] == ["-m"]:
        rest = rest[1:] if rest[1:2] in (["metalloid"], ["pytest"]) else ["python", *rest]
    else:
        rest = [PurePath(first).name, *rest]
    text = shlex.join(rest)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
