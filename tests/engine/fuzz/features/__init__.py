"""What programs are composed of: one file for each kind of feature, one table of them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.engine.fuzz.writer import Place, Writer

Write = Callable[[Writer, Place], None]


@dataclass(frozen=True)
class Feature:
    """Writes some statements. `meets`: they have a barrier of the threadgroup."""

    write: Write
    meets: bool = False
    most: int = 3  # times in one program: how often it may be written
    switch: str = ""  # only made where this switch is on
