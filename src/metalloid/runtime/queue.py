"""Queues: they make command buffers, and run them in the order of their places."""

from __future__ import annotations

from metalloid.runtime.commands import CommandBuffer
from metalloid.runtime.events import SharedEvent
from metalloid.runtime.executor import SerialExecutor


class Queue(SerialExecutor):
    """Command buffers of one queue run one after the other; queues run beside each other."""

    def command_buffer(self, label: str = "") -> CommandBuffer:
        return CommandBuffer(self, label)

    def event(self) -> SharedEvent:
        return SharedEvent()
