"""Who watches launches: tracers and checkers.

A watcher is told of every launch, in whatever form it was made. One that returns True has run the launch
itself (a checker does), and the engine leaves it alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from metalloid.backends.base import Launch

if TYPE_CHECKING:
    from metalloid.runtime.kernel import Kernel


class Watcher(Protocol):
    def before(self, kernel: Kernel, launch: Launch) -> bool:
        """Called with a launch that is valid; True where nothing is left to do."""
        ...

    def after(self, kernel: Kernel, launch: Launch, seconds: float, error: BaseException | None) -> None: ...

    def refused(self, kernel: Kernel, error: BaseException) -> None:
        """Called with a launch that was not valid."""
        ...


# While it is empty, launches take a short road past all of this.
watchers: list[Watcher] = []
