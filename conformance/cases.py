"""A case: one kernel to compile, and the suites that list them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalloid.source import Source


@dataclass(frozen=True)
class Case:
    """One kernel. It passes when one of its attempts (a source and the kernel's name in it) compiles."""

    suite: str
    file: str
    kernel: str
    attempts: tuple[tuple[Source, str], ...]
    constants: Mapping[str | int, bool | int | float] = field(default_factory=dict)
    refused: bool = False  # must be refused in a sentence, not compiled
    invalid: str = ""  # why it is not valid MSL: words of the diagnostic it must end in

    @property
    def name(self) -> str:
        return f"{self.suite} {self.file} {self.kernel}"
