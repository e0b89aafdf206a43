"""What identifies the code that makes code: what an earlier version of the passes has made must not be found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import llvmlite

from metalloid.stamps import Stamp, stamps

_PACKAGE = Path(__file__).parents[1]
_BESIDE = (".", "backends")  # files that lie right there serve every device
_SHARED = ("ir", "targets", "analysis", "transforms", "llvm")
_KINDS = (".py", ".cpp", ".h", ".ll")


def files(device: str) -> Iterator[tuple[str, list[Stamp]]]:
    """All that a device's passes are written in, by folder."""
    for part in _BESIDE:
        yield part, stamps(_PACKAGE / part, _KINDS, deep=False)
    for part in (*_SHARED, f"backends/{device}"):
        yield part, stamps(_PACKAGE / part, _KINDS)


@cache
def passes_key(device: str, form: int) -> str:
    """`form` is that of the entries, which the device chooses."""
    return repr((form, llvmlite.__version__, list(files(device))))
