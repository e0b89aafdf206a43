"""What the front end makes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metalloid.types import Signature


@dataclass(frozen=True)
class Kernel:
    """One kernel, compiled."""

    ir: str
    signature: Signature
    files: tuple[Path, ...] = ()  # what was included
