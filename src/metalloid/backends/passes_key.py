"""What identifies the code that makes code: what an earlier version of the passes has made must not be found."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import llvmlite

_PACKAGE = Path(__file__).parents[1]
_BESIDE = (".", "backends")  # files that lie right there serve every device
_SHARED = ("ir", "targets", "analysis", "transforms")
_KINDS = (".py", ".cpp", ".h", ".ll")


def files(device: str) -> Iterable[Path]:
    """All that a device's passes are written in."""
    for part in _BESIDE:
        yield from (p for p in sorted((_PACKAGE / part).iterdir()) if p.suffix in _KINDS)
    for part in (*_SHARED, f"backends/{device}"):
        yield from (p for p in sorted((_PACKAGE / part).rglob("*")) if p.suffix in _KINDS)


@cache
def passes_key(device: str, form: int) -> str:
    """`form` is that of the entries, which the device chooses."""
    found = [
        (str(p.relative_to(_PACKAGE)), (status := p.stat()).st_size, status.st_mtime_ns)
        for p in files(device)
    ]
    return repr((form, llvmlite.__version__, found))
