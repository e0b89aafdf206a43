"""Indirect command buffers: dispatches that are encoded once, changed where they must be, and run again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from metalloid.errors import LaunchError
from metalloid.runtime.whole import whole

if TYPE_CHECKING:
    from metalloid.runtime.buffer import Buffer
    from metalloid.runtime.kernel import Kernel
    from metalloid.runtime.sizes import Size


class Target(Protocol):
    """The encoder that a command is put into."""

    def set_pipeline(self, kernel: Kernel) -> None: ...
    def set_buffer(self, buffer: Buffer | None, offset: int = 0, index: int = 0) -> None: ...
    def set_threadgroup_memory(self, length: int, index: int = 0) -> None: ...
    def dispatch_threads(self, grid: Size, threadgroup: Size) -> None: ...
    def dispatch_threadgroups(self, threadgroups: Size, threadgroup: Size) -> None: ...


class IndirectCommand:
    """One dispatch. It does nothing until it has a size."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything: the command does nothing again."""
        self.kernel: Kernel | None = None
        self.buffers: dict[int, tuple[Buffer | None, int]] = {}
        self.local: dict[int, int] = {}
        self.size: dict[str, Any] = {}
        self.barrier = False  # commands run in their order here, with one or without

    def set_pipeline(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def set_buffer(self, buffer: Buffer | None, offset: int = 0, index: int = 0) -> None:
        """Bind a buffer; its contents are read when the command runs."""
        self.buffers[whole("indirect command", "buffer index", index, 0, 30)] = buffer, offset

    def set_threadgroup_memory(self, length: int, index: int = 0) -> None:
        self.local[index] = length

    def dispatch_threads(self, grid: Size, threadgroup: Size) -> None:
        self.size = {"grid": grid, "threadgroup": threadgroup}

    def dispatch_threadgroups(self, threadgroups: Size, threadgroup: Size) -> None:
        self.size = {"threadgroups": threadgroups, "threadgroup": threadgroup}

    def encode(self, encoder: Target, of: IndirectCommands) -> None:
        """Into an encoder, as if it had been asked for there."""
        if not self.size:
            return
        if not of.inherit_buffers:
            for index in range(31):
                encoder.set_buffer(None, 0, index)
        if not of.inherit_pipeline or self.kernel is not None:
            if self.kernel is None:
                raise LaunchError(
                    "[indirect command] M306 dispatch without a pipeline: there is no kernel to run.\n"
                    "Call set_pipeline on the command, or let it inherit the encoder's."
                )
            encoder.set_pipeline(self.kernel)
        for index, (buffer, offset) in self.buffers.items():
            encoder.set_buffer(buffer, offset, index)
        for index, length in self.local.items():
            encoder.set_threadgroup_memory(length, index)
        ways = {"grid": encoder.dispatch_threads, "threadgroups": encoder.dispatch_threadgroups}
        (way, size), threadgroup = next(iter(self.size.items())), self.size["threadgroup"]
        ways[way](size, threadgroup)


class IndirectCommands:
    """`commands[n]` is one command; `encoder.execute(commands)` runs them."""

    def __init__(
        self, count: int, inherit_pipeline: bool = False, inherit_buffers: bool = False, label: str = ""
    ) -> None:
        number = whole("indirect commands", "count", count, 1, 16384)
        self.inherit_pipeline, self.inherit_buffers, self.label = inherit_pipeline, inherit_buffers, label
        self._commands = [IndirectCommand() for _ in range(number)]

    def __len__(self) -> int:
        return len(self._commands)

    def __getitem__(self, at: int) -> IndirectCommand:
        return self._commands[whole("indirect commands", "index", at, 0, len(self) - 1)]

    def chosen(self, first: int, count: int | None) -> Sequence[IndirectCommand]:
        start = whole("indirect commands", "first", first, 0, len(self))
        number = len(self) - start if count is None else whole("indirect commands", "count", count)
        if start + number > len(self):
            raise LaunchError(
                f"[indirect commands] M306 commands {start} to {start + number} of {len(self)} were asked for."
            )
        return self._commands[start : start + number]

    def reset(self, first: int = 0, count: int | None = None) -> None:
        for command in self.chosen(first, count):
            command.reset()
