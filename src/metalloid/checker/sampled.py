"""Of which launches of a kernel numbers are followed: the first of each size, and later ones with other data.

A layer that is fine in the first step overflows in the tenth. Following is slow, so later launches have theirs followed
while all of it has taken little time; from then on the report says that it did not look.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metalloid.backends.base import Launch

NEW, KNOWN, LATER = "new", "known", "later"
SECONDS = 2.0  # of one kernel; the first launch of each size is followed in any case
LEFT = "M402 to M406: numbers and orders of threads were followed in first launches, not in later ones with other data"
_WHOLE = 1 << 16  # bytes of a buffer that are looked at; of a larger one as many, spread over it


@dataclass
class Sampled:
    """What was followed of one kernel."""

    data: dict[object, set[bytes]] = field(default_factory=dict)  # by size of launch
    seconds: float = 0.0

    def wish(self, launch: Launch, contents: Mapping[int, Any]) -> str:
        """Whether the numbers of a launch are to be followed, were already, or have come too late."""
        key, made = (launch.grid, launch.threadgroup), _digest(contents)
        known = self.data.setdefault(key, set())
        if made in known:
            return KNOWN
        if known and self.seconds > SECONDS:
            return LATER
        known.add(made)
        return NEW

    @contextmanager
    def taking_time(self) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - begun

    def clear(self) -> None:
        self.data.clear()
        self.seconds = 0.0


def _digest(contents: Mapping[int, Any]) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for index, memory in sorted(contents.items()):
        data = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
        step = max(1, data.size // _WHOLE)
        found.update(f"{index}:{data.size}".encode())
        found.update(np.ascontiguousarray(data[::step]).tobytes())
    return found.digest()
