"""How long may be spent on proofs about one kernel's launches.

A proof takes a millisecond, or a third of a second where loops lie in loops. One that is made for every launch, when
no launch is like another, is never paid back. So proofs may take a short while at first, and from then on no longer
than launches without a proof have run: together at most twice what they would take.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

FIRST = 0.25  # seconds
WAY = 0.0001  # of each launch without a proof: it takes the long way through Python as well


class ProofBudget:
    """Seconds that are left for proofs of one kernel, whatever the sizes of its launches."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = FIRST

    @property
    def left(self) -> bool:
        return self._left > 0

    def ran(self, seconds: float) -> None:
        """A launch without a proof took so long."""
        self._left += seconds + WAY

    @contextmanager
    def proving(self) -> Iterator[None]:
        begun = time.thread_time()
        try:
            yield
        finally:
            self._left -= time.thread_time() - begun
