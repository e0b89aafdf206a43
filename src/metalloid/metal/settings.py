"""What holds for every object of this module: which device serves it, and Metal's limits."""

from __future__ import annotations

from metalloid.runtime.device import Device
from metalloid.runtime.device import device as chosen

MOST_BYTES = 4096  # of setBytes
MOST_BUFFERS = 31


def device() -> Device:
    """The device that METALLOID_DEVICE names, else the first."""
    return chosen()
