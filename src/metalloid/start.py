"""What a Python start does where `metalloid activate` was said and METALLOID or METALLOID_CHECK is set.

The .pth file imports this module before the program starts. It must be quick, import little and never raise: every
Python program of the environment goes through it.
"""

from __future__ import annotations

import sys

from metalloid import config
from metalloid.errors import MetalloidError
from metalloid.forms.attach import attach, chosen


def start() -> None:
    """Put the forms in place that the environment asks for."""
    try:
        words = config.forms()
        if words is None and not config.check():
            return
        attach(chosen(words or (), "METALLOID"))  # METALLOID_CHECK alone means every form
    except MetalloidError as error:
        print(f"metalloid: {error}", file=sys.stderr)


start()
