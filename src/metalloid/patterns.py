"""Patterns of text that are compiled when they are first used.

A first launch imports a hundred of them, 18 ms, and uses half; one that finds its code on disk uses none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:  # in the place of a function
        """`re.compile`. What is looked up once stands in the object from then on: a call costs what it costs there."""

        def __init__(self, text: str | bytes, flags: int = 0) -> None:
            self._given = text, flags

        def __getattr__(self, name: str) -> Any:
            found = getattr(re.compile(*self._given), name)
            setattr(self, name, found)
            return found


__all__ = ["pattern"]
