"""What the runtime says before anything runs, as findings: a launch it refused, something odd around one.

The runtime's own sentence is the message, the advice after it the hint.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from metalloid.errors import CompileError, Diagnostic, LaunchError
from metalloid.findings import Finding, Side
from metalloid.findings.places import python_line
from metalloid.frontend.diagnose import Texts
from metalloid.ir.debug import Location
from metalloid.runtime.places import inside
from metalloid.runtime.watch import Notice, Watcher, watchers

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode


def refusal(kernel: KernelCode | None, error: LaunchError, place: str = "") -> Finding:
    """A launch that was refused, at the caller's line; beside it the parameter that it is about."""
    location, excerpt = python_line(place)
    declared = _declared(kernel, error.what) if kernel is not None else None
    if kernel is not None and (location is None or error.rule < "M3"):  # M108 is about the kernel's own text
        here = declared or _side(kernel, kernel.signature.line)
        location, excerpt, declared = here.location, here.excerpt, None
    if declared is not None and declared.location is not None and location is not None:
        same = (declared.location.file, declared.location.line) == (location.file, location.line)
        declared = None if same else declared
    return Finding(
        error.rule,
        error.what.rstrip(". "),
        kernel.name if kernel is not None else "",
        location,
        hint=error.hint or "compare the call with the kernel's signature",
        other=declared,
        excerpt=excerpt,
    )


def _declared(kernel: KernelCode, message: str) -> Side | None:
    """The line of the parameter that a message names."""
    if kernel.source.form == "mlx":  # its parameters are written by MLX
        return None
    named = (p.line for p in kernel.signature.parameters if f"'{p.name}'" in message and p.line)
    line = next(named, 0)
    return _side(kernel, line) if line else None


def _side(kernel: KernelCode, line: int) -> Side:
    file, name = kernel.signature.file, kernel.signature.name
    excerpt = Texts(kernel.source).line(file, line)
    return Side("declared here", Location(file, line, 0, name), excerpt=excerpt)


def noticed(notice: Notice) -> Finding:
    """Something odd around a launch, at the caller's own line."""
    location, excerpt = python_line(f"{notice.file}:{notice.line}")
    name = notice.subject.rpartition(" ")[2] if " " in notice.subject else ""
    return Finding(notice.rule, notice.message.rstrip("."), name, location, hint=notice.hint, excerpt=excerpt)


def raised(error: BaseException) -> tuple[Finding, ...]:
    """What came out of checked code as findings: text that does not compile, a call that made no launch."""
    if isinstance(error, CompileError):
        return tuple(_compiled(d) for d in error.diagnostics if d.severity == "error")
    if isinstance(error, SyntaxError) and isinstance(error.__cause__, CompileError):  # as PyTorch has it
        return raised(error.__cause__)
    if not isinstance(error, LaunchError):
        return ()
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not inside(f.filename)]
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return (refusal(None, error, place),)


def _compiled(said: Diagnostic) -> Finding:
    place = Location(said.file, said.line, said.column)
    return Finding(said.rule or "M601", said.message, location=place, hint=said.hint, excerpt=said.excerpt)


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
