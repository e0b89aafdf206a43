"""The compute encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from metalloid.metal import settings
from metalloid.metal.encoding import MTLCommandEncoder
from metalloid.metal.indirect import MTLIndirectCommandBuffer
from metalloid.metal.memory import MTLBuffer, raw_bytes
from metalloid.metal.programs import MTLComputePipelineState
from metalloid.metal.structs import numbers
from metalloid.runtime.encoder import ComputeEncoder

_NONE = (0, 0, 0)


class MTLComputeCommandEncoder(MTLCommandEncoder):
    """Bindings stay from dispatch to dispatch."""

    _encoder: ComputeEncoder

    def __init__(self, commands: Any, encoder: ComputeEncoder) -> None:
        super().__init__(commands, encoder)
        self._pipeline: MTLComputePipelineState | None = None
        self._buffers: dict[int, Any] = {}
        self._dispatch_type = 0

    def dispatchType(self) -> int:
        return self._dispatch_type

    def setComputePipelineState_(self, pipeline: MTLComputePipelineState | None) -> None:
        if pipeline is None:
            self._assert("computePipelineState must not be nil.")
        if not isinstance(pipeline, MTLComputePipelineState):
            self._assert(f"computePipelineState is not a MTLComputePipelineState: {pipeline!r}")
        self._pipeline = pipeline
        self._encoder.set_pipeline(pipeline._kernel)

    def setBuffer_offset_atIndex_(self, buffer: Any, offset: int, index: int) -> None:
        self._check_index("setBuffer_offset_atIndex_", "Set Buffer Validation", index)
        if buffer is None:
            self._buffers.pop(int(index), None)
            return self._encoder.set_buffer(None, 0, int(index))
        if not isinstance(buffer, MTLBuffer):
            self._assert(f"Set Buffer Validation\nbuffer is not a MTLBuffer: {buffer!r}")
        if not 0 <= offset < max(1, buffer.length()):
            self._assert(
                f"Set Buffer Validation\noffset({offset}) must be < [buffer length]({buffer.length()})."
            )
        self._buffers[int(index)] = buffer
        return self._encoder.set_buffer(buffer._buffer, int(offset), int(index))

    def setBufferOffset_atIndex_(self, offset: int, index: int) -> None:
        if int(index) not in self._buffers:
            self._assert(f"Set Buffer Offset Validation\nno buffer is set at index({index}).")
        self.setBuffer_offset_atIndex_(self._buffers[int(index)], offset, index)

    def setBuffers_offsets_withRange_(self, buffers: Any, offsets: Any, found: Any) -> None:
        first, count = numbers(found, 2)
        for n in range(count):
            self.setBuffer_offset_atIndex_(buffers[n], offsets[n], first + n)

    def setBytes_length_atIndex_(self, value: Any, length: int, index: int) -> None:
        self._check_index("setBytes_length_atIndex_", "Set Bytes Validation", index)
        if not 0 < length <= settings.MOST_BYTES:
            self._assert(f"Set Bytes Validation\nlength({length}) must be > 0 and <= {settings.MOST_BYTES}.")
        self._buffers.pop(int(index), None)
        self._encoder.set_bytes(raw_bytes(value, int(length), "setBytes:length:atIndex:"), int(index))

    def setThreadgroupMemoryLength_atIndex_(self, length: int, index: int) -> None:
        self._check_index(
            "setThreadgroupMemoryLength_atIndex_", "Set Threadgroup Memory Length Validation", index
        )
        self._encoder.set_threadgroup_memory(-(-int(length) // 16) * 16, int(index))

    def dispatchThreads_threadsPerThreadgroup_(self, grid: Any, threadgroup: Any) -> None:
        self._dispatch(
            "dispatchThreads_threadsPerThreadgroup_", self._encoder.dispatch_threads, grid, threadgroup
        )

    def dispatchThreadgroups_threadsPerThreadgroup_(self, groups: Any, threadgroup: Any) -> None:
        self._dispatch(
            "dispatchThreadgroups_threadsPerThreadgroup_",
            self._encoder.dispatch_threadgroups,
            groups,
            threadgroup,
        )

    def dispatchThreadgroupsWithIndirectBuffer_indirectBufferOffset_threadsPerThreadgroup_(
        self, buffer: Any, offset: int, threadgroup: Any
    ) -> None:
        name = "dispatchThreadgroupsWithIndirectBuffer_indirectBufferOffset_threadsPerThreadgroup_"
        size = self._threadgroup(name, threadgroup)
        self._encoder.dispatch_threadgroups_indirect(buffer._buffer, size, int(offset))

    def _dispatch(self, name: str, way: Callable[[Any, Any], None], sizes: Any, threadgroup: Any) -> None:
        size, count = self._threadgroup(name, threadgroup), numbers(sizes)
        if 0 not in count:  # a grid without threads does nothing
            way(count, size)

    def _threadgroup(self, name: str, threadgroup: Any) -> tuple[int, ...]:
        """The size of a threadgroup that this pipeline may have."""
        if self._pipeline is None:
            self._fail(
                name, "Compute Pipeline Validation\na compute pipeline state must be set before dispatching."
            )
        width, height, depth = size = numbers(threadgroup)
        assert self._pipeline is not None
        most = self._pipeline.maxTotalThreadsPerThreadgroup()
        if prod(size) > most:
            self._fail(
                name,
                f"(threadsPerThreadgroup.width({width}) * threadsPerThreadgroup.height({height}) *"
                f" threadsPerThreadgroup.depth({depth}))({prod(size)}) must be <= {most}."
                " (kernel threadgroup size limit)",
            )
        if 0 in size:
            self._fail(name, "threadsPerThreadgroup.width, height and depth must be > 0.")
        return size

    def executeCommandsInBuffer_withRange_(self, commands: MTLIndirectCommandBuffer, found: Any) -> None:
        first, count = numbers(found, 2)
        self._encoder.execute(commands._commands, first, count)

    def useResource_usage_(self, resource: Any, usage: int) -> None:
        if isinstance(resource, MTLBuffer):
            self._encoder.use_resource(resource._buffer)

    def useResources_count_usage_(self, resources: Iterable[Any], count: int, usage: int) -> None:
        for resource in list(resources)[:count]:
            self.useResource_usage_(resource, usage)

    def useHeap_(self, heap: Any) -> None:
        self._encoder.use_heap(heap._heap)

    def useHeaps_count_(self, heaps: Iterable[Any], count: int) -> None:
        for heap in list(heaps)[:count]:
            self.useHeap_(heap)

    def _use(self, residency: Any) -> None:
        """All of a residency set."""
        for one in residency.allAllocations():
            (self.useHeap_ if hasattr(one, "usedSize") else lambda r: self.useResource_usage_(r, 3))(one)

    def memoryBarrierWithScope_(self, scope: int) -> None:
        self._encoder.memory_barrier()

    def memoryBarrierWithResources_count_(self, resources: Any, count: int) -> None:
        self._encoder.memory_barrier()

    def setTexture_atIndex_(self, texture: Any, index: int) -> None:
        if texture is not None:
            self._assert("textures are not supported by metalloid; see docs/support.md")

    def _check_index(self, name: str, what: str, index: int) -> None:
        if not 0 <= index < settings.MOST_BUFFERS:
            self._fail(name, f"{what}\nindex({index}) must be < {settings.MOST_BUFFERS}.")
