"""When a kernel has earned good code.

A first launch waits for its code, and most of that time is LLVM's code generator's. Baseline code is made in a third to
a tenth of the time, and runs several times slower, which nobody notices in a small launch. So small launches begin with
it. A kernel that is launched again and again (somebody may be measuring), or takes long, gets good code. Good code
takes several times as long to make as baseline code did: the longer that was, the more has to be gained by it. Where
that can be told before (a flash attention: 5 s), launches have to have run for about as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

LAUNCHES = 16
SECONDS = 0.005  # in all
# More of both for each second, above the first half, that baseline code took to make: good code will take about four.
MORE_LAUNCHES, MORE_SECONDS, SHORT = 32, 0.1, 0.5
BYTES = 1 << 20  # of a launch's buffers: so many are not gone through in no time
SOON = 1.0  # seconds that anybody waits for good code
MOST_BYTES = 1 << 28

_measuring = 0


class Patience:
    """What is left of it for one kernel, whatever the sizes of its launches."""

    __slots__ = ("_launches", "_seconds", "bytes")

    def __init__(self, price: float = 0.0) -> None:
        """`price`: seconds that good code takes to make, as far as one can tell before."""
        self._seconds = max(SECONDS, price - SOON)
        self._launches = LAUNCHES * max(1.0, price / SOON)
        self.bytes = int(min(BYTES * self._seconds / SECONDS, MOST_BYTES))  # of one launch

    def made(self, seconds: float) -> None:
        """Baseline code took so long to make."""
        long = max(0.0, seconds - SHORT)
        self._launches += MORE_LAUNCHES * long
        self._seconds += MORE_SECONDS * long

    def launched(self) -> None:
        self._launches -= 1

    def limited(self) -> None:
        """A launch has a limit of time: its author thinks of what good code takes."""
        self._launches = 0

    def ran(self, seconds: float) -> None:
        self._seconds -= seconds

    @property
    def over(self) -> bool:
        return self._launches <= 0 or self._seconds <= 0 or _measuring > 0


@contextmanager
def measuring() -> Iterator[None]:
    """Launches inside, in any thread, are timed: they get good code at once."""
    global _measuring
    _measuring += 1
    try:
        yield
    finally:
        _measuring -= 1
