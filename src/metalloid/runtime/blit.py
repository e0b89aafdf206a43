"""The blit encoder: copies and fills of memory, in order with kernels."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from metalloid.errors import LaunchError
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.encoding import Command, Commands, Encoder
from metalloid.runtime.processor import Processor
from metalloid.runtime.steps import tell
from metalloid.runtime.whole import piece, whole

Bytes = np.ndarray[Any, Any]


class BlitCommands(Commands, Protocol):
    """Hears of what will be written, too."""

    def _writes(self, buffer: Buffer, name: str) -> None: ...


class BlitEncoder(Encoder):
    """Offsets and sizes count bytes."""

    kind = "blit encoder"

    _commands: BlitCommands

    def __init__(self, device: Processor, commands: BlitCommands, label: str = "") -> None:
        super().__init__(device, commands, label)

    def copy(
        self,
        source: Buffer | np.ndarray[Any, Any],
        destination: Buffer | np.ndarray[Any, Any],
        size: int | None = None,
        source_offset: int = 0,
        destination_offset: int = 0,
    ) -> None:
        """Copy `size` bytes, all that there are in the source where none is said."""
        self._open("copy")
        start = _raw("blit copy", "source", source)
        end = _raw("blit copy", "destination", destination)
        count = start.nbytes - source_offset if size is None else size
        first, count = piece("blit copy", "source", source_offset, count, start.nbytes)
        to, _ = piece("blit copy", "destination", destination_offset, count, end.nbytes)
        here, there = start[first : first + count], end[to : to + count]
        if source is destination and first < to + count and to < first + count and count:
            raise LaunchError(
                f"[blit copy] M306 {count} bytes from {first} and to {to} of one buffer overlap.\n"
                "Copy by way of another buffer."
            )
        tell("copy", self.kind, f"{count} bytes from {first} of {source} to {to} of {destination}")

        def run(_held: object = (source, destination)) -> None:  # their room in a heap is not free before
            there[...] = here

        self._change(destination, run)

    def fill(
        self,
        buffer: Buffer | np.ndarray[Any, Any],
        value: int | bytes,
        size: int | None = None,
        offset: int = 0,
    ) -> None:
        """Set `size` bytes to a value from 0 to 255, or to a pattern of bytes that is repeated."""
        self._open("fill")
        memory = _raw("blit fill", "buffer", buffer)
        first, count = piece(
            "blit fill", "buffer", offset, memory.nbytes - offset if size is None else size, memory.nbytes
        )
        target, pattern = memory[first : first + count], _pattern(value, count)
        tell("fill", self.kind, f"{count} bytes from {first} of {buffer} with {value!r}")

        def run(_held: object = buffer) -> None:
            target.reshape(-1, len(pattern))[...] = pattern

        self._change(buffer, run)

    def synchronize(self, buffer: Buffer) -> None:
        """Make what a device wrote visible to the host: here it is."""
        self._open("synchronize")

    def _change(self, buffer: object, run: Command) -> None:
        self._commands._add(run)
        if isinstance(buffer, Buffer):
            buffer.fresh = False
            self._commands._writes(buffer, "the buffer of a blit")


def _raw(where: str, what: str, value: object) -> Bytes:
    array = value.memory() if isinstance(value, Buffer) else value
    if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
        raise LaunchError(
            f"[{where}] M306 the {what} is {value!r}.\nPass a Buffer, or a contiguous numpy array."
        )
    return array.reshape(-1).view(np.uint8)


def _pattern(value: int | bytes, count: int) -> Bytes:
    if isinstance(value, bytes | bytearray):
        if not value or count % len(value):
            raise LaunchError(
                f"[blit fill] M306 a pattern of {len(value)} bytes does not fill {count} bytes.\n"
                "Pass a size that is a multiple of the pattern's."
            )
        return np.frombuffer(bytes(value), np.uint8)
    return np.array([whole("blit fill", "value", value, 0, 255)], np.uint8)
