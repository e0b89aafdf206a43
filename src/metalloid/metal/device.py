"""The device: it makes everything else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metalloid.errors import MetalloidError
from metalloid.metal import settings
from metalloid.metal.commands import MTLCommandQueue
from metalloid.metal.counters import MTLCounterSampleBuffer, MTLCounterSet
from metalloid.metal.descriptors import MTLCompileOptions
from metalloid.metal.events import MTLEvent, MTLFence, MTLResidencySet, MTLSharedEvent
from metalloid.metal.facts import DeviceFacts
from metalloid.metal.foundation import NSError
from metalloid.metal.indirect import MTLIndirectCommandBuffer
from metalloid.metal.memory import MTLBuffer, MTLHeap, raw_bytes
from metalloid.metal.programs import (
    ARCHIVE,
    Answer,
    MTLArgumentEncoder,
    MTLComputePipelineState,
    MTLLibrary,
    error_of,
)
from metalloid.metal.reflecting import MTLComputePipelineReflection
from metalloid.metal.structs import MTLSizeAndAlign
from metalloid.runtime.argument_layout import Described, described_encoder
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.heap import ALIGNMENT
from metalloid.source import MAGIC

SOURCE = "program_source"  # what Metal calls a text that a program gives
INVALID = "Invalid library file"


class MTLDevice(DeviceFacts):
    """metalloid's device behind Metal's selectors."""

    # ---- memory ---------------------------------------------------------------------------------------------

    def newBufferWithLength_options_(self, length: int, options: int) -> MTLBuffer | None:
        """None where there is no such memory, as Metal has it."""
        if length == 0:
            self._assert("Buffer Validation\nCannot create buffer of zero length.")
        if not 0 < length <= self.maxBufferLength():
            return None
        return MTLBuffer(self, self._device.bytes(int(length)), options)

    def newBufferWithBytes_length_options_(self, data: Any, length: int, options: int) -> MTLBuffer | None:
        made = self.newBufferWithLength_options_(length, options)
        if made is not None:
            given = raw_bytes(data, int(length), "newBufferWithBytes:length:options:")
            made._buffer.memory()[:] = np.frombuffer(given, np.uint8)
        return made

    def newBufferWithBytesNoCopy_length_options_deallocator_(
        self, data: Any, length: int, options: int, deallocator: Callable[[Any, int], object] | None
    ) -> MTLBuffer | None:
        """The program's own memory; its changes are seen on both sides."""
        array = np.frombuffer(data, np.uint8)
        if length == 0 or array.nbytes < length:
            return None
        finished = None if deallocator is None else lambda: deallocator(data, length)
        return MTLBuffer(self, Buffer(array[:length], self._device, shared=True), options, None, finished)

    def newHeapWithDescriptor_(self, descriptor: Any) -> MTLHeap | None:
        size = int(descriptor.size())
        if not 0 < size <= self.maxBufferLength():
            return None
        return MTLHeap(self, self._device.heap(size), descriptor)

    def heapBufferSizeAndAlignWithLength_options_(self, length: int, options: int) -> MTLSizeAndAlign:
        return MTLSizeAndAlign(-(-length // ALIGNMENT) * ALIGNMENT, ALIGNMENT)

    def newResidencySetWithDescriptor_error_(self, descriptor: Any, error: object) -> Answer:
        return MTLResidencySet(self), None

    # ---- order ----------------------------------------------------------------------------------------------

    def newCommandQueue(self) -> MTLCommandQueue:
        return MTLCommandQueue(self, self._device.queue())

    def newCommandQueueWithMaxCommandBufferCount_(self, count: int) -> MTLCommandQueue:
        return self.newCommandQueue()

    def newCommandQueueWithDescriptor_(self, descriptor: Any) -> MTLCommandQueue:
        return self.newCommandQueue()

    def newEvent(self) -> MTLEvent:
        return MTLEvent(self, self._device.shared_event())

    def newSharedEvent(self) -> MTLSharedEvent:
        return MTLSharedEvent(self, self._device.shared_event())

    def newArgumentEncoderWithArguments_(self, arguments: Sequence[Any]) -> MTLArgumentEncoder:
        """For an argument buffer that a list describes instead of a kernel."""
        members = [
            Described(
                *(int(n) for n in (a.dataType(), a.index(), a.arrayLength(), a.constantBlockAlignment()))
            )
            for a in arguments
        ]
        return MTLArgumentEncoder(self, described_encoder(members))

    def newFence(self) -> MTLFence:
        return MTLFence(self, self._device.fence())

    def newIndirectCommandBufferWithDescriptor_maxCommandCount_options_(
        self, descriptor: Any, count: int, options: int
    ) -> MTLIndirectCommandBuffer:
        made = self._device.indirect_commands(
            int(count), bool(descriptor.inheritPipelineState()), bool(descriptor.inheritBuffers())
        )
        return MTLIndirectCommandBuffer(self, made)

    # ---- programs -------------------------------------------------------------------------------------------

    def newDefaultLibrary(self) -> MTLLibrary | None:
        """`default.metallib` beside the script, where there is one."""
        path = Path("default.metallib")
        return self.newLibraryWithFile_error_(str(path), None)[0] if path.exists() else None

    def newLibraryWithSource_options_error_(
        self, source: str, options: MTLCompileOptions | None, error: object
    ) -> Answer:
        given = (options if options is not None else MTLCompileOptions())._settings()
        return self._library(str(source), given)

    def newLibraryWithSource_options_completionHandler_(
        self, source: str, options: Any, handler: Callable[[Any, Any], object]
    ) -> None:
        handler(*self.newLibraryWithSource_options_error_(source, options, None))

    def newLibraryWithData_error_(self, data: Any, error: object) -> Answer:
        """A `.metallib`, or what `libraryDataContents` gave."""
        found = bytes(data)
        if found.startswith(ARCHIVE):
            kept = json.loads(found[len(ARCHIVE) :])
            return self._library(kept["source"], kept["settings"])
        return self._compiled(found)

    def newLibraryWithURL_error_(self, url: Any, error: object) -> Answer:
        return self.newLibraryWithFile_error_(url.path(), error)

    def newLibraryWithFile_error_(self, path: str, error: object) -> Answer:
        file = Path(str(path))
        try:
            with file.open("rb") as stream:
                start = stream.read(len(ARCHIVE))
            if start == ARCHIVE:
                return self.newLibraryWithData_error_(file.read_bytes(), error)
        except OSError as failed:
            return None, NSError("MTLLibraryErrorDomain", 6, f"{INVALID}: {failed}")
        if start[:4] != MAGIC:
            return None, NSError("MTLLibraryErrorDomain", 6, f"{INVALID}: {file} does not begin with MTLB")
        return self._compiled(file)

    def newComputePipelineStateWithFunction_error_(self, function: Any, error: object) -> Answer:
        if function is None:
            self._assert("computeFunction must not be nil.")
        return self._pipeline(function, None)

    def newComputePipelineStateWithFunction_options_reflection_error_(
        self, function: Any, options: int, reflection: object, error: object
    ) -> Any:
        return _with_reflection(self._pipeline(function, None), reflection)

    def newComputePipelineStateWithDescriptor_options_reflection_error_(
        self, descriptor: Any, options: int, reflection: object, error: object
    ) -> Any:
        if descriptor.computeFunction() is None:
            self._assert("computeFunction must not be nil.")
        return _with_reflection(self._pipeline(descriptor.computeFunction(), descriptor), reflection)

    def newComputePipelineStateWithFunction_completionHandler_(
        self, function: Any, handler: Callable[[Any, Any], object]
    ) -> None:
        handler(*self._pipeline(function, None))

    def newBinaryArchiveWithDescriptor_error_(self, descriptor: Any, error: object) -> Answer:
        text = "Binary archives are not supported by metalloid: its cache keeps compiled kernels by itself."
        return None, NSError("MTLBinaryArchiveDomain", 4, text)

    def newDynamicLibrary_error_(self, library: Any, error: object) -> Answer:
        return None, NSError(
            "MTLDynamicLibraryDomain", 5, "Dynamic libraries are not supported by metalloid."
        )

    def newCounterSampleBufferWithDescriptor_error_(self, descriptor: Any, error: object) -> Answer:
        if not isinstance(descriptor.counterSet(), MTLCounterSet) or not 0 < descriptor.sampleCount() <= 4096:
            return None, NSError(
                "MTLCounterErrorDomain", 1, "A counter set and 1 to 4096 samples are needed."
            )
        made = MTLCounterSampleBuffer(self, int(descriptor.sampleCount()))
        made.setLabel_(descriptor.label())
        return made, None

    def newTextureWithDescriptor_(self, descriptor: Any) -> None:
        self._assert("textures are not supported by metalloid; see docs/support.md")

    def newSamplerStateWithDescriptor_(self, descriptor: Any) -> None:
        self._assert("samplers are not supported by metalloid; see docs/support.md")

    def newRenderPipelineStateWithDescriptor_error_(self, descriptor: Any, error: object) -> Answer:
        return None, NSError(
            "MTLLibraryErrorDomain", 1, "metalloid runs compute only: there is no rendering."
        )

    # ---- how ------------------------------------------------------------------------------------------------

    def _library(self, source: str, given: dict[str, Any]) -> Answer:
        try:
            library = self._device.library(source, name=SOURCE, **given)
        except MetalloidError as failed:
            return None, error_of(failed)
        return MTLLibrary(self, library, {"source": source, "settings": given}), None

    def _compiled(self, data: bytes | Path) -> Answer:
        try:
            return MTLLibrary(self, self._device.library(data)), None
        except MetalloidError as failed:
            return None, error_of(failed, code=6)

    def _pipeline(self, function: Any, descriptor: Any) -> Answer:
        try:
            kernel = function._kernel()
            kernel.refuse_undefined()
        except MetalloidError as failed:
            return None, error_of(failed, "CompilerError", 2)
        return MTLComputePipelineState(self, kernel, descriptor), None


def _with_reflection(answer: Answer, reflection: object) -> Any:
    """PyObjC gives the pair; whoever passes a list gets the reflection in it."""
    state, error = answer
    if isinstance(reflection, list) and state is not None:
        reflection.append(MTLComputePipelineReflection(state._kernel))
    return state, error


_made: dict[str, MTLDevice] = {}


def MTLCreateSystemDefaultDevice() -> MTLDevice:
    """The device that METALLOID_DEVICE names, else the CPU; always the same object."""
    own = settings.device()
    if own.name not in _made:
        _made[own.name] = MTLDevice(own)
    return _made[own.name]


def MTLCopyAllDevices() -> tuple[MTLDevice, ...]:
    return (MTLCreateSystemDefaultDevice(),)
