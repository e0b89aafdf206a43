"""Counter sample buffers, with the one counter set that there is: timestamps, in nanoseconds.

What is sampled at the end of an encoder leaves out the time that its kernels were compiled in.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np

from metalloid.backends.clock import compiled
from metalloid.metal.foundation import NSData
from metalloid.metal.objects import Labelled, NSObject
from metalloid.metal.structs import numbers

NAME = "timestamp"  # MTLCommonCounterSetTimestamp
DO_NOT_SAMPLE = (1 << 64) - 1


class MTLCounter(NSObject):
    def name(self) -> str:
        return "GPUTimestamp"


class MTLCounterSet(NSObject):
    """What can be counted."""

    def name(self) -> str:
        return NAME

    def counters(self) -> tuple[MTLCounter, ...]:
        return (MTLCounter(),)


class MTLCounterSampleBufferDescriptor(Labelled):
    PROPERTIES: ClassVar[dict[str, Any]] = {"counterSet": None, "storageMode": 0, "sampleCount": 0}


class MTLCounterSampleBuffer(Labelled):
    """A timestamp for each index; 0 where none was taken."""

    def __init__(self, device: NSObject, count: int) -> None:
        super().__init__()
        self._device = device
        self._samples = np.zeros(count, np.uint64)

    def device(self) -> NSObject:
        return self._device

    def sampleCount(self) -> int:
        return len(self._samples)

    def resolveCounterRange_(self, found: Any) -> NSData | None:
        first, count = numbers(found, 2)
        if first + count > len(self._samples):
            return None
        return NSData(self._samples[first : first + count])

    def _take(self, index: int, less: float = 0.0) -> None:
        """The time now, less the seconds that do not count."""
        if index != DO_NOT_SAMPLE:
            self._samples[index] = time.perf_counter_ns() - int(less * 1e9)


class MTLSampleBufferAttachment(NSObject):
    """Which samples an encoder takes when it begins and ends."""

    PROPERTIES: ClassVar[dict[str, Any]] = {
        "sampleBuffer": None,
        "startOfEncoderSampleIndex": DO_NOT_SAMPLE,
        "endOfEncoderSampleIndex": DO_NOT_SAMPLE,
    }

    def __init__(self) -> None:
        super().__init__()
        self._before = 0.0

    def _start(self) -> None:
        self._before = compiled()
        if (buffer := self.sampleBuffer()) is not None:
            buffer._take(int(self.startOfEncoderSampleIndex()))

    def _end(self) -> None:
        if (buffer := self.sampleBuffer()) is not None:
            buffer._take(int(self.endOfEncoderSampleIndex()), compiled() - self._before)


class MTLSampleBufferAttachments(NSObject):
    """Those of a pass, made when they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[int, MTLSampleBufferAttachment] = {}

    def objectAtIndexedSubscript_(self, index: int) -> MTLSampleBufferAttachment:
        if not 0 <= index < 4:
            self._assert(f"attachmentIndex({index}) must be < 4.")
        return self._made.setdefault(int(index), MTLSampleBufferAttachment())

    def setObject_atIndexedSubscript_(self, one: MTLSampleBufferAttachment, index: int) -> None:
        self._made[int(index)] = one

    def __getitem__(self, index: int) -> MTLSampleBufferAttachment:
        return self.objectAtIndexedSubscript_(index)

    def _all(self) -> tuple[MTLSampleBufferAttachment, ...]:
        return tuple(self._made.values())
