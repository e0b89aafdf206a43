"""Indirect command buffers: dispatches that are encoded once and run again and again."""

from __future__ import annotations

from typing import Any

from metalloid.metal.objects import Labelled, NSObject
from metalloid.metal.structs import numbers
from metalloid.runtime.indirect_commands import IndirectCommand, IndirectCommands


class MTLIndirectComputeCommand(NSObject):
    """One dispatch."""

    def __init__(self, command: IndirectCommand) -> None:
        super().__init__()
        self._command = command

    def setComputePipelineState_(self, pipeline: Any) -> None:
        if pipeline is None:
            self._assert("computePipelineState must not be nil.")
        self._command.set_pipeline(pipeline._kernel)

    def setKernelBuffer_offset_atIndex_(self, buffer: Any, offset: int, index: int) -> None:
        if buffer is not None and not 0 <= offset < max(1, buffer.length()):
            self._assert(f"offset({offset}) must be < [buffer length]({buffer.length()}).")
        self._command.set_buffer(buffer._buffer if buffer is not None else None, int(offset), int(index))

    def setThreadgroupMemoryLength_atIndex_(self, length: int, index: int) -> None:
        self._command.set_threadgroup_memory(int(length), int(index))

    def concurrentDispatchThreadgroups_threadsPerThreadgroup_(self, groups: Any, threadgroup: Any) -> None:
        self._command.dispatch_threadgroups(numbers(groups), numbers(threadgroup))

    def concurrentDispatchThreads_threadsPerThreadgroup_(self, grid: Any, threadgroup: Any) -> None:
        self._command.dispatch_threads(numbers(grid), numbers(threadgroup))

    def setBarrier(self) -> None:
        self._command.barrier = True

    def clearBarrier(self) -> None:
        self._command.barrier = False

    def setImageblockWidth_height_(self, width: int, height: int) -> None:
        self._assert("imageblocks are not supported by metalloid")

    def reset(self) -> None:
        self._command.reset()


class MTLIndirectCommandBuffer(Labelled):
    """Room for commands."""

    def __init__(self, device: NSObject, commands: IndirectCommands) -> None:
        super().__init__()
        self._device, self._commands = device, commands

    def device(self) -> NSObject:
        return self._device

    def size(self) -> int:
        return len(self._commands)

    def indirectComputeCommandAtIndex_(self, index: int) -> MTLIndirectComputeCommand:
        if not 0 <= index < len(self._commands):
            self._assert(f"commandIndex({index}) must be < {len(self._commands)}.")
        return MTLIndirectComputeCommand(self._commands[index])

    def resetWithRange_(self, found: Any) -> None:
        self._commands.reset(*numbers(found, 2))
