"""What all encoders of a command buffer share."""

from __future__ import annotations

import sys
from typing import Any

from metalloid.metal.counters import (
    MTLCounterSampleBuffer,
    MTLSampleBufferAttachment,
    MTLSampleBufferAttachments,
)
from metalloid.metal.objects import Labelled, NSObject


class MTLCommandEncoder(Labelled):
    """Takes commands until `endEncoding`."""

    def __init__(self, commands: Any, encoder: Any) -> None:
        super().__init__()
        self._commands, self._encoder, self._open = commands, encoder, True
        self._samples: tuple[MTLSampleBufferAttachment, ...] = ()

    def device(self) -> NSObject:
        found: NSObject = self._commands.device()
        return found

    def commandBuffer(self) -> Any:
        return self._commands

    def setLabel_(self, label: str | None) -> None:
        self._values["label"] = label
        self._encoder.label = label or ""

    def endEncoding(self) -> None:
        if not self._open:
            self._assert("endEncoding has already been called.")
        for one in self._samples:
            self._encoder.add_host_call(one._end)
        self._encoder.end_encoding()
        self._open = False
        self._commands._encoder = None

    def updateFence_(self, fence: Any) -> None:
        self._encoder.update_fence(fence._fence)

    def waitForFence_(self, fence: Any) -> None:
        self._encoder.wait_for_fence(fence._fence)

    def pushDebugGroup_(self, name: str) -> None:
        self._encoder.push_debug_group(name)

    def popDebugGroup(self) -> None:
        self._encoder.pop_debug_group()

    def insertDebugSignpost_(self, name: str) -> None:
        self._encoder.insert_debug_signpost(name)

    def sampleCountersInBuffer_atSampleIndex_withBarrier_(
        self, buffer: MTLCounterSampleBuffer, index: int, barrier: bool
    ) -> None:
        if not 0 <= index < buffer.sampleCount():
            self._assert(f"sampleIndex({index}) must be < {buffer.sampleCount()}.")
        self._encoder.add_host_call(lambda: buffer._take(int(index)))

    def _sample(self, attachments: MTLSampleBufferAttachments) -> None:
        """Take the samples of a pass: now its first, and its last at the end."""
        self._samples = attachments._all()
        for one in self._samples:
            self._encoder.add_host_call(one._start)

    def __del__(self) -> None:
        if self.__dict__.get("_open") and self._commands._encoder is None:
            print(
                f"-[{type(self).__name__} dealloc]: failed assertion `Command encoder released without endEncoding'",
                file=sys.stderr,
            )
