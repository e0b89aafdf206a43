"""Queues and command buffers."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from metalloid.errors import DeviceError, KernelFault, MetalloidError
from metalloid.metal.blit import MTLBlitCommandEncoder
from metalloid.metal.compute import MTLComputeCommandEncoder
from metalloid.metal.foundation import NSError
from metalloid.metal.objects import Labelled, NSObject
from metalloid.runtime.commands import CommandBuffer
from metalloid.runtime.executor import Status
from metalloid.runtime.queue import Queue

STATUS = {status: number for number, status in enumerate(Status)}  # in Metal's order
INTERNAL, PAGE_FAULT, OUT_OF_MEMORY = 1, 3, 8
_unseen: dict[
    int, tuple[CommandBuffer, str]
] = {}  # errors that no program has asked for, by id of their commands


def _note(commands: CommandBuffer) -> None:
    """Keep an error until somebody asks for it."""
    _unseen[id(commands)] = commands, f"command buffer {commands.label}".rstrip() + f": {commands.error}"


class MTLCommandQueue(Labelled):
    """Makes command buffers, and runs them in the order of their commits."""

    def __init__(self, device: NSObject, queue: Queue) -> None:
        super().__init__()
        self._device, self._queue = device, queue

    def device(self) -> NSObject:
        return self._device

    def setLabel_(self, label: str | None) -> None:
        self._values["label"] = label
        self._queue.label = label or ""

    def commandBuffer(self) -> MTLCommandBuffer:
        return MTLCommandBuffer(self)

    commandBufferWithUnretainedReferences = commandBuffer

    def commandBufferWithDescriptor_(self, descriptor: Any) -> MTLCommandBuffer:
        return MTLCommandBuffer(self)

    def insertDebugCaptureBoundary(self) -> None:
        """Nothing captures."""

    def addResidencySet_(self, residency: Any) -> None:
        """Memory is always resident here; its addresses are known to guards from now on."""
        self._residency = (*self._resident(), residency)

    def removeResidencySet_(self, residency: Any) -> None:
        self._residency = tuple(one for one in self._resident() if one is not residency)

    def _resident(self) -> tuple[Any, ...]:
        found: tuple[Any, ...] = vars(self).get("_residency", ())
        return found


class MTLCommandBuffer(Labelled):
    """Work that is encoded, committed once, and run in the background."""

    def __init__(self, queue: MTLCommandQueue) -> None:
        super().__init__()
        self._queue = queue
        self._commands: CommandBuffer = queue._queue.command_buffer()
        self._encoder: Any = None
        self._handled: threading.Event | None = None  # where there are handlers: all have been called
        self._thread = 0  # that runs the handlers
        self._residency: tuple[Any, ...] = ()

    def device(self) -> NSObject:
        return self._queue.device()

    def commandQueue(self) -> MTLCommandQueue:
        return self._queue

    def retainedReferences(self) -> bool:
        return True

    def errorOptions(self) -> int:
        return 0

    def setLabel_(self, label: str | None) -> None:
        self._values["label"] = label
        self._commands.label = label or ""

    def computeCommandEncoder(self) -> MTLComputeCommandEncoder:
        self._may_encode("computeCommandEncoder")
        encoder = self._commands.compute_encoder(raw=True)
        made = MTLComputeCommandEncoder(self, encoder)
        for one in (*self._queue._resident(), *self._residency):
            made._use(one)
        self._encoder = made
        return made

    def computeCommandEncoderWithDispatchType_(self, type: int) -> MTLComputeCommandEncoder:
        made = self.computeCommandEncoder()
        made._dispatch_type = int(type)
        return made

    def computeCommandEncoderWithDescriptor_(self, descriptor: Any) -> MTLComputeCommandEncoder:
        made = self.computeCommandEncoderWithDispatchType_(descriptor.dispatchType())
        made._sample(descriptor.sampleBufferAttachments())
        return made

    def blitCommandEncoder(self) -> MTLBlitCommandEncoder:
        self._may_encode("blitCommandEncoder")
        made = MTLBlitCommandEncoder(self, self._commands.blit_encoder())
        self._encoder = made
        return made

    def blitCommandEncoderWithDescriptor_(self, descriptor: Any) -> MTLBlitCommandEncoder:
        made = self.blitCommandEncoder()
        made._sample(descriptor.sampleBufferAttachments())
        return made

    def _may_encode(self, what: str) -> None:
        if STATUS[self._commands.status] > 1:
            self._fail(what, "encoding is not allowed on a committed command buffer")
        if self._encoder is not None:
            self._fail(what, "A command encoder is already encoding to this command buffer")

    def encodeSignalEvent_value_(self, event: Any, value: int) -> None:
        self._may_encode("encodeSignalEvent_value_")
        self._commands.signal_event(event._event, int(value))

    def encodeWaitForEvent_value_(self, event: Any, value: int) -> None:
        self._may_encode("encodeWaitForEvent_value_")
        self._commands.wait_for_event(event._event, int(value))

    def encodeWaitForEvent_value_timeoutMS_(self, event: Any, value: int, milliseconds: int) -> None:
        self._may_encode("encodeWaitForEvent_value_timeoutMS_")
        self._commands.wait_for_event(event._event, int(value), milliseconds / 1e3)

    def useResidencySet_(self, residency: Any) -> None:
        self._residency = (*self._residency, residency)

    def addScheduledHandler_(self, block: Callable[[MTLCommandBuffer], object]) -> None:
        self._still_open("addScheduledHandler_", "Scheduled handler provided after commit call")
        self._commands.add_scheduled_handler(lambda _: block(self))

    def addCompletedHandler_(self, block: Callable[[MTLCommandBuffer], object]) -> None:
        self._still_open("addCompletedHandler_", "Completed handler provided after commit call")
        self._commands.add_completed_handler(lambda _: self._call(block))
        self._handled = self._handled or threading.Event()

    def _call(self, block: Callable[[MTLCommandBuffer], object]) -> None:
        self._thread = threading.get_ident()
        block(self)

    def _still_open(self, what: str, words: str) -> None:
        if STATUS[self._commands.status] > 1:
            self._fail(what, words)

    def enqueue(self) -> None:
        self._still_open("enqueue", "enqueue an already committed command buffer")
        self._commands.enqueue()

    def commit(self) -> None:
        self._still_open("commit", "commit an already committed command buffer")
        if self._encoder is not None:
            self._assert("commit command buffer with uncommitted encoder")
        if (handled := self._handled) is not None:  # without handlers, whoever waits runs the work himself
            self._commands.add_completed_handler(lambda _: handled.set())
        self._commands.on_error = _note
        self._commands.commit()

    def waitUntilScheduled(self) -> None:
        self._committed("waitUntilScheduled")
        self._commands.wait_until_scheduled()

    def waitUntilCompleted(self) -> None:
        """Wait until it has run and its handlers have been called; what went wrong is in `error()`."""
        self._committed("waitUntilCompleted")
        if threading.get_ident() == self._thread:
            return
        if self._handled is not None:
            self._handled.wait()
            return
        with suppress(Exception):
            self._commands.wait_until_completed()

    def _committed(self, what: str) -> None:
        if STATUS[self._commands.status] < 2:
            self._fail(what, "command buffer must be committed before it is waited for")

    def status(self) -> int:
        return STATUS[self._commands.status]

    def error(self) -> NSError | None:
        _unseen.pop(id(self._commands), None)
        return None if self._commands.error is None else command_error(self._commands.error)

    def GPUStartTime(self) -> float:
        return self._commands.gpu_start_time

    def GPUEndTime(self) -> float:
        return self._commands.gpu_end_time

    kernelStartTime, kernelEndTime = GPUStartTime, GPUEndTime

    def logs(self) -> tuple[()]:
        return ()

    def pushDebugGroup_(self, name: str) -> None:
        self._commands.push_debug_group(name)

    def popDebugGroup(self) -> None:
        self._commands.pop_debug_group()

    def presentDrawable_(self, drawable: Any) -> None:
        self._assert("there is nothing to draw on: metalloid runs compute only")


def command_error(error: BaseException) -> NSError:
    """What went wrong in a command buffer, as Metal says it."""
    code, began = INTERNAL, "Internal Error (0000000e:kIOGPUCommandBufferCallbackErrorInternal)"
    if isinstance(error, KernelFault):
        code, began = (
            PAGE_FAULT,
            "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault)",
        )
    elif isinstance(error, DeviceError) and "memory" in str(error):
        code = OUT_OF_MEMORY
        began = "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)"
    elif not isinstance(error, MetalloidError):
        began = f"a handler failed: {type(error).__name__}"
    return NSError("MTLCommandBufferErrorDomain", code, f"{began}\n{error}")


@atexit.register
def _tell() -> None:
    """Errors that a program never asked for: on a Mac they are silent, and results are wrong."""
    for _, text in _unseen.values():
        print(f"metalloid: {text}", file=sys.stderr)
