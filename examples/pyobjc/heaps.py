"""Many buffers in one allocation, a name for each, and what a pipeline says of its arguments."""

import Metal
import numpy as np

SOURCE = """
struct Step { int by; float scale; };
kernel void walk(device int* at [[buffer(0)]], constant Step& step [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) { at[i] = int(i) * step.by + int(step.scale); }
"""
device = Metal.MTLCreateSystemDefaultDevice()
fit = device.heapBufferSizeAndAlignWithLength_options_(256, 0)
descriptor = Metal.MTLHeapDescriptor.alloc().init()
descriptor.setSize_(4 * fit.size)
descriptor.setStorageMode_(Metal.MTLStorageModeShared)
heap = device.newHeapWithDescriptor_(descriptor)
heap.setLabel_("scratch")
buffers = [heap.newBufferWithLength_options_(256, Metal.MTLResourceStorageModeShared) for _ in range(4)]
assert heap.newBufferWithLength_options_(256, 0) is None, "the heap is full"
assert heap.usedSize() == 1024 and len({b.heapOffset() for b in buffers}) == 4

library, _ = device.newLibraryWithSource_options_error_(SOURCE, None, None)
reflection = []
pipeline, _ = device.newComputePipelineStateWithFunction_options_reflection_error_(
    library.newFunctionWithName_("walk"), Metal.MTLPipelineOptionBufferTypeInfo, None, None
)
at, step = pipeline.reflection().bindings()
assert (at.name(), at.index(), at.access()) == ("at", 0, Metal.MTLBindingAccessWriteOnly)
assert [m.name() for m in step.bufferStructType().members()] == ["by", "scale"]
assert step.bufferStructType().memberByName_("scale").dataType() == Metal.MTLDataTypeFloat

queue = device.newCommandQueue()
queue.setLabel_("main")
commands = queue.commandBuffer()
commands.setLabel_("frame")
encoder = commands.computeCommandEncoder()
encoder.setLabel_("walks")
encoder.setComputePipelineState_(pipeline)
encoder.useHeap_(heap)
for n, buffer in enumerate(buffers):
    encoder.pushDebugGroup_(f"walk {n}")
    encoder.setBuffer_offset_atIndex_(buffer, 0, 0)
    encoder.setBytes_length_atIndex_(np.array([(n, 10.5)], [("by", "i4"), ("scale", "f4")]), 8, 1)
    encoder.dispatchThreads_threadsPerThreadgroup_(Metal.MTLSizeMake(64, 1, 1), Metal.MTLSizeMake(64, 1, 1))
    encoder.popDebugGroup()
encoder.endEncoding()
commands.commit()
commands.waitUntilCompleted()
for n, buffer in enumerate(buffers):
    assert np.array_equal(np.frombuffer(buffer.contents().as_buffer(256), np.int32), np.arange(64) * n + 10)
print("four walks in", heap.label())
