"""When a kernel has earned good code.

A first launch waits for its code, and most of that time is LLVM's code generator's. Baseline code is made in a third to
a tenth of the time, and runs several times slower, which nobody notices in a small launch. So small launches begin with
it. A kernel that is launched again and again (somebody may be measuring), or takes long, gets good code. Good code
takes several times as long to make as baseline code did: the longer that was, the more has to be gained by it. Where
that can be told before (a flash attention: 5 s), launches have to have run for about as long, and one that gets good
code at once is larger. Code that is too long for LLVM stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

LAUNCHES = 16
SECONDS = 0.005  # in all
# More of both for each second, above the first half, that baseline code took to make: good code will take about four.
MORE_LAUNCHES, MORE_SECONDS, SHORT = 32, 0.1, 0.5
BYTES = 1 << 20  # of a launch's buffers: so many are not gone through in no time
SOON = 1.0  # seconds that anybody waits for good code
MOST_BYTES = 1 << 28
# Of good code: LLVM's time grows faster than the code. One of 34 s by this estimate (ggml's flash attention of 576
# columns, 143,000 lines) was not made in 900 s, and its baseline code in 25.
NEVER = 30.0
DEAR = 4.0  # seconds: for so many more, a launch may be as many times larger before it gets good code at once

_measuring = 0


class Patience:
    """What is left of it for one kernel, whatever the sizes of its launches."""

    __slots__ = ("_launches", "_price", "_seconds", "bytes")

    def __init__(self, price: float = 0.0) -> None:
        """`price`: seconds that good code takes to make, as far as one can tell before."""
        self._price = price
        self._seconds = max(SECONDS, price - SOON)
        self._launches = LAUNCHES * max(1.0, price / SOON)
        self.bytes = int(min(BYTES * self._seconds / SECONDS, MOST_BYTES))  # of one launch
        if price >= NEVER:
            self.bytes = sys.maxsize

    def threads(self, many: int) -> int:
        """Of a launch that gets good code at once, where that is `many` for code that is soon made."""
        return int(many * max(1.0, self._price / DEAR)) if self._price < NEVER else sys.maxsize

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
        if self._price >= NEVER:
            return False
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
