"""What the runtime says before anything runs, as findings: a launch it refused, something odd around one.

The runtime's own sentence is the message, the advice after it the hint.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from metalloid.errors import LaunchError
from metalloid.findings import Finding
from metalloid.frontend.diagnose import Texts
from metalloid.ir.debug import Location
from metalloid.runtime.watch import Notice, Watcher, watchers

if TYPE_CHECKING:
    from metalloid.runtime.kernel import Kernel


def refusal(kernel: Kernel, error: LaunchError) -> Finding:
    """A launch that was refused, at the line of the parameter it is about, else of the kernel."""
    signature = kernel.signature
    line = signature.line
    for parameter in signature.parameters:
        if f"'{parameter.name}'" in error.what and parameter.line:
            line = parameter.line
    return Finding(
        error.rule,
        error.what.rstrip(". "),
        kernel.name,
        Location(signature.file, line, 0, signature.name),
        hint=error.hint or "compare the call with the kernel's signature",
        excerpt=Texts(kernel.library.source).line(signature.file, line),
    )


def noticed(notice: Notice) -> Finding:
    """Something odd around a launch, at the caller's own line."""
    place = Location(notice.file, notice.line) if notice.file else None
    words = f"[{notice.subject}] {notice.message}"
    return Finding(notice.rule, words.rstrip("."), location=place, hint=notice.hint)


class _Ear(Watcher):
    def __init__(self) -> None:
        self.heard: list[Finding] = []

    def noticed(self, notice: Notice) -> bool:
        self.heard.append(noticed(notice))
        return True


@contextmanager
def listening() -> Iterator[list[Finding]]:
    """What is noticed meanwhile, as findings instead of warnings."""
    ear = _Ear()
    watchers.append(ear)
    try:
        yield ear.heard
    finally:
        watchers.remove(ear)
