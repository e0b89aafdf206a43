"""What this machine can do, measured with kernels of our own: copy memory, multiply and add."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from metalloid import config
from metalloid.measure.timing import timed
from metalloid.runtime.buffer import aligned
from metalloid.runtime.device import device

_BYTES = 64 << 20  # larger than any cache we know of, so that the copy is one of memory
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
    count = _BYTES // 4
    source, target = aligned(count, np.float32), aligned(count, np.float32)
    source[...], target[...] = 1.5, 0.0
    threads = config.threads()
    out = np.zeros(64 * threads * _THREADGROUP, np.float32)

    def moving() -> None:
        copy(source, target, grid=count, threadgroup=_THREADGROUP)

    def computing() -> None:
        multiply_add(out, 0.5, _ROUNDS, grid=out.size, threadgroup=_THREADGROUP)

    moved, computed = timed(moving, computing, seconds=0.6)
    return Machine(
        f"{device().name}, {threads} thread{'s' if threads > 1 else ''}",
        2 * _BYTES / moved.best,
        2 * out.size * _ROUNDS / computed.best,
    )
