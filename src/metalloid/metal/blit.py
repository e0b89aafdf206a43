"""The blit encoder: copies and fills of memory."""

from __future__ import annotations

from typing import Any

from metalloid.metal.encoding import MTLCommandEncoder
from metalloid.metal.structs import numbers
from metalloid.runtime.blit import BlitEncoder


class MTLBlitCommandEncoder(MTLCommandEncoder):
    """Offsets and sizes count bytes."""

    _encoder: BlitEncoder

    def copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size_(
        self, source: Any, first: int, destination: Any, to: int, size: int
    ) -> None:
        if source is None or destination is None:
            self._assert("sourceBuffer and destinationBuffer must not be nil.")
        for name, buffer, at in (("source", source, first), ("destination", destination, to)):
            if at + size > buffer.length():
                self._assert(f"({name}Offset + size)({at + size}) must be <= {buffer.length()}.")
        self._encoder.copy(source._buffer, destination._buffer, int(size), int(first), int(to))

    def fillBuffer_range_value_(self, buffer: Any, found: Any, value: int) -> None:
        first, count = numbers(found, 2)
        if first + count > buffer.length():
            self._assert(f"range.location({first}) + range.length({count}) must be <= {buffer.length()}.")
        self._encoder.fill(buffer._buffer, int(value) & 255, count, first)

    def synchronizeResource_(self, resource: Any) -> None:
        self._encoder.synchronize(resource._buffer)

    def optimizeContentsForGPUAccess_(self, resource: Any) -> None:
        """There is one memory."""

    def optimizeContentsForCPUAccess_(self, resource: Any) -> None:
        """There is one memory."""

    def resetCommandsInBuffer_withRange_(self, commands: Any, found: Any) -> None:
        first, count = numbers(found, 2)
        commands._commands.reset(first, count)  # what is executed is taken as it is when it is encoded

    def optimizeIndirectCommandBuffer_withRange_(self, commands: Any, found: Any) -> None:
        """They are as quick as they get."""

    def resolveCounters_inRange_destinationBuffer_destinationOffset_(
        self, samples: Any, found: Any, destination: Any, offset: int
    ) -> None:
        first, count = numbers(found, 2)
        if first + count > samples.sampleCount() or offset + 8 * count > destination.length():
            self._assert(
                f"range({first}, {count}) and destinationOffset({offset}) must be inside both buffers."
            )

        def resolve() -> None:
            taken = samples._samples[first : first + count].view("uint8")
            destination._buffer.memory()[offset : offset + 8 * count] = taken

        self._encoder.add_host_call(resolve)

    def copyFromTexture_toTexture_(self, *_: Any) -> None:
        self._assert("textures are not supported by metalloid; see docs/support.md")
