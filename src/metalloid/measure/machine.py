"""What this machine can do, measured with kernels of our own: copy memory, multiply and add."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from metalloid import config
from metalloid.measure.clock import action
from metalloid.measure.timing import timed
from metalloid.runtime.buffer import aligned
from metalloid.runtime.device import Device, device

_BYTES = 64 << 20  # larger than any cache we know of, so that the copy is one of memory
_LARGE = 1 << 30
_THREADGROUP, _ROUNDS = 256, 4096


@dataclass(frozen=True)
class Machine:
    """The two limits of a roofline."""

    name: str
    bandwidth: float  # bytes per second, read and written
    peak: float  # float32 operations per second
    origin: str = "measured just before"

    def attainable(self, intensity: float) -> float:
        """The most operations per second at this many operations per byte."""
        return min(self.peak, self.bandwidth * intensity)


@cache
def this_machine() -> Machine:
    """Both limits with as many threads as kernels run on; takes about a second."""
    text = (resources.files("metalloid.measure") / "machine.metal").read_text(encoding="utf-8")
    library = device().library(text)
    copy, multiply_add = library["copy"], library["multiply_add"]
    on = device()
    # A device with memory of its own has caches as large as a processor's memory moves in a millisecond.
    count = (_BYTES if on.backend.unified else _LARGE) // 4
    source, target = aligned(count, np.float32), aligned(count, np.float32)
    source[...], target[...] = 1.5, 0.0
    threads = config.threads() if on.backend.unified else int(str(on.backend.facts()["threads"]))
    out = np.zeros((64 * threads if on.backend.unified else threads) * _THREADGROUP, np.float32)
    moved, computed = timed(
        action(copy, source, target, grid=count, threadgroup=_THREADGROUP),
        action(multiply_add, out, 0.5, _ROUNDS, grid=out.size, threadgroup=_THREADGROUP),
        seconds=0.6,
    )
    return Machine(
        f"{_called(on)}, {threads} thread{'s' if threads > 1 else ''}",
        8 * count / moved.best,
        2 * out.size * _ROUNDS / computed.best,
    )


def _called(on: Device) -> str:
    return on.name if on.backend.unified else f"{on.name} ({on.backend.facts()['processor']})"
