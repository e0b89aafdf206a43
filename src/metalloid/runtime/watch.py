"""Who watches launches: tracers and checkers.

A watcher is told of every launch, in whatever form it was made. One that returns True has run the launch
itself (a checker does), and the engine leaves it alone. It is also told what is odd around launches: a grid
that looks like a count of threadgroups, a result read too early, an array that was copied on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metalloid.backends.base import Launch
from metalloid.errors import MetalloidError
from metalloid.records import dataclass
from metalloid.runtime.kernel_code import KernelCode


@dataclass(frozen=True)
class Notice:
    """Something outside the kernel that deserves a word."""

    rule: str
    subject: str  # "launch saxpy", "buffer", ...
    message: str
    hint: str
    file: str = ""  # the caller's own line
    line: int = 0

    def __str__(self) -> str:
        return f"{self.rule} [{self.subject}] {self.message}" + (f"\n{self.hint}" if self.hint else "")


class Watcher:
    """Override what is of interest."""

    def before(self, kernel: KernelCode, launch: Launch) -> bool:
        """Called with a launch that is valid; True where nothing is left to do."""
        return False

    def after(self, kernel: KernelCode, launch: Launch, seconds: float, error: BaseException | None) -> None:
        """Called when a launch has ended, well or not."""

    def refused(self, kernel: KernelCode, error: BaseException) -> None:
        """Called with a launch that was not valid; perhaps again, where several layers see the same error."""

    def noticed(self, notice: Notice) -> bool:
        """Called with what is odd; True where the watcher will tell the user, so that no warning has to."""
        return False

    def made(self, thing: object, kind: str, place: str) -> None:
        """Called with every new buffer, command buffer and kernel, and the caller's line as file:line."""


# While it is empty, launches take a short road past all of this.
watchers: list[Watcher] = []


@contextmanager
def refusals(kernel: KernelCode) -> Iterator[None]:
    """What is raised inside is told to all who watch."""
    try:
        yield
    except MetalloidError as error:
        for watcher in tuple(watchers):
            watcher.refused(kernel, error)
        raise


def tell(notice: Notice) -> bool:
    """Give a notice to all who watch; True where one of them takes it to the user."""
    taken = [watcher.noticed(notice) for watcher in tuple(watchers)]  # every one of them hears it
    return any(taken)
